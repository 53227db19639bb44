"""Work for a client, for as long as it is there."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.types import Receive

from rxstream.gateway.request_body import ClientGone

__all__ = ("until_gone",)

T = TypeVar("T")


async def until_gone(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`; when the client leaves first, it is cancelled.

    Args:
        receive: of a request whose body was read.
        work: what the client waits for.

    Raises:
        ClientGone: the client left.
    """
    task = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait((task, leaving), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise ClientGone
    finally:
        for each in (task, leaving):
            each.cancel()
        await asyncio.gather(task, leaving, return_exceptions=True)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
