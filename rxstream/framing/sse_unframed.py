"""What stands in an event stream and is no event: the body of an error sent in place of a stream, or into one.

A server that fails may answer 200 with a pretty-printed JSON error (or a proxy with a page of HTML) where events were
due, and Gemini writes such an error between two events of a running stream. SSE reads those lines as unknown fields and
ignores them; this keeps them beside, so that whoever decodes the stream can say what the server said.
"""

from __future__ import annotations

__all__ = ("UnframedBody",)


class UnframedBody:
    """The latest document without `data:`; its first `max_bytes` bytes.

    It begins with a line that opens as JSON or markup does, outside any event, and goes on until a line that SSE knows.
    """

    __slots__ = ("_max_bytes", "body", "is_open")

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self.body = bytearray()
        self.is_open = False

    def read_line(self, line: bytes, *, is_between_events: bool) -> None:
        """Read a line that SSE ignores, a blank one included."""
        if not self.is_open:
            if not (is_between_events and line.startswith((b"{", b"[", b"<"))):
                return
            self.is_open = True
            self.body.clear()
        room = self._max_bytes - len(self.body)
        self.body += (line[:room] + b"\n")[:room]  # bounded: max_bytes
