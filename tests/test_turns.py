"""The agent's loop: what is asked in each turn, what comes out, and when it ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from reactivex import Observable

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import (
    Cancelled,
    Event,
    Finish,
    MediaDelta,
    ProviderEvent,
    ResponseStart,
    TextDelta,
    ToolCall,
    ToolCallInvalid,
    Usage,
    UsageUpdate,
    Violation,
)
from rxstream.requests import Message, ModelRequest, NamedTool, ToolCallContent, ToolResultContent
from rxstream.testing import (
    Reply,
    ScriptedProvider,
    Stall,
    answer,
    assert_no_leaks,
    error_reply,
    run,
    run_virtual,
)
from tests.operators.timed import Seen, at, now, watch
from tests.operators.tool_kit import Work, call, order

Turn = Sequence[Event | Exception]

ASK = ModelRequest.of("Weather?", model="m")


def turn(number: int, *said: Event, finish: str = "stop", usage: Usage | None = None) -> list[Event]:
    counts = [] if usage is None else [UsageUpdate(usage)]
    return [ResponseStart(f"r-{number}"), *said, *counts, Finish(finish)]  # type: ignore[arg-type]  # of the vocabulary


def calling(number: int, *calls: Event, usage: Usage | None = None) -> list[Event]:
    return turn(number, *calls, finish="tool_calls", usage=usage)


@dataclass
class Model:
    """Answers each request with the next turn, and remembers what it was asked."""

    turns: Sequence[Turn]
    asked: list[ModelRequest] = field(default_factory=list)
    provider: str = "scripted"

    def stream(self, request: ModelRequest) -> Observable[Event]:
        self.asked.append(request)
        return rxs.from_aiter(_play(self.turns[len(self.asked) - 1]))


async def _play(said: Turn) -> AsyncIterator[Event]:
    for event in said:
        if isinstance(event, Exception):
            raise event
        yield event


def marks(seen: Seen) -> list[Any]:
    return [event.data for _, event in seen.items if isinstance(event, ProviderEvent)]


def see(model: Model, *tools: Any, holds: dict[int, float] | None = None, **settings: Any) -> Seen:
    async def main() -> Seen:
        return await watch(rxs.run_turns(model, ASK, tools, **settings), holds=holds)

    return run_virtual(main())


def collected(model: Model, *tools: Any, **settings: Any) -> rxs.TurnsResult:
    async def main() -> rxs.TurnsResult:
        return await rxs.collect_turns(rxs.run_turns(model, ASK, tools, **settings))

    return run_virtual(main())


TWO_TURNS = (
    calling(1, TextDelta("hm"), call("1"), call("2"), usage=Usage(10, 5, 15)),
    turn(2, TextDelta("cold"), usage=Usage(30, 7, 37, reasoning_tokens=2)),
)


# What comes out ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hold", [0.0, 0.4, 7.0])
def test_all_turns_are_one_stream_in_order(hold: float) -> None:
    seen = see(Model(TWO_TURNS), Work().tool(), holds=dict.fromkeys(range(20), hold))
    marks_and_all = order(seen)
    assert [one for one in marks_and_all if one[0] != "R"] == [
        "response_start",
        "hm",
        "T1",
        "T2",
        "usage_update",
        "finish",
        "provider_event",
        "response_start",
        "cold",
        "usage_update",
        "finish",
        "provider_event",
        "provider_event",
    ]
    assert [one for one in marks_and_all[: marks_and_all.index("provider_event")] if one[0] == "R"] == ["R1", "R2"]
    assert seen.error is None


def test_usage_is_told_for_each_turn_and_as_a_sum_in_which_unknown_is_not_zero() -> None:
    first, second, both = marks(see(Model(TWO_TURNS), Work().tool()))
    assert (first["turn"], first["calls"], first["finish_reason"], first["outcome"]) == (
        1,
        2,
        "tool_calls",
        "completed",
    )
    assert (first["usage"]["total_tokens"], second["usage"]["total_tokens"]) == (15, 37)
    assert (both["turns"], both["stopped"]) == (2, "answered")
    assert (both["usage"]["input_tokens"], both["usage"]["total_tokens"]) == (40, 52)
    assert both["usage"]["reasoning_tokens"] is None


def test_a_response_of_the_whole_stream_is_consistent_and_has_the_last_turns_usage() -> None:
    async def main() -> rxs.Response:
        return await rxs.collect(rxs.run_turns(Model(TWO_TURNS), ASK, [Work().tool()]))

    response = run_virtual(main())
    assert (response.outcome, response.failed_checks, response.violations) == ("completed", [], [])
    assert (response.text, response.usage.total_tokens) == ("hmcold", 37)


def test_a_turn_whose_wire_sends_no_start_gets_one() -> None:
    seen = see(Model([[TextDelta("a"), Finish("stop")]]))
    assert order(seen)[:3] == ["response_start", "a", "finish"]
    assert seen.items[0][1] == ResponseStart(provider="scripted")


# What is asked -------------------------------------------------------------------------------------------------------


def test_the_next_request_holds_the_answer_and_its_results() -> None:
    def broken(seconds: float) -> None:
        raise ValueError

    model = Model((calling(1, TextDelta("hm"), call("1"), call("2", name="broken")), turn(2, TextDelta("ok"))))
    see(model, Work().tool(), broken)
    question, said, results = model.asked[1].messages
    assert question == ASK.messages[0]
    assert [part.type for part in said.parts] == ["text", "tool_call", "tool_call"]
    assert [part.call_id for part in said.parts if isinstance(part, ToolCallContent)] == ["1", "2"]
    assert results == Message(
        role="tool",
        content=[
            ToolResultContent(call_id="1", content="1 done", name="work"),
            ToolResultContent(
                call_id="2", content="the tool 'broken' failed (ValueError)", name="broken", is_error=True
            ),
        ],
    )


def test_tools_are_told_to_the_model_and_the_requests_own_description_is_kept() -> None:
    own = rxs.Tool(name="work", description="mine")
    model = Model([turn(1)])

    def other() -> None: ...

    async def main() -> None:
        request = ModelRequest.of("?", tools=[own])
        await watch(rxs.run_turns(model, request, [Work().tool(), other]))

    run_virtual(main())
    assert [(tool.name, tool.description) for tool in model.asked[0].tools] == [("work", "mine"), ("other", None)]


@pytest.mark.parametrize("choice", ["required", NamedTool(name="work"), "auto"])
def test_a_call_that_was_asked_for_is_asked_for_once(choice: Any) -> None:
    model = Model(TWO_TURNS)

    async def main() -> None:
        request = ModelRequest.of("?", tools=[Work().tool()], tool_choice=choice)
        await watch(rxs.run_turns(model, request, [Work().tool()]))

    run_virtual(main())
    assert [asked.tool_choice for asked in model.asked] == [choice, "auto" if choice == "auto" else None]


def test_each_subscription_asks_anew() -> None:
    model = Model((*TWO_TURNS, *TWO_TURNS))

    async def main() -> list[list[str]]:
        events = rxs.run_turns(model, ASK, [Work().tool()])
        return [order(await watch(events)) for _ in "ab"]

    first, second = run_virtual(main())
    assert first == second
    assert [len(asked.messages) for asked in model.asked] == [1, 3, 1, 3]


def test_the_same_call_in_two_turns_has_two_keys_even_from_a_server_that_repeats_its_ids() -> None:
    keys: list[str] = []

    def note(context: rxs.ToolContext) -> None:
        keys.append(context.idempotency_key)

    same: Turn = [ResponseStart("same"), ToolCall("call_0", "note", ""), Finish("tool_calls")]
    see(Model((same, same, turn(3))), note)
    assert len(set(keys)) == 2


# When it ends --------------------------------------------------------------------------------------------------------


def test_at_max_turns_the_calls_are_run_and_no_answer_is_completed() -> None:
    work, model = Work(), Model([calling(n, call("1")) for n in range(9)])
    seen = see(model, work.tool(), max_turns=2)
    assert len(model.asked) == 2
    assert work.ended == ["1", "1"]
    assert marks(seen)[-1]["stopped"] == "max_turns"
    assert [event.code for _, event in seen.items if isinstance(event, Violation)] == ["max_turns"]
    assert seen.error is None

    result = collected(Model([calling(n, call("1")) for n in range(9)]), Work().tool(), max_turns=2)
    assert ([one.outcome for one in result.turns], result.stopped) == (["completed", "incomplete"], "max_turns")

    async def main() -> rxs.Response:
        return await rxs.collect(rxs.run_turns(Model([calling(1, call("1"))]), ASK, [Work().tool()], max_turns=1))

    assert run_virtual(main()).outcome == "incomplete"


@pytest.mark.parametrize(
    ("said", "stopped", "outcome"),
    [
        (turn(1, TextDelta("a"), finish="length"), "incomplete", "incomplete"),
        (turn(1, call("1"), finish="length"), "incomplete", "incomplete"),
        (turn(1, finish="error"), "failed", "failed"),
        (calling(1, call("1"), ToolCallInvalid("2", "work", '{"a', "cut")), "unanswered_call", "incomplete"),
        (turn(1, call("1"), finish="stop"), "answered", "completed"),
    ],
)
def test_a_turn_that_cannot_be_followed_ends_the_loop(said: list[Event], stopped: str, outcome: str) -> None:
    model = Model((said, turn(2, TextDelta("b"))))
    result = collected(model, Work().tool())
    assert (result.stopped, result.outcome) == (stopped, outcome)
    assert len(model.asked) == len(result.turns) == (2 if stopped == "answered" else 1)


def test_an_error_ends_the_loop_after_all_that_came_before() -> None:
    failing: Turn = [ResponseStart("r-2"), TextDelta("b"), rxs.TransportError("gone")]
    seen = see(Model((calling(1, call("1")), failing)), Work().tool())
    assert order(seen) == [
        "response_start",
        "T1",
        "finish",
        "R1",
        "provider_event",
        "response_start",
        "b",
        "provider_event",
        "provider_event",
    ]
    assert isinstance(seen.error, rxs.TransportError)
    assert [mark.get("outcome", mark.get("stopped")) for mark in marks(seen)] == ["completed", "failed", "failed"]

    result = collected(Model((calling(1, call("1")), failing)), Work().tool())
    assert ([one.outcome for one in result.turns], result.stopped) == (["completed", "failed"], "failed")
    assert isinstance(result.error, rxs.TransportError)
    with pytest.raises(rxs.TransportError):
        result.raise_for_outcome()


def test_a_request_that_cannot_be_made_fails_behind_what_waits() -> None:
    class Refusing(Model):
        def stream(self, request: ModelRequest) -> Observable[Event]:
            if self.asked:
                raise rxs.RequestError("no way to say this")
            return super().stream(request)

    seen = see(Refusing([calling(1, call("1"))]), Work().tool(), holds={4: 5})
    assert order(seen)[:5] == ["response_start", "T1", "finish", "R1", "provider_event"]
    assert isinstance(seen.error, rxs.RequestError)


def test_an_answer_too_long_is_a_limit_by_name() -> None:
    seen = see(Model([turn(1, TextDelta("a" * 100))]), limits=rxs.Limits(max_text_bytes=50))
    assert isinstance(seen.error, rxs.LimitError)
    assert seen.error.setting == "max_text_bytes"


def test_disposed_between_two_turns_the_model_is_not_asked_again() -> None:
    model = Model(TWO_TURNS)

    async def main() -> None:
        loop = asyncio.get_running_loop()

        def on_next(event: Event) -> None:
            if isinstance(event, ProviderEvent):
                loop.call_soon(subscription.dispose)

        subscription = rxs.run_turns(model, ASK, [Work().tool()]).subscribe(on_next)
        await asyncio.sleep(10)

    run_virtual(main())
    assert len(model.asked) == 1


def test_a_sink_is_told_that_the_model_was_not_asked_again() -> None:
    class Quiet:
        async def on_event(self, event: Event) -> None: ...

        async def on_end(self, end: rxs.StreamEnd) -> None: ...

    async def main() -> rxs.StreamEnd:
        model = Model([calling(1, call("1"))])
        return await rxs.subscribe(rxs.run_turns(model, ASK, [Work().tool()], max_turns=1), Quiet()).result()

    assert run_virtual(main()).outcome == "incomplete"


def test_audio_which_no_request_has_a_place_for_ends_the_loop_with_an_error() -> None:
    seen = see(Model([calling(1, MediaDelta("audio/mp3", "AAAA"), call("1"))]), Work().tool())
    assert order(seen)[-3:] == ["R1", "provider_event", "provider_event"]
    assert isinstance(seen.error, rxs.RequestError)


@dataclass
class Slow(Model):
    """Says each thing at its second."""

    def stream(self, request: ModelRequest) -> Observable[Event]:
        self.asked.append(request)
        events = [event for event in self.turns[len(self.asked) - 1] if not isinstance(event, Exception)]
        return rxs.from_aiter(at(*[(now() + n + 1, event) for n, event in enumerate(events)]))


@pytest.mark.parametrize("when", [0.0, 0.5, 1.5, 2.5, 3.0, 4.5, 5.5, 7.5, 9.5])
@pytest.mark.parametrize("way", ["cancel", "dispose"])
def test_stopped_at_any_time_nothing_is_left(way: str, when: float) -> None:
    work, stop = Work(), rxs.Cancellation()

    async def main() -> list[Event]:
        model = Slow((calling(1, call("1", 3)), turn(2, TextDelta("a"))))
        stream = rxs.iterate(rxs.run_turns(model, ASK, [work.tool()], cancellation=stop))
        leave: Callable[[], object] = stop.cancel if way == "cancel" else stream.dispose
        timer = asyncio.get_running_loop().call_later(when, leave)
        events = [event async for event in stream]
        await stream.closed()
        timer.cancel()
        return events

    events = run_virtual(main())
    assert (work.running, stop.callbacks) == (0, 0)
    if way == "cancel" and when < 9:
        assert events[-1] == Cancelled("user_stop")
        assert sum(isinstance(event, Cancelled) for event in events) == 1


def test_cancelled_turns_are_collected_as_cancelled() -> None:
    stop = rxs.Cancellation()

    async def main() -> rxs.TurnsResult:
        asyncio.get_running_loop().call_later(4, stop.cancel, "deadline")
        model = Model((calling(1, call("1", 3)), calling(2, call("2", 3))))
        return await rxs.collect_turns(rxs.run_turns(model, ASK, [Work().tool()], cancellation=stop))

    result = run_virtual(main())
    assert [one.outcome for one in result.turns] == ["completed", "cancelled"]
    assert (result.last.cancel_cause, result.stopped) == ("deadline", None)


def test_all_turns_as_messages_continue_the_conversation() -> None:
    result = collected(Model(TWO_TURNS), Work().tool())
    assert [message.role for message in result.to_messages()] == ["assistant", "tool", "assistant"]
    assert (result.text, result.usage.total_tokens) == ("cold", 52)


def test_arguments_are_checked_at_the_call() -> None:
    with pytest.raises(ValueError):
        rxs.run_turns(Model([]), ASK, [], max_turns=0)
    with pytest.raises(ValueError):
        rxs.run_turns(Model([]), ASK, [], max_concurrency=0)
    with pytest.raises(TypeError, match="ModelRequest"):
        rxs.run_turns(Model([]), {"model": "m"}, [])  # type: ignore[arg-type]  # that is the point


# Over HTTP -----------------------------------------------------------------------------------------------------------

CALLS = [ToolCall("call_1", "add", '{"a":2,"b":3}'), ToolCall("call_2", "add", '{"a":"x"}')]


def add(a: int, b: int = 0) -> int:
    """Add two numbers."""
    return a + b


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "ollama", "gemini", "openai-responses", "cohere-v2"])
def test_a_loop_over_a_wire(wire: str) -> None:
    script = [answer("Let me add.", wire=wire, tool_calls=CALLS), answer("It is 5.", wire=wire)]

    async def main() -> tuple[rxs.TurnsResult, list[Any]]:
        async with assert_no_leaks(), ScriptedProvider(script) as provider, httpx.AsyncClient() as client:
            endpoint = rxs.connect(wire, base_url=provider.base_url, client=client, environ={})
            turns = rxs.run_turns(endpoint, ASK, [add]).pipe(ops.batch_text(), ops.bounded_buffer())
            result = await rxs.collect_turns(turns)
            return result, [json.loads(request.body) for request in provider.requests]

    result, bodies = run(main())
    assert (result.stopped, result.text, len(bodies)) == ("answered", "It is 5.", 2)
    assert [one.outcome for one in result.turns[0].tool_results] == ["ok", "error"]
    assert "5" in json.dumps(bodies[1])
    assert "add" in json.dumps(bodies[0]["tools"])


def test_a_provider_that_fails_in_the_second_turn_is_an_error() -> None:
    async def main() -> rxs.TurnsResult:
        script = [answer(tool_calls=CALLS), error_reply(503)]
        async with assert_no_leaks(), ScriptedProvider(script) as provider, httpx.AsyncClient() as client:
            endpoint = rxs.connect("openai-chat", base_url=provider.base_url, client=client, environ={})
            return await rxs.collect_turns(rxs.run_turns(endpoint, ASK, [add]))

    result = run(main())
    assert [one.outcome for one in result.turns] == ["completed", "failed"]
    assert isinstance(result.error, rxs.StreamError)


def test_a_cancellation_closes_the_response_and_the_tool() -> None:
    ends_never = Reply(
        [*answer(wire="anthropic", tool_calls=[ToolCall("1", "wait", "{}")]).steps[:-2], Stall()],
        content_type="text/event-stream",
    )

    async def main() -> list[str]:
        stop, waiting, ended = rxs.Cancellation(), asyncio.Event(), asyncio.Event()

        async def wait() -> None:
            waiting.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        async with assert_no_leaks(), ScriptedProvider(ends_never) as provider, httpx.AsyncClient() as client:
            endpoint = rxs.connect("anthropic", base_url=provider.base_url, client=client, environ={})
            kinds: list[str] = []
            async with rxs.iterate(rxs.run_turns(endpoint, ASK, [wait], cancellation=stop)) as stream:
                async for event in stream:
                    kinds.append(event.type)
                    if event.type == "tool_call":
                        await waiting.wait()
                        stop.cancel("client_disconnect")
            await provider.requests[0].disconnected.wait()
            assert ended.is_set()
            return kinds

    assert run(main())[-3:] == ["tool_call", "tool_result", "cancelled"]
