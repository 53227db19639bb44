"""A client of one response, played by hand: what was sent to it, and when; it may stall, leave, or fail."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import Response

from rxstream.consume.sink import StreamEnd

Message = MutableMapping[str, Any]


@dataclass
class PlayedClient:
    """An ASGI server and its client.

    Args:
        before_send: called with each message before it is taken; it may wait, or raise.
        tells: whether the server tells of a disconnect.
        request: the messages that the request has left.
    """

    before_send: Callable[[Message], Any] | None = None
    tells: bool = True
    request: list[Message] = field(default_factory=lambda: [{"type": "http.request", "body": b"", "more_body": False}])
    messages: list[Message] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    ends: list[StreamEnd] = field(default_factory=list)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    sent: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def receive(self) -> Message:
        if self.request:
            return self.request.pop(0)
        if self.tells:
            await self.gone.wait()
        else:
            await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if self.before_send is not None:
            waited = self.before_send(message)
            if waited is not None:
                await waited
        self.messages.append(message)
        self.times.append(asyncio.get_running_loop().time())
        async with self.sent:
            self.sent.notify_all()

    async def until(self, count: int) -> None:
        """Wait until `count` messages were taken."""
        async with self.sent:
            await self.sent.wait_for(lambda: len(self.messages) >= count)

    async def take(self, response: Response, *, method: str = "POST", spec_version: str = "2.3") -> None:
        """Run the response to its end."""
        scope = {"type": "http", "method": method, "headers": [], "asgi": {"spec_version": spec_version}}
        await response(scope, self.receive, self.send)

    @property
    def status(self) -> int:
        return int(self.messages[0]["status"])

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self.messages[0]["headers"]}

    @property
    def bodies(self) -> list[bytes]:
        return [message["body"] for message in self.messages[1:]]

    @property
    def body(self) -> bytes:
        return b"".join(self.bodies)

    @property
    def is_finished(self) -> bool:
        """Whether the response was ended, once, and nothing was sent after that."""
        more = [message.get("more_body", False) for message in self.messages[1:]]
        return more[-1:] == [False] and all(more[:-1])
