"""What the tests of retries share: sources whose attempts are scripted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import reactivex as rx
from reactivex import Observable

import rxstream as rxs
from rxstream import operators as ops
from rxstream.errors import ProviderError, RetryHint
from rxstream.events import (
    ProviderEvent,
)
from rxstream.testing import (
    run_virtual,
)
from tests.operators.timed import Seen, now, watch

Script = Sequence[Any]
"""What one attempt sends; an exception in the end fails it."""

TEXT = b'data: {"choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}\n\n'


def busy(after_seconds: float | None = None, *, retryable: bool = True) -> ProviderError:
    return ProviderError("busy", category="overloaded", retry=RetryHint(retryable, after_seconds))


class Attempts:
    """A source whose first subscription sends the first of `scripts`, the second one the second, and so on."""

    def __init__(self, *scripts: Script) -> None:
        self.began_at: list[float] = []
        self._scripts = scripts

    def __call__(self, *_: object) -> Observable[Any]:
        self.began_at.append(now())
        script = self._scripts[len(self.began_at) - 1]
        return rxs.from_aiter(self._play(script))

    async def _play(self, script: Script) -> AsyncIterator[Any]:
        for item in script:
            if isinstance(item, Exception):
                raise item
            yield item

    @property
    def events(self) -> Observable[Any]:
        return rx.defer(self)


def retried(attempts: Attempts, **options: Any) -> Seen:
    """What a consumer sees of `attempts`."""

    async def main() -> Seen:
        return await watch(attempts.events.pipe(ops.retry_before_output(**options)))

    return run_virtual(main())


def without_attempts(seen: Seen) -> list[Any]:
    return [item for _, item in seen.items if not is_attempt(item)]


def is_attempt(item: Any) -> bool:
    return isinstance(item, ProviderEvent) and item.name == "attempt"
