"""Event names that say nothing new.

Anthropic, OpenAI Responses and Cohere write each event's name twice: in its `event:` line and as the `type` at the
start of its JSON. Such an event is told by its data alone, and its bytes can stand for it.
"""

from __future__ import annotations

import re
from typing import Final

from rxstream.framing.frames import Payload, SSEFrame

__all__ = ("NameHeads",)

MAX_NAMES: Final = 64
_PLAIN_NAME: Final = re.compile(rb"[\w.:/-]{1,64}")  # another could need escapes in JSON, or be no name at all


class NameHeads:
    """How data begins that repeats its event's name, for the names of one stream.

    Attributes:
        lead: the last name found repeated, as it stands behind `event: `, up to the end of its repetition. Most events
            of a stream begin as the one before them: one comparison tells.
        name_end: where in `lead` the data begins.
    """

    __slots__ = ("_heads", "lead", "name_end")

    def __init__(self) -> None:
        self._heads: dict[bytes, tuple[bytes, ...]] = {}
        self._lead_by(b"message_start", _heads_of(b"message_start")[0])

    def repeats(self, name: bytes, data: bytes) -> bool:
        """Whether `data` begins with `{"type":"NAME"`; then `lead` is this event's."""
        for head in self._heads.get(name) or self._new(name):
            if data.startswith(head):
                self._lead_by(name, head)
                return True
        return False

    def payload(self, name: bytes, data: bytes) -> Payload:
        """One data line under an event name: its bytes where the name tells nothing more than they do, else a frame."""
        if name in (b"", b"message") or self.repeats(name, data):
            return data
        return SSEFrame(data.decode("utf-8", "replace"), name.decode("utf-8", "replace"))

    def _new(self, name: bytes) -> tuple[bytes, ...]:
        heads = _heads_of(name)
        if heads and len(self._heads) < MAX_NAMES:
            self._heads[name] = heads
        return heads

    def _lead_by(self, name: bytes, head: bytes) -> None:
        self.lead = b"%b\ndata: %b" % (name, head)
        self.name_end = len(self.lead) - len(head)


def _heads_of(name: bytes) -> tuple[bytes, ...]:
    if not _PLAIN_NAME.fullmatch(name):
        return ()
    return b'{"type":"%b"' % name, b'{"type": "%b"' % name
