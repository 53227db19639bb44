"""What a scripted provider answers: a `Reply` for each request, chosen by path or in order.

ScriptedProvider(Reply([Send(b"data: x\\n\\n")]))                      the same for every request
ScriptedProvider([Reply(...), error_reply(429), Reply(...)])         the first, the second, the third request
ScriptedProvider({"/v1/messages": Reply(...), "/v1/models": [Reply(...), Reply(...)]})
ScriptedProvider(lambda request: Reply([Send(request.body)]))        computed
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal, TypeAlias

from pydantic import JsonValue

from rxstream.testing.compression import Compressor, ContentEncoding
from rxstream.testing.record import Request
from rxstream.testing.steps import BodyStep, Send, Step

__all__ = ("BodyFraming", "HTTPVersion", "Reply", "Script", "Scripted", "error_reply", "json_reply")

BodyFraming: TypeAlias = Literal["chunked", "length", "close"]
"""How the end of a body is told: HTTP chunks, a Content-Length, or the end of the connection."""

HTTPVersion: TypeAlias = Literal["1.0", "1.1"]


@dataclass(frozen=True, slots=True)
class Reply:
    """One scripted answer: a head, and steps that send its body.

    Args:
        steps: what is played after the head, in order; their end is a clean end of the body.
        status: the HTTP status.
        headers: more headers; one of these replaces a header of the same name that the reply would add itself.
        content_type: the Content-Type; None sends none.
        framing: how the body's end is told; None is chunked, or close where a side speaks HTTP/1.0.
        content_length: states this length whatever the steps send. Where they send less, the connection is closed at
            their end, and the client sees a body that was cut.
        encoding: compresses the body, flushed after each piece, and says so in Content-Encoding.
        http_version: what the status line says; a "1.0" server neither chunks nor keeps a connection open.
        keep_alive: False closes the connection after this reply, and says so.
        before_head: steps played before the head is sent: `Pause`, `Wait`, `Stall`, `Cut`, `Reset` or `Raw`.

    Raises:
        ValueError: chunks in HTTP/1.0 or with a length, or a length that nobody can know.
    """

    steps: Sequence[Step] = ()
    _: KW_ONLY
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str | None = "text/event-stream; charset=utf-8"
    framing: BodyFraming | None = None
    content_length: int | None = None
    encoding: ContentEncoding | None = None
    http_version: HTTPVersion = "1.1"
    keep_alive: bool = True
    before_head: Sequence[Step] = ()

    def __post_init__(self) -> None:
        if self.framing == "chunked" and self.http_version == "1.0":
            raise ValueError("HTTP/1.0 has no chunks")
        if self.framing not in (None, "length") and self.content_length is not None:
            raise ValueError(f"a body framed by {self.framing!r} states no length")
        self.body_length("length")

    def body_framing(self, client_version: HTTPVersion) -> BodyFraming:
        """How this reply's end is told to a client that speaks `client_version`."""
        if self.content_length is not None:
            return "length"
        if self.framing is not None and not (self.framing == "chunked" and client_version == "1.0"):
            return self.framing
        return "chunked" if "1.0" not in (client_version, self.http_version) else "close"

    def body_length(self, framing: BodyFraming) -> int | None:
        """The Content-Length to state: the one given, else the sum of what the steps send; None where none is."""
        if framing != "length" or self.content_length is not None:
            return self.content_length
        if self.framing != "length":
            return None
        compressor = Compressor(self.encoding)
        steps = (step for step in self.steps if isinstance(step, BodyStep))
        return sum(len(compressor.feed(piece)) for step in steps for piece in step.pieces()) + len(compressor.close())


def json_reply(body: JsonValue, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """A whole JSON answer with its Content-Length, as providers send one that is not streamed."""
    data = json.dumps(body).encode()
    return Reply([Send(data)], status=status, headers=headers or {}, content_type="application/json", framing="length")


def error_reply(
    status: int,
    body: JsonValue = None,
    *,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """An HTTP error with a JSON body.

    Args:
        status: the HTTP status, 400 or more.
        body: the body; None is a body in the shape most providers use, with the status as its code.
        headers: more headers, such as ``{"retry-after": "2"}``.
    """
    if body is None:
        body = {"error": {"message": f"scripted error {status}", "type": "scripted_error", "code": status}}
    return json_reply(body, status=status, headers=headers)


Scripted: TypeAlias = Reply | Sequence[Reply]
"""One reply for every request, or one for each in order."""

Script: TypeAlias = Scripted | Mapping[str, Scripted] | Callable[[Request], Reply]
"""What to answer; the keys of a mapping are paths, without the query."""


class Playlist:
    """Chooses the reply to each request, as the module's first lines show.

    Args:
        script: what to answer.
    """

    def __init__(self, script: Script) -> None:
        self._script = script
        self._taken: dict[str, int] = {}

    def choose(self, request: Request) -> Reply:
        """The reply to `request`: 404 where no path fits, 500 where its list has come to an end."""
        script = self._script
        if isinstance(script, Mapping):
            scripted = script.get(request.path)
            if scripted is None:
                return error_reply(404, {"error": f"the script has no path {request.path!r}"})
            return self._next(request.path, scripted)
        if callable(script):
            return script(request)
        return self._next("", script)

    def _next(self, path: str, scripted: Scripted) -> Reply:
        if isinstance(scripted, Reply):
            return scripted
        taken = self._taken.get(path, 0)
        if taken == len(scripted):
            return error_reply(500, {"error": f"the script has only {taken} replies"})
        self._taken[path] = taken + 1
        return scripted[taken]
