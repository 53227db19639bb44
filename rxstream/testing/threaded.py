"""A scripted provider in a thread of its own, for code that is not async: a command line, a demo, a sync client."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Any, TypeVar

from rxstream.testing.record import RequestRecord
from rxstream.testing.server import ScriptedProvider

__all__ = ("ThreadedProvider",)

T = TypeVar("T")


class ThreadedProvider:
    """Runs a `ScriptedProvider` on a loop of its own: `with ScriptedProvider.run_in_thread(script) as provider`.

    Args:
        make_provider: makes the provider, in the thread.

    Raises:
        Exception: on leaving the block, what a script function or a step raised.
    """

    def __init__(self, make_provider: Callable[[], ScriptedProvider]) -> None:
        self._make_provider = make_provider
        self._started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, ScriptedProvider]] = Future()
        self._ended: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name="rxstream-scripted-provider", daemon=True)

    @property
    def base_url(self) -> str:
        """Where a client sends its requests: ``http://127.0.0.1:PORT``."""
        return self._provider.base_url

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        return self._provider.address

    @property
    def requests(self) -> Sequence[RequestRecord]:
        """The requests so far, oldest first. Their events belong to the thread's loop: wait with `wait_until`."""
        return self._provider.requests

    @property
    def open_connections(self) -> int:
        """Connections that neither side has closed."""
        return self._provider.open_connections

    def call(self, function: Callable[[], T]) -> T:
        """Run `function()` on the server's loop, to set the event of a `Wait` step; return its result."""

        async def run() -> T:
            return function()

        return self._await(run())

    def wait_until(self, condition: Callable[[ScriptedProvider], bool], timeout_seconds: float = 10.0) -> None:
        """Block until `condition(provider)` is true.

        Args:
            condition: asked on the server's loop, at every change of a record or a connection.
            timeout_seconds: how long to block.

        Raises:
            TimeoutError: it was not true by then.
        """

        async def wait() -> None:
            async with asyncio.timeout(timeout_seconds):
                await self._provider.wait_until(lambda: condition(self._provider))

        self._await(wait())

    def __enter__(self) -> ThreadedProvider:
        self._thread.start()
        self._started.result()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        loop, stop, _ = self._started.result()
        if self._thread.is_alive():
            loop.call_soon_threadsafe(stop.set)
        self._thread.join()
        if error is None:
            self._ended.result()

    @property
    def _provider(self) -> ScriptedProvider:
        return self._started.result()[2]

    def _await(self, coroutine: Coroutine[Any, Any, T]) -> T:
        if not self._started.done() or self._ended.done():
            coroutine.close()
            raise RuntimeError("the provider runs inside its `with` block only")
        return asyncio.run_coroutine_threadsafe(coroutine, self._started.result()[0]).result()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            future = self._ended if self._started.done() else self._started
            future.set_exception(error)
        else:
            self._ended.set_result(None)

    async def _serve(self) -> None:
        stop = asyncio.Event()
        async with self._make_provider() as provider:
            self._started.set_result((asyncio.get_running_loop(), stop, provider))
            await stop.wait()
