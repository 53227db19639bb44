"""A stream for `rxstream doctor`: a few small frames, one each moment, with nothing in them but when they were sent.

Whoever reads it through a proxy sees whether the proxy passes frames on as they come, with no model asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from rxstream.encoders.frames import SSE_HEADERS, data_frame
from rxstream.gateway.errors import error_response
from rxstream.gateway.refusals import Refusal, busy, wrong_body

__all__ = ("MARK", "MAX_FRAMES", "MAX_INTERVAL_MS", "SELF_TEST_PATH", "SelfTest", "self_test_route")

SELF_TEST_PATH: Final = "/healthz/stream"

MARK: Final = "x-rxstream-self-test"
"""The header by which `doctor` knows that this gateway answered, and not something before it."""

MAX_FRAMES: Final = 50
MAX_INTERVAL_MS: Final = 1000
MAX_STREAMS: Final = 8
"""How many run at once: each holds a connection for MAX_FRAMES times MAX_INTERVAL_MS at most."""


class SelfTest:
    """The ASGI application of the stream: `?n=10&interval_ms=200`.

    Args:
        is_ending: whether the server is about to end, and with it what runs here.
    """

    def __init__(self, is_ending: Callable[[], bool]) -> None:
        self._is_ending = is_ending
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        request = Request(scope, receive)
        refusal: Refusal | None = None
        try:
            count = _number(request, "n", 10, MAX_FRAMES)
            interval_ms = _number(request, "interval_ms", 200, MAX_INTERVAL_MS)
            if self._running >= MAX_STREAMS:
                raise busy(MAX_STREAMS, after_seconds=1.0)
        except Refusal as error:
            refusal = error
        if refusal is not None:
            await error_response(refusal, "openai-chat")(scope, receive, send)
            return
        self._running += 1
        try:
            await self._response(request, count, interval_ms)(scope, receive, send)
        finally:
            self._running -= 1

    def _response(self, request: Request, count: int, interval_ms: int) -> Response:
        # What the last proxy speaks to us is what the client cannot see.
        frames = self._frames(count, interval_ms, str(request.scope.get("http_version", "")))
        return StreamingResponse(frames, headers={**SSE_HEADERS, MARK: "1"})

    async def _frames(self, count: int, interval_ms: int, http_version: str) -> AsyncIterator[bytes]:
        clock = asyncio.get_running_loop().time
        begun = clock()
        for number in range(1, count + 1):
            if number > 1:
                await asyncio.sleep(interval_ms / 1000)
            if self._is_ending():
                return
            at_ms = round((clock() - begun) * 1000)
            yield data_frame({"n": number, "of": count, "at_ms": at_ms, "http": http_version})


def self_test_route(is_ending: Callable[[], bool]) -> Route:
    """The route of the stream.

    Args:
        is_ending: whether the server is about to end.
    """
    return Route(SELF_TEST_PATH, SelfTest(is_ending), methods=["GET"])


def _number(request: Request, name: str, default: int, limit: int) -> int:
    said = request.query_params.get(name, str(default))
    if not (said.isascii() and said.isdigit() and len(said) <= 4 and 1 <= int(said) <= limit):
        raise wrong_body(f"`{name}` must be a whole number from 1 to {limit}")
    return int(said)
