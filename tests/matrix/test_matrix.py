"""Every way to cut the bytes times everything that can become of an answer, on every wire that can be scripted.

The reader is a whole pipeline: chunks, `parse`, `batch_text`, `bounded_buffer` and a response. A row of the table says
what happens to the answer, and what the response must be; the cut must make no difference to it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from reactivex import Observable
from reactivex import operators as rx_ops

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import TextDelta, ToolCall, Usage
from rxstream.operators.framings import framing_factory
from rxstream.providers.registry import get_wire
from rxstream.response.response import Response
from rxstream.sources import from_chunks
from rxstream.testing import Answer, run_virtual
from rxstream.testing.wires import WIRES
from tests.matrix.chunkings import CHUNKINGS, Chunking
from tests.providers.decoding import decode

TEXT = ("Grüße ", "aus 日本 ", '🎉 "{[', "\\n\u2028 end")
SOME = "".join(TEXT[:2])
ARGUMENTS = json.dumps({"city": "Zürich 🏔", "days": [1, 2.5, None], "note": 'a "quoted" }'})
NESTED = '{"a": [[["Zürich 🏔", [{"b": ["\\"q\\" }", [{"c": [2.5, [null, 1]]}]]}]]]]}'
"""Arguments that are no JSON any more when one of their pieces is missing or comes twice."""
USAGE = Usage(20, 9, 29)
TEXT_ONLY = {"openai-completions"}

every_wire = pytest.mark.parametrize("wire", sorted(WIRES))
every_speaking_wire = pytest.mark.parametrize("wire", sorted(WIRES.keys() - TEXT_ONLY))
every_chunking = pytest.mark.parametrize("chunking", CHUNKINGS.values(), ids=CHUNKINGS.keys())


def frames_of(wire: str, arguments: str | None = None) -> list[bytes]:
    calls = [] if arguments is None else [ToolCall("call-1", "f", arguments)]
    said = Answer(TEXT, tool_calls=calls, usage=USAGE)
    return list(WIRES[wire].stream(said))


def read(wire: str, chunks: Observable[bytes], *between: Any) -> Observable[Any]:
    """The pipeline; `between` stands behind the parser."""
    events: Observable[Any] = chunks.pipe(ops.parse(wire))
    for operator in between:
        events = operator(events)
    return events.pipe(ops.batch_text(), ops.bounded_buffer(4))


async def respond(wire: str, chunks: list[bytes]) -> Response:
    return await rxs.collect(read(wire, from_chunks(chunks)))


@cache
def frames_with_some_text(wire: str) -> int:
    """How many frames it takes until the first two pieces of the text were said."""
    frames, spec = frames_of(wire), get_wire(wire)
    for count in range(1, len(frames)):
        outcome = decode(framing_factory(spec.framing)(None), spec.make_decoder(), [b"".join(frames[:count])])
        if "".join(event.text for event in outcome.events if isinstance(event, TextDelta)) == SOME:
            return count
    raise AssertionError("no frame ends behind the second piece")


async def completion(wire: str, chunking: Chunking) -> Response:
    return await respond(wire, chunking(frames_of(wire)))


async def slow_consumer(wire: str, chunking: Chunking) -> Response:
    """A sink that takes a second for each event."""
    seen: list[Any] = []

    class Slow:
        async def on_event(self, event: Any) -> None:
            await asyncio.sleep(1.0)
            seen.append(event)

        async def on_end(self, end: Any) -> None:
            pass

    await rxs.subscribe(read(wire, from_chunks(chunking(frames_of(wire)))), Slow()).result()
    return await rxs.collect(rxs.from_iterable(seen))


async def abort_between_deltas(wire: str, chunking: Chunking) -> Response:
    """Cancelled as soon as two pieces were said."""
    cancellation = rxs.Cancellation()
    said = ""

    def stop_after_two(event: Any) -> None:
        nonlocal said
        said += event.text if isinstance(event, TextDelta) else ""
        if said == SOME:
            cancellation.cancel("user_stop")

    # Text that waits in a batch or a buffer is discarded by a cancellation: here each piece is taken before the next.
    events = from_chunks(chunking(frames_of(wire))).pipe(
        ops.parse(wire), ops.cancel_on(cancellation), rx_ops.do_action(stop_after_two)
    )
    return await rxs.collect(events)


async def error_after_partial_text(wire: str, chunking: Chunking) -> Response:
    """The transport fails behind the second piece."""

    def broken() -> Iterator[bytes]:
        yield from chunking(frames_of(wire)[: frames_with_some_text(wire)])
        raise rxs.TransportError("the connection was reset")

    return await rxs.collect(read(wire, from_chunks(broken())))


async def end_without_terminal(wire: str, chunking: Chunking) -> Response:
    return await respond(wire, chunking(frames_of(wire)[: frames_with_some_text(wire)]))


async def truncated_last_frame(wire: str, chunking: Chunking) -> Response:
    frames = frames_of(wire)[: frames_with_some_text(wire) + 1]
    return await respond(wire, chunking([*frames[:-1], frames[-1][: len(frames[-1]) // 2]]))


@dataclass(frozen=True)
class Case:
    """What becomes of an answer, and what its response must be.

    Args:
        run: reads it.
        outcome: of the response.
        text: all of it that may be shown.
        error: what ended it.
    """

    run: Callable[[str, Chunking], Coroutine[Any, Any, Response]]
    outcome: str
    text: str = "".join(TEXT)
    error: type[Exception] | tuple[type[Exception], ...] = ()


CASES = (
    Case(completion, "completed"),
    Case(slow_consumer, "completed"),
    Case(abort_between_deltas, "cancelled", SOME),
    Case(error_after_partial_text, "failed", SOME, rxs.TransportError),
    Case(end_without_terminal, "indeterminate", SOME, (rxs.TruncatedStreamError, rxs.TruncatedFrameError)),
    Case(truncated_last_frame, "indeterminate", SOME, rxs.StreamError),
)


@every_chunking
@every_wire
@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.run.__name__))
def test_the_answer_is_what_became_of_it_however_it_was_cut(case: Case, wire: str, chunking: Chunking) -> None:
    response = run_virtual(case.run(wire, chunking))
    assert (response.outcome, response.text) == (case.outcome, case.text)
    assert isinstance(response.error, case.error) if case.error else response.error is None
    if case.outcome == "completed":
        assert (response.finish_reason, response.usage.output_tokens, response.violations) == ("stop", 9, [])
    else:
        assert response.provisional


def f(city: str, days: list[float | None], note: str) -> str:
    """A tool: what it got, as its result."""
    return json.dumps([city, days, note])


@every_chunking
@every_speaking_wire
def test_a_call_is_run_once_with_its_arguments_and_its_result_joins_the_answer(wire: str, chunking: Chunking) -> None:
    async def main() -> Response:
        chunks = from_chunks(chunking(frames_of(wire, ARGUMENTS)))
        return await rxs.collect(read(wire, chunks, ops.run_tools([f])))

    response = run_virtual(main())
    assert (response.outcome, response.text, response.finish_reason) == ("completed", "".join(TEXT), "tool_calls")
    (call,), (result,) = response.tool_calls, response.tool_results
    assert call.valid
    assert json.loads(call.arguments) == json.loads(ARGUMENTS)
    assert (result.call_id, result.outcome) == (call.call_id, "ok")
    assert json.loads(str(result.output)) == list(json.loads(ARGUMENTS).values())


Fault = Callable[[Sequence[bytes], int], list[bytes]]


def duplicate(frames: Sequence[bytes], place: int) -> list[bytes]:
    return [*frames[: place + 1], *frames[place:]]


def missing(frames: Sequence[bytes], place: int) -> list[bytes]:
    return [*frames[:place], *frames[place + 1 :]]


def facts(response: Response) -> tuple[Any, ...]:
    """All that must not depend on the cut."""
    calls = [(call.name, call.arguments, call.valid) for call in response.tool_calls]
    codes = [violation.code for violation in response.violations]
    return response.outcome, response.text, calls, response.finish_reason, codes, type(response.error)


@every_wire
@pytest.mark.parametrize("fault", [duplicate, missing], ids=lambda fault: str(fault.__name__))
def test_an_event_too_many_or_too_few_is_the_same_in_every_cut_and_makes_no_false_call(wire: str, fault: Fault) -> None:
    """At every place of the stream. (A wire has no check of its own: what is still JSON is a call.)"""
    frames = frames_of(wire, None if wire in TEXT_ONLY else NESTED)
    for place in range(len(frames)):
        faulty = fault(frames, place)
        responses = [run_virtual(respond(wire, chunking(faulty))) for chunking in CHUNKINGS.values()]
        assert all(facts(response) == facts(responses[0]) for response in responses), f"frame {place}"
        for call in responses[0].tool_calls:
            assert not call.valid or json.loads(call.arguments) == json.loads(NESTED), f"frame {place}"


@every_wire
def test_an_answer_without_its_last_events_is_never_taken_for_whole(wire: str) -> None:
    """With every frame from the first on as the last one: only a wire's own end makes it whole."""
    frames = frames_of(wire)
    whole = run_virtual(respond(wire, frames))
    assert whole.outcome == "completed"
    for count in range(len(frames)):
        response = run_virtual(respond(wire, frames[:count]))
        if response.outcome == "completed":
            # What is missing then says nothing of the answer: counts, or the mark behind a reason that was given.
            assert (response.text, response.finish_reason) == (whole.text, whole.finish_reason), count
