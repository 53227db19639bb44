"""Tools that the model calls: when they run, what they get, and where their results stand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextvars import ContextVar
from typing import Any

import pytest
import reactivex as rx
import reactivex.operators as rx_ops
from reactivex.subject import Subject

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import Event, ResponseStart, TextDelta, ToolCall, ToolCallInvalid, ToolResult
from rxstream.testing import run_virtual
from tests.operators.timed import Seen, at, now, watch
from tests.operators.tool_kit import FINISH, START, Work, call, order, results, short, source_of, times


def text(piece: str) -> TextDelta:
    return TextDelta(piece)


def see(source: Iterable[Any], *tools: Any, **settings: Any) -> Seen:
    """What comes out where everything is there at once."""

    async def main() -> Seen:
        return await watch(rxs.from_iterable(source).pipe(ops.run_tools(tools, **settings)))

    return run_virtual(main())


# Where results stand -------------------------------------------------------------------------------------------------


def test_every_event_passes_on_and_the_end_waits_for_the_result() -> None:
    seen = see([START, text("a"), call("1"), text("b"), FINISH], Work().tool())
    assert times(seen) == [
        (0, "response_start"),
        (0, "a"),
        (0, "T1"),
        (0, "b"),
        (0, "finish"),
        (1, "R1"),
    ]
    assert seen.ended_at == 1


def test_a_stream_without_calls_is_what_it_was() -> None:
    assert order(see([text("a"), text("b")], Work().tool())) == ["a", "b"]
    assert order(see([], Work().tool())) == []


def test_results_come_in_the_order_of_their_calls() -> None:
    seen = see([call("slow", 3), call("quick", 1)], Work().tool())
    assert times(seen)[2:] == [(3, "Rslow"), (3, "Rquick")]


def test_results_come_as_they_are_there_where_that_was_asked_for() -> None:
    seen = see([call("slow", 3), call("quick", 1)], Work().tool(), in_call_order=False)
    assert times(seen)[2:] == [(1, "Rquick"), (3, "Rslow")]


def test_a_tool_begins_after_all_that_came_before_its_call_was_handed_on() -> None:
    work, seen_at_begin = Work(), []

    async def main() -> None:
        seen: list[str] = []

        async def look(context: rxs.ToolContext) -> None:
            seen_at_begin.append(list(seen))

        source = source_of(text("for "), text("London"), ToolCall("1", "look", ""))
        events = source.pipe(ops.batch_text(), ops.run_tools([look, work.tool()]))
        async for event in rxs.iterate(events):
            seen.append(short(event))

    run_virtual(main())
    assert seen_at_begin == [["for London", "T1"]]


def test_a_call_that_nobody_has_pulled_yet_does_not_run() -> None:
    work = Work()

    async def main() -> None:
        async with rxs.iterate(source_of(text("a"), call("1")).pipe(ops.run_tools([work.tool()]))) as stream:
            assert await anext(stream) == text("a")
            await asyncio.sleep(10)
            assert work.began == []
            assert await anext(stream) == call("1")
            await asyncio.sleep(0)
            assert work.began == ["1"]

    run_virtual(main())


def test_a_result_waits_for_demand_and_comes_before_what_is_read_next() -> None:
    async def main() -> Seen:
        source = rxs.from_aiter(at((0, call("1")), (5, text("b")), (6, text("c"))))
        return await watch(source.pipe(ops.run_tools([Work().tool()])), holds={1: 8})

    assert times(run_virtual(main())) == [(0, "T1"), (8, "R1"), (8, "b"), (8, "c")]


def test_a_held_result_and_its_end_are_delivered_late_and_whole() -> None:
    async def main() -> Seen:
        source = source_of(call("1"), call("2"), call("3"), FINISH)
        return await watch(source.pipe(ops.run_tools([Work().tool()])), holds={4: 10, 5: 3})

    assert times(run_virtual(main()))[4:] == [(10, "R1"), (13, "R2"), (13, "R3")]


# Concurrency ---------------------------------------------------------------------------------------------------------


def test_one_call_too_many_is_handed_on_and_closes_the_gate_until_it_begins() -> None:
    work, read = Work(), []
    events: list[Event] = [call("1", 2), call("2", 3), text("a"), call("3", 1), text("b"), FINISH]

    async def source() -> AsyncIterator[Event]:
        for event in events:
            read.append((now(), short(event)))
            yield event

    async def main() -> Seen:
        return await watch(rxs.from_aiter(source()).pipe(ops.run_tools([work.tool()], 2)))

    assert times(run_virtual(main())) == [
        (0, "T1"),
        (0, "T2"),
        (0, "a"),
        (0, "T3"),
        (2, "R1"),
        (2, "b"),
        (2, "finish"),
        (3, "R2"),
        (3, "R3"),
    ]
    assert work.peak == 2
    assert read[-2:] == [(2, "b"), (2, "finish")]


def test_the_number_at_once_is_that_of_the_limits() -> None:
    for limits, peak in ((None, 4), (rxs.Limits(max_concurrent_tools=2), 2)):
        work = Work()
        see([call(str(n)) for n in range(9)], work.tool(), limits=limits)
        assert work.peak == peak


def test_a_tool_that_cleans_up_after_its_time_keeps_its_place() -> None:
    running = peak = 0

    async def untidy() -> None:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        try:
            await asyncio.sleep(100)
        finally:
            await asyncio.sleep(2)
            running -= 1

    seen = see([ToolCall(str(n), "untidy", "") for n in range(3)], untidy, max_concurrency=1, timeout_seconds=1)
    assert peak == 1
    assert times(seen) == [
        (0, "T0"),
        (0, "T1"),
        (1, "R0:unknown"),
        (3, "T2"),
        (4, "R1:unknown"),
        (7, "R2:unknown"),
    ]


def test_a_source_that_cannot_pause_is_held_to_the_number_of_calls() -> None:
    work, hot = Work(), Subject[Event]()

    async def main() -> None:
        events = hot.pipe(ops.run_tools([work.tool()], 1, limits=rxs.Limits(max_tool_calls=3)))
        seen = asyncio.ensure_future(watch(events))
        await asyncio.sleep(0)
        for n in range(4):
            hot.on_next(call(str(n)))
        await asyncio.sleep(0.5)
        assert work.began == []  # nobody had pulled the first call when the fourth was too many
        got = await seen
        assert isinstance(got.error, rxs.LimitError)
        assert got.error.setting == "max_tool_calls"
        assert order(got)[:4] == ["T0", "T1", "T2", "T3"]

    run_virtual(main())


def test_other_sources_of_the_same_demand_get_their_turn() -> None:
    async def main() -> list[str]:
        endless = [source_of(*[text(name)] * 200).pipe(ops.run_tools([Work().tool()])) for name in "ab"]
        seen = [short(event) async for event in rxs.iterate(rx.merge(*endless).pipe(rx_ops.take(100)))]
        return seen

    seen = run_virtual(main())
    assert 40 <= seen.count("a") <= 60


def test_other_sources_get_their_turn_also_while_nothing_closes_the_gate() -> None:
    async def main() -> list[str]:
        with_tools = source_of(*[text("a")] * 60).pipe(ops.run_tools([]))
        together = rx.merge(with_tools, source_of(*[text("b")] * 60)).pipe(ops.bounded_buffer(1000))
        return [short(event) async for event in rxs.iterate(together)]

    seen = run_virtual(main())
    assert 20 <= seen[:60].count("a") <= 40


def test_a_chunk_of_many_events_stops_where_demand_does() -> None:
    chunk = b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n' * 400
    limits = rxs.Limits(max_unapplied_events=1)

    async def main() -> int:
        end = chunk[: len(chunk) // 400].replace(b"null", b'"stop"') + b"data: [DONE]\n\n"
        events = rxs.from_chunks([chunk, end]).pipe(ops.parse("openai-chat"), ops.run_tools([]))
        return sum([isinstance(event, TextDelta) async for event in rxs.iterate(events, limits=limits)])

    assert run_virtual(main()) == 401


def test_a_source_shared_by_rx_runs_on_when_the_first_subscriber_has_left() -> None:
    async def main() -> list[str]:
        shared = source_of(*[text(str(n)) for n in range(5)]).pipe(rx_ops.share())
        first = rxs.iterate(shared.pipe(ops.run_tools([])))
        second = rxs.iterate(shared)
        assert short(await anext(first)) == "0"
        first.dispose()
        return [short(event) async for event in second]

    assert run_virtual(main()) == ["0", "1", "2", "3", "4"]


def test_more_calls_than_the_limit_end_the_stream_with_its_name() -> None:
    work = Work()

    async def main() -> Seen:
        source = rxs.from_aiter(at((0, call("1")), (0, call("2")), (0.5, call("3"))))
        return await watch(source.pipe(ops.run_tools([work.tool()], limits=rxs.Limits(max_tool_calls=2))))

    seen = run_virtual(main())
    assert order(seen) == ["T1", "T2", "T3", "R1:unknown", "R2:unknown"]
    assert isinstance(seen.error, rxs.LimitError)
    assert (seen.error.setting, seen.error.limit, seen.error.value) == ("max_tool_calls", 2, 3)
    assert work.cancelled == ["1", "2"]


# What runs, and what comes of it -------------------------------------------------------------------------------------


def test_a_call_that_is_not_complete_never_runs() -> None:
    work = Work()
    invalid = ToolCallInvalid("1", "work", '{"seconds":', "cut off")
    assert order(see([invalid, FINISH], work.tool())) == ["tool_call_invalid", "finish"]
    assert work.began == []


def test_a_call_that_a_proxy_repeats_runs_once_and_one_of_another_message_again() -> None:
    work = Work()
    again = [START, call("1"), START, call("1"), FINISH, START, call("1"), FINISH, ResponseStart("r-2"), call("1")]
    assert [one for one in order(see(again, work.tool())) if one == "R1"] == ["R1"] * 3
    assert work.began == ["1"] * 3


@pytest.mark.parametrize(("second_id", "runs"), [("r-1", 1), ("r-2", 2)])
def test_a_call_that_a_retry_brings_again_runs_again_only_in_another_answer(second_id: str, runs: int) -> None:
    """Rx's retry says the text twice; the effect, which nobody could take back, there is once for one answer."""
    work = Work()
    attempts = iter(
        [
            rx.concat(
                source_of(START, call("1", 0.5)),
                rx.timer(1).pipe(rx_ops.ignore_elements()),
                rx.throw(ValueError("cut")),
            ),
            source_of(ResponseStart(second_id), call("1", 0.5), FINISH),
        ]
    )

    async def main() -> Seen:
        return await watch(rx.defer(lambda _: next(attempts)).pipe(rx_ops.retry(2), ops.run_tools([work.tool()])))

    seen = run_virtual(main())
    assert seen.error is None
    assert (work.began, order(seen).count("R1"), order(seen).count("T1")) == (["1"] * runs, runs, 2)


def broken(seconds: float) -> None:
    raise ValueError("postgres://user:hunter2@host")


def picky(seconds: float) -> None:
    raise rxs.ToolError("no such thing; the key was sk-abcdefghijklmnop")


def odd(seconds: float) -> object:
    return object()


@pytest.mark.parametrize(
    ("function", "arguments", "said"),
    [
        (broken, '{"seconds":1}', "the tool 'broken' failed (ValueError)"),
        (picky, '{"seconds":1}', "no such thing; the key was [redacted]"),
        (odd, '{"seconds":1}', "the tool 'odd' ran, and its result has no JSON form (object)"),
        (broken, '{"seconds":"x"}', "the arguments do not fit: seconds: Input should be a valid number"),
        (broken, "[1]", "the arguments must be one JSON object"),
    ],
)
def test_what_fails_is_an_error_for_the_model_without_what_is_secret(function: Any, arguments: str, said: str) -> None:
    seen = see([ToolCall("1", function.__name__, arguments)], function)
    result = results(seen)["1"]
    assert (result.outcome, result.name) == ("error", function.__name__)
    assert str(result.output).startswith(said)
    assert seen.error is None


def test_an_unknown_tool_is_an_error_for_the_model() -> None:
    result = results(see([call("1", name="nope")], Work().tool()))["1"]
    assert (result.outcome, result.output) == ("error", "there is no tool named 'nope'")


def test_the_exception_itself_is_found_in_the_diagnostics_by_the_call() -> None:
    kept = rxs.Diagnostics()
    see([ToolCall("call_7", "broken", '{"seconds":1}')], broken, diagnostics=kept)
    (record,) = kept.records()
    assert "call_7" in record.error
    assert "hunter2" not in record.error
    assert record.detail is not None
    assert "ValueError" in record.detail


def test_the_application_may_say_what_the_model_reads() -> None:
    seen = see(
        [ToolCall("1", "broken", '{"seconds":1}')], broken, describe_error=lambda error: f"try later: {len(error.args)}"
    )
    assert results(seen)["1"].output == "try later: 1"


def test_a_describe_error_that_fails_leaves_the_exceptions_name() -> None:
    def describe(error: Exception) -> str:
        raise RuntimeError

    async def main() -> Seen:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        source = source_of(ToolCall("1", "broken", '{"seconds":1}'))
        return await watch(source.pipe(ops.run_tools([broken], describe_error=describe)))

    assert results(run_virtual(main()))["1"].output == "the tool 'broken' failed (ValueError)"


def test_free_text_reaches_a_tool_of_one_parameter() -> None:
    def shell(line: str) -> str:
        return line

    seen = see([ToolCall("1", "shell", "ls {", kind="custom")], shell)
    assert results(seen)["1"].output == "ls {"


def test_outputs_become_json() -> None:
    def give(what: str) -> Any:
        return {"nan": float("nan"), "bytes": b"\xff", "set": [*{1}], "none": None}[what]

    seen = see([ToolCall(what, "give", f'{{"what":"{what}"}}') for what in ("nan", "bytes", "none")], give)
    assert [result.output for result in results(seen).values()] == [None, "_w==", None]


# The context ---------------------------------------------------------------------------------------------------------


def test_keys_are_the_same_for_the_same_call_and_differ_between_calls() -> None:
    def keys(source: list[Any], **settings: Any) -> list[str]:
        work = Work()
        see(source, work.tool(), **settings)
        return [context.idempotency_key for context in work.contexts.values()]

    first = keys([START, call("1"), call("2")])
    assert len(set(first)) == 2
    assert all(len(key) == 32 for key in first)
    assert keys([START, call("1"), call("2")]) == first
    assert keys([START, call("1"), call("2")], key_scope="other") != first
    assert keys([call("1")]) != keys([call("1")])  # no response id: nothing says that it is the same answer


def test_two_messages_that_count_their_calls_from_zero_have_keys_of_their_own() -> None:
    keys: list[str] = []

    def note(context: rxs.ToolContext) -> None:
        keys.append(context.idempotency_key)

    same = ToolCall("call_0", "note", "")
    see([START, same, FINISH, START, same, FINISH], note)
    assert len(set(keys)) == 2


def test_a_tool_is_told_its_deadline() -> None:
    work = Work()
    see([call("1"), call("2")], work.tool(timeout_seconds=7), timeout_seconds=3)
    assert [context.deadline for context in work.contexts.values()] == [7, 7]
    see([call("1")], work.tool(), timeout_seconds=3)
    assert work.contexts["1"].deadline == 3


def test_tools_run_in_the_subscribers_context() -> None:
    user: ContextVar[str] = ContextVar("user", default="nobody")

    async def whoami() -> str:
        return user.get()

    async def main() -> Seen:
        events = source_of(ToolCall("1", "whoami", "")).pipe(ops.run_tools([whoami]))
        user.set("ada")
        return await watch(events)

    assert results(run_virtual(main()))["1"].output == "ada"


# Composition ---------------------------------------------------------------------------------------------------------


def pipelines() -> dict[str, Any]:
    return {
        "alone": ops.run_tools([Work().tool()]),
        "batch, buffer": rx.compose(ops.run_tools([Work().tool()]), ops.batch_text(), ops.bounded_buffer(2)),
        "buffer above": rx.compose(ops.bounded_buffer(2), ops.run_tools([Work().tool()], 1)),
        "between Rx": rx.compose(
            rx_ops.map(lambda event: event), ops.run_tools([Work().tool()], 1), rx_ops.filter(lambda _: True)
        ),
    }


@pytest.mark.parametrize("name", list(pipelines()))
@pytest.mark.parametrize("hold", [0.0, 0.3, 5.0])
def test_every_call_has_its_result_whatever_stands_around(name: str, hold: float) -> None:
    source: list[Event] = [START, text("a"), *(call(str(n), n % 3) for n in range(6)), text("b"), FINISH]

    async def main() -> Seen:
        return await watch(source_of(*source).pipe(pipelines()[name]), holds=dict.fromkeys(range(20), hold))

    seen = run_virtual(main())
    assert [one for one in order(seen) if one[0] != "R"] == [short(event) for event in source]
    assert [one for one in order(seen) if one[0] == "R"] == [f"R{n}" for n in range(6)]
    assert seen.error is None


def test_a_response_downstream_has_calls_and_results() -> None:
    async def main() -> rxs.Response:
        source = source_of(START, call("1"), FINISH)
        return await rxs.collect(source.pipe(ops.run_tools([Work().tool()])))

    response = run_virtual(main())
    assert (response.outcome, response.failed_checks) == ("completed", [])
    assert response.tool_results == [ToolResult("1", "work", "1 done")]
    assert response.report is not None
    assert response.report.answered_calls == ["1"]


def test_two_subscribers_run_their_own_tools() -> None:
    work = Work()

    async def main() -> list[list[str]]:
        events = source_of(call("1"), FINISH).pipe(ops.run_tools([work.tool()]))
        return [order(seen) for seen in await asyncio.gather(watch(events), watch(events))]

    assert run_virtual(main()) == [["T1", "finish", "R1"]] * 2
    assert work.began == ["1", "1"]


def test_plain_rx_gets_results_too() -> None:
    async def main() -> list[str]:
        signals: list[str] = []
        done = asyncio.Event()
        both: list[Event] = [call("1"), FINISH]
        rx.of(*both).pipe(ops.run_tools([Work().tool()])).subscribe(
            lambda event: signals.append(short(event)), on_completed=done.set
        )
        assert signals == []
        await done.wait()
        return signals

    assert run_virtual(main()) == ["T1", "finish", "R1"]


def test_arguments_are_checked_at_assembly() -> None:
    for wrong in ({"max_concurrency": 0}, {"timeout_seconds": 0}, {"timeout_seconds": -1}):
        with pytest.raises(ValueError):
            ops.run_tools([], **wrong)  # type: ignore[arg-type]  # one of several
    with pytest.raises(TypeError):
        ops.run_tools([rxs.Tool(name="x")])  # type: ignore[list-item]  # that is the point
