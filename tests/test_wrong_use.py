"""What is not what a function takes is refused when it is given, in a sentence that says what to give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

import rxstream as rxs
from rxstream import operators as ops
from rxstream.testing import run

WRONG: Any = object()


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: rxs.from_chunks(cast(Any, "text")), TypeError, "from_chunks\\(\\[data\\]\\)"),
        (lambda: rxs.from_chunks(cast(Any, b"data")), TypeError, "not one bytes"),
        (lambda: rxs.from_aiter(cast(Any, [1])), TypeError, "from_iterable"),
        (lambda: ops.cancel_on(WRONG), TypeError, "Cancellation"),
        (lambda: rxs.Cancellation().cancel(cast(Any, "boredom")), ValueError, "user_stop"),
        (lambda: ops.overflow.cancel(cast(Any, "boredom")), ValueError, "budget"),
    ],
)
def test_wrong_use_is_refused_at_the_call(call: Callable[[], Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        call()


@pytest.mark.parametrize("consume", [rxs.iterate, lambda events: rxs.subscribe(events, Sink())])
def test_what_is_no_stream_is_refused_by_its_consumer(consume: Callable[[Any], Any]) -> None:
    async def main() -> None:
        with pytest.raises(TypeError, match="from_iterable"):
            consume([1, 2])

    run(main())


class Sink:
    """A sink that nothing reaches."""

    async def on_event(self, event: rxs.Event) -> None: ...

    async def on_end(self, end: rxs.StreamEnd) -> None: ...
