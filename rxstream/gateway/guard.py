"""The last place an exception can come to: the client gets a 500 without a word of it, the log its class and place."""

from __future__ import annotations

import traceback

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rxstream.gateway.errors import error_response, format_of
from rxstream.gateway.log import GatewayLog

__all__ = ("Guard",)


class Guard:
    """Catches what nobody else did.

    Args:
        app: the application behind it.
        log: is told.
    """

    def __init__(self, app: ASGIApp, log: GatewayLog) -> None:
        self._app = app
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        has_begun = False

        async def send_noting(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        failure: Exception | None = None
        try:
            await self._app(scope, receive, send_noting)
        except Exception as error:
            failure = error
        if failure is None:
            return
        self._log.error("unexpected error", exception=type(failure).__name__, at=_place(failure))
        if not has_begun:
            await error_response(failure, format_of(scope))(scope, receive, send)


def _place(error: Exception) -> str | None:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else None
