"""The end of the pipeline at the page's socket: events leave against credit, everything else when it is there."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from starlette.websockets import WebSocket

from rxstream.consume.sink import StreamEnd
from rxstream.events import Cancelled, Event
from rxstream.gateway.page_events import event_frame

__all__ = ("PageSink",)


class PageSink:
    def __init__(self, websocket: WebSocket) -> None:
        self._websocket = websocket
        self._credit = 0
        self._granted = asyncio.Event()

    def request(self, n: int) -> None:
        self._credit += n
        self._granted.set()

    async def on_event(self, event: Event) -> None:
        if type(event) is not Cancelled:
            while self._credit < 1:
                self._granted.clear()
                await self._granted.wait()
            self._credit -= 1
        await self._websocket.send_text(event_frame(event))

    async def on_end(self, end: StreamEnd) -> None:
        pass

    async def send(self, message: dict[str, Any]) -> None:
        await self._websocket.send_text(json.dumps(message))
