"""What is not what a function takes is refused when it is given, in a sentence that says what to give."""

from __future__ import annotations

import ast
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, cast

import pytest

import rxstream as rxs
from rxstream import operators as ops
from rxstream.providers.registry import Wire
from rxstream.sinks import RecordingSink
from rxstream.testing import run, run_virtual
from rxstream.testing.contracts import check_operator, check_policy, check_sink, check_source

WRONG: Any = object()
ENDPOINT: rxs.Endpoint = rxs.connect("openai-chat/m", base_url="http://127.0.0.1:9", client=object())


def greet(name: str) -> str:
    """A tool."""
    return f"Hello {name}"


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: rxs.from_chunks(cast(Any, "text")), TypeError, "from_chunks\\(\\[data\\]\\)"),
        (lambda: rxs.from_chunks(cast(Any, b"data")), TypeError, "not one bytes"),
        (lambda: rxs.from_aiter(cast(Any, [1])), TypeError, "from_iterable"),
        (lambda: ops.cancel_on(WRONG), TypeError, "Cancellation"),
        (lambda: rxs.Cancellation().cancel(cast(Any, "boredom")), ValueError, "user_stop"),
        (lambda: ops.overflow.cancel(cast(Any, "boredom")), ValueError, "budget"),
        (lambda: ops.run_tools(cast(Any, print)), TypeError, "as a list, one alone too"),
        (lambda: ops.run_tools(cast(Any, rxs.tool(greet))), TypeError, "as a list, one alone too"),
        (lambda: ops.record(WRONG), TypeError, "to a path, or to a store"),
        (lambda: RecordingSink(WRONG), TypeError, "to a path, or to a store"),
        (lambda: ops.parse("opena"), ValueError, "is it 'openai'"),
        (lambda: rxs.subscribe(rxs.from_iterable([]), Sink()), RuntimeError, "inside a coroutine"),
        (lambda: ENDPOINT.stream(cast(Any, "Hi")), TypeError, "ModelRequest.of"),
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


@pytest.mark.parametrize("consume", [rxs.collect, rxs.collect_turns, lambda events: rxs.fold(events, max, 0)])
def test_what_is_no_stream_is_refused_by_who_awaits_its_end(consume: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match="from_iterable"):
        run(consume([1, 2]))


def test_an_iterator_in_place_of_a_stream_is_refused_with_what_makes_one() -> None:
    async def items() -> AsyncIterator[int]:
        yield 1

    with pytest.raises(TypeError, match="from_aiter"):
        run(rxs.collect(cast(Any, items())))


@pytest.mark.parametrize("method", ["on_event", "on_end"])
def test_a_sink_that_is_not_async_is_told_which_method_to_mend(method: str) -> None:
    async def main() -> None:
        sink = Sink()
        setattr(sink, method, lambda _: None)
        await rxs.subscribe(rxs.from_iterable([rxs.TextDelta("a")]), sink).result()

    with pytest.raises(TypeError, match=f"write `async def {method}`"):
        run(main())


@pytest.mark.parametrize(
    ("events", "says"),
    [
        (rxs.from_chunks(cast(Any, ["data: {}"])), "a chunk is bytes, not str"),
        (rxs.from_iterable([rxs.TextDelta("a")]), "parse reads bytes, and TextDelta came"),
        (rxs.from_iterable(["data: {}"]), "parse reads bytes, and str came"),
    ],
)
def test_what_is_no_chunk_ends_the_stream_with_its_kind(events: Any, says: str) -> None:
    response = run(rxs.collect(events.pipe(ops.parse("openai-chat"))))
    assert response.outcome == "failed"
    assert says in str(response.error)


def test_a_decoder_that_lacks_a_member_is_refused_by_its_name() -> None:
    class Half:
        def __init__(self, *, limits: rxs.Limits | None = None) -> None: ...

        def decode(self, payload: object, out: list[rxs.Event]) -> None: ...

        def close(self, out: list[rxs.Event]) -> None: ...

    wire = Wire("half", "ndjson", cast(Any, Half))
    with pytest.raises(TypeError, match="Half has no done, no abort"):
        run(rxs.collect(rxs.from_chunks([b"{}"]).pipe(ops.parse(wire))))


@pytest.mark.parametrize(
    "check",
    [
        lambda: check_operator(cast(Any, ops.to_response()), [1]),
        lambda: check_policy(cast(Any, ops.overflow.pause())),
        lambda: check_sink(cast(Any, Sink())),
        lambda: check_source(cast(Any, rxs.from_iterable([1]))),
    ],
)
def test_a_contract_given_the_thing_asks_for_what_makes_it(check: Callable[[], None]) -> None:
    with pytest.raises(TypeError, match="makes a new one at each call"):
        check()


@pytest.mark.parametrize("start", [run, run_virtual])
def test_a_loop_within_a_loop_is_refused_and_nothing_is_left_unawaited(start: Callable[[Any], Any]) -> None:
    async def inner() -> None: ...

    async def main() -> None:
        with pytest.raises(RuntimeError, match="plain test function"):
            start(inner())

    run(main())


@pytest.mark.parametrize("room", ["__init__.py", "sinks/__init__.py", "testing/__init__.py"])
def test_a_type_checker_does_not_see_the_getattr_that_gives_every_name(room: str) -> None:
    source = (Path(rxs.__file__).parent / room).read_text()
    hidden = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.If) and "not TYPE_CHECKING" in ast.unparse(node.test)
    ]
    assert [ast.unparse(node) for node in hidden if "def __getattr__" in ast.unparse(node)]
    assert "\ndef __getattr__" not in source


class Sink:
    """A sink that nothing reaches."""

    async def on_event(self, event: rxs.Event) -> None: ...

    async def on_end(self, end: rxs.StreamEnd) -> None: ...
