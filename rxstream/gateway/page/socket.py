"""The page's WebSocket, `/page/socket`: one conversation, one answer at a time.

    from the page                                   to the page
    {"type": "chat", "model", "messages"}           {"type": "ready", "models", "queue"}     once
    {"type": "request", "n"}     credit             {"type": "event", "event"}               against credit
    {"type": "stop"}                                {"type": "pipeline", ...}                ten a second
    {"type": "cut"}                                 {"type": "notice", "message"}
                                                    {"type": "end", "outcome", "error", ...} once an answer

Who may come in is decided before the handshake, by `security`, as for every route: the token is in a subprotocol, for a
browser lets a page set no other header of a WebSocket, and what is in a URL ends up in logs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from pydantic_core import from_json
from starlette.routing import BaseRoute, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from rxstream.errors import LimitError
from rxstream.gateway.exchange import Exchange
from rxstream.gateway.gateway import Gateway
from rxstream.gateway.headers import REQUEST_ID
from rxstream.gateway.page.chat import QUEUE, PageChat
from rxstream.providers.payloads import check_depth

__all__ = ("page_socket_route",)

PATH: Final = "/page/socket"
PROTOCOL: Final = "rxstream.page"
MAX_SOCKETS: Final = 256
MAX_CREDIT: Final = 1024

TRY_LATER: Final = 1013
NOT_UNDERSTOOD: Final = 1007
INTERNAL: Final = 1011
"""Close codes of RFC 6455 and its registry."""


def page_socket_route(gateway: Gateway) -> BaseRoute:
    """`/page/socket`.

    Args:
        gateway: what its answers run in.
    """
    sockets: set[WebSocket] = set()  # bounded: MAX_SOCKETS

    async def serve(websocket: WebSocket) -> None:
        offered = websocket.scope.get("subprotocols", ())
        await websocket.accept(PROTOCOL if PROTOCOL in offered else None)
        if len(sockets) >= MAX_SOCKETS:
            await websocket.close(TRY_LATER, "too many pages are open")
            return
        sockets.add(websocket)
        try:
            await PageSocket(gateway, websocket).run()
        finally:
            sockets.discard(websocket)

    return WebSocketRoute(PATH, serve)


class PageSocket:
    """One connection of a page."""

    def __init__(self, gateway: Gateway, websocket: WebSocket) -> None:
        self._gateway = gateway
        self._websocket = websocket
        self._chat: PageChat | None = None
        self._running: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Until the page leaves; what runs for it then ends, and its provider is left."""
        try:
            ready = {"type": "ready", "models": self._gateway.catalogue.names(), "queue": QUEUE}
            await self._websocket.send_json(ready)
            while (heard := await self._websocket.receive())["type"] == "websocket.receive":
                if not await self._hear(heard.get("text")):
                    await self._websocket.close(NOT_UNDERSTOOD, "a message that this gateway does not know")
                    return
        except WebSocketDisconnect:
            pass  # it left while something was sent to it
        finally:
            await self._leave()

    async def _hear(self, text: str | None) -> bool:
        """Take one message. Returns whether it was one."""
        message = self._read(text)
        match message:
            case {"type": "chat"} if not self._is_running or await self._has_ended():
                self._begin(message)
            case {"type": "request", "n": n} if type(n) is int and 0 < n <= MAX_CREDIT:
                if self._chat is not None:
                    self._chat.request(n)
            case {"type": "stop"}:
                if self._chat is not None:
                    self._chat.stop()
            case {"type": "cut"}:
                if self._chat is not None and self._is_running:
                    self._chat.cut()
            case _:
                return False
        return True

    @property
    def _is_running(self) -> bool:
        return self._running is not None and not self._running.done()

    async def _has_ended(self) -> bool:
        """Wait for the last steps of an answer, of which a page that has its end knows nothing; False for others."""
        if self._running is None or self._chat is None or not self._chat.is_ending:
            return False
        await asyncio.wait([self._running])
        return True

    def _read(self, text: str | None) -> Any:
        if text is None:
            return None
        try:
            message = from_json(text, allow_inf_nan=False)
            if isinstance(message, dict):
                check_depth(message, text, self._gateway.config.limits.max_json_depth)
            return message
        except (ValueError, LimitError):
            return None

    def _begin(self, message: Mapping[str, Any]) -> None:
        exchange = Exchange(self._gateway, PATH, self._websocket.scope[REQUEST_ID])
        self._chat = PageChat(self._gateway, self._websocket, exchange)
        self._running = asyncio.create_task(self._answer(self._chat, message), name="rxstream: an answer for the page")

    async def _answer(self, chat: PageChat, message: Mapping[str, Any]) -> None:
        try:
            await chat.run(message)
        except WebSocketDisconnect:
            pass  # the receiving side hears of it too
        except Exception as error:
            self._gateway.log.error("unexpected error", exception=type(error).__name__, route=PATH)
            await self._websocket.close(INTERNAL, "an unexpected error")

    async def _leave(self) -> None:
        if self._running is None or self._chat is None or self._running.done():
            return
        self._chat.left()
        done, _ = await asyncio.wait([self._running], timeout=self._gateway.config.limits.max_cleanup_seconds)
        if not done:
            self._running.cancel()
            await asyncio.wait([self._running])
