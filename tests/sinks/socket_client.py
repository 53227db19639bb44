"""A WebSocket client played by hand: it says what it is told to say, and takes messages when it likes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.websockets import WebSocket

Message = MutableMapping[str, Any]


class PlayedSocket:
    """An ASGI server and its client.

    Args:
        before_send: called before a message is taken; it may wait, or raise.
    """

    def __init__(self, before_send: Callable[[Message], Awaitable[None] | None] | None = None) -> None:
        self.before_send = before_send
        self.messages: list[Message] = []
        self.times: list[float] = []
        self._said: list[Message] = [{"type": "websocket.connect"}]  # a test says little
        self._has_said = asyncio.Event()
        self._taken = asyncio.Event()

    async def accepted(self) -> WebSocket:
        """The socket, as a route has it after `accept`."""
        websocket = WebSocket({"type": "websocket", "headers": [], "path": "/"}, self._receive, self._send)
        await websocket.accept()
        self.messages.clear()
        return websocket

    def say(self, said: Any) -> None:
        """Send a text, or anything else as JSON."""
        text = said if isinstance(said, str) else json.dumps(said)
        self._tell({"type": "websocket.receive", "text": text})

    def leave(self) -> None:
        """Disconnect."""
        self._tell({"type": "websocket.disconnect", "code": 1001, "reason": ""})

    def _tell(self, message: Message) -> None:
        self._said.append(message)
        self._has_said.set()

    async def _receive(self) -> Message:
        while not self._said:
            self._has_said.clear()
            await self._has_said.wait()
        return self._said.pop(0)

    async def _send(self, message: Message) -> None:
        if message["type"] != "websocket.accept" and self.before_send is not None:
            waiting = self.before_send(message)
            if waiting is not None:
                await waiting
        self.messages.append(message)
        self.times.append(asyncio.get_running_loop().time())
        self._taken.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until `condition()`, which is asked after each message that was taken."""
        while not condition():
            self._taken.clear()
            await self._taken.wait()

    @property
    def said(self) -> list[dict[str, Any]]:
        """The text messages, read."""
        return [json.loads(message["text"]) for message in self.messages if message["type"] == "websocket.send"]

    @property
    def events(self) -> list[dict[str, Any]]:
        return [said["event"] for said in self.said if said["type"] == "event"]

    @property
    def end(self) -> dict[str, Any] | None:
        """The last message, where it is the end."""
        ends = [said for said in self.said if said["type"] == "end"]
        assert len(ends) <= 1
        assert ends == [said for said in self.said[-1:] if said["type"] == "end"]
        return ends[0] if ends else None

    @property
    def closed_with(self) -> int | None:
        return next((int(message["code"]) for message in self.messages if message["type"] == "websocket.close"), None)
