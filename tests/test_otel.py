"""What OpenTelemetry is told of a stream: one span a subscription, whatever its end, and the values of its metrics."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import subprocess
import sys
from typing import Any

import pytest
import reactivex as rx
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.trace import SpanKind, StatusCode
from reactivex import Observable, abc
from reactivex import operators as rx_ops
from reactivex.subject import Subject

import rxstream as rxs
from rxstream import operators as ops
from rxstream import otel
from rxstream.events import (
    Cancelled,
    Event,
    Finish,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCall,
    ToolCallStart,
    Usage,
    UsageUpdate,
)
from rxstream.testing import Answer, openai_chat_sse, settle
from rxstream.testing.virtual_time import run_virtual
from tests.operators.timed import at
from tests.telemetry import Telemetry

DURATION = "gen_ai.client.operation.duration"
FIRST_CHUNK = "gen_ai.client.operation.time_to_first_chunk"
PER_CHUNK = "gen_ai.client.operation.time_per_output_chunk"
TOKENS = "gen_ai.client.token.usage"
PAUSED = "rxstream.client.paused.duration"

USAGE = Usage(
    input_tokens=7, output_tokens=0, cached_input_tokens=3, cache_write_tokens=2, reasoning_tokens=1, total_tokens=7
)
ANSWER: list[Event] = [
    ResponseStart("id-1", "gpt-4o-2024", "openai"),
    TextDelta("secret "),
    TextDelta("words"),
    UsageUpdate(USAGE),
    Finish("stop"),
]


def answer() -> Observable[Event]:
    return rxs.from_iterable(list(ANSWER))


def collected(telemetry: Telemetry, events: Observable[Event], **options: Any) -> rxs.Response:
    async def main() -> rxs.Response:
        return await rxs.collect(events.pipe(telemetry.observe(**options)))

    return run_virtual(main())


# What it says ------------------------------------------------------------------------------------------------------


def test_an_answer_is_one_client_span_by_the_conventions() -> None:
    telemetry = Telemetry()
    collected(telemetry, answer(), provider="openai", model="gpt-4o", attributes={"server.address": "api.openai.com"})
    assert (telemetry.span.name, telemetry.span.kind) == ("chat gpt-4o", SpanKind.CLIENT)
    assert telemetry.span.status.status_code is StatusCode.UNSET
    assert telemetry.facts == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.request.stream": True,
        "server.address": "api.openai.com",
        "gen_ai.response.id": "id-1",
        "gen_ai.response.model": "gpt-4o-2024",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.response.time_to_first_chunk": 0.0,
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 0,
        "gen_ai.usage.cache_read.input_tokens": 3,
        "gen_ai.usage.cache_write.input_tokens": 2,
        "gen_ai.usage.reasoning.output_tokens": 1,
        "rxstream.outcome": "completed",
        "rxstream.paused_seconds": 0.0,
    }


def test_a_span_without_a_model_is_named_by_its_operation() -> None:
    telemetry = Telemetry()
    collected(telemetry, answer(), operation="text_completion")
    assert telemetry.span.name == "text_completion"
    assert "gen_ai.request.model" not in telemetry.facts


def test_counts_that_nobody_told_are_not_told() -> None:
    telemetry = Telemetry()
    collected(telemetry, rxs.from_iterable([TextDelta("a"), UsageUpdate(Usage(output_tokens=4)), Finish("stop")]))
    assert [(point.attributes or {})["gen_ai.token.type"] for point in telemetry.points(TOKENS)] == ["output"]
    assert "gen_ai.usage.input_tokens" not in telemetry.facts


def test_tokens_are_measured_apart_and_the_last_count_holds() -> None:
    telemetry = Telemetry()
    counts: list[Event] = [UsageUpdate(Usage(input_tokens=5, output_tokens=1)), UsageUpdate(Usage(output_tokens=9))]
    collected(telemetry, rxs.from_iterable([TextDelta("a"), *counts, Finish("stop")]))
    kinds = {(point.attributes or {})["gen_ai.token.type"]: point.sum for point in telemetry.points(TOKENS)}
    assert kinds == {"input": 5, "output": 9}


def test_each_choice_has_its_finish_reason() -> None:
    telemetry = Telemetry()
    events: list[Event] = [TextDelta("a", choice=1), TextDelta("b"), Finish("length", choice=1), Finish("stop")]
    collected(telemetry, rxs.from_iterable(events))
    assert telemetry.facts["gen_ai.response.finish_reasons"] == ("stop", "length")


def test_text_of_another_choice_and_of_a_second_message_is_seen() -> None:
    telemetry = Telemetry()
    second_choice: list[Event] = [TextDelta("a"), TextDelta("b", choice=1), Finish("stop")]
    assert collected(telemetry, rxs.from_iterable(second_choice)).outcome == "indeterminate"
    second_message: list[Event] = [*ANSWER, ResponseStart("id-2"), TextDelta("more")]
    assert collected(telemetry, rxs.from_iterable(second_message)).outcome == "indeterminate"
    outcomes = [dict(span.attributes or {})["rxstream.outcome"] for span in telemetry.spans]
    assert outcomes == ["indeterminate", "indeterminate"]


def test_an_empty_piece_does_not_hide_the_text_behind_it() -> None:
    telemetry = Telemetry()
    collected(telemetry, rxs.from_iterable([TextDelta(""), TextDelta("a")]))
    assert telemetry.facts["rxstream.outcome"] == "indeterminate"
    assert telemetry.span.status.description == "the stream ended without a finish of choice 0"


def test_names_can_be_changed() -> None:
    telemetry = Telemetry()
    names = dataclasses.replace(otel.NAMES, duration="gen_ai.client.inference.duration", outcome="our.outcome")
    collected(telemetry, answer(), names=names)
    assert telemetry.facts["our.outcome"] == "completed"
    assert telemetry.values("gen_ai.client.inference.duration") == [(1, 0.0)]
    assert telemetry.points(DURATION) == []


# Every end, once -----------------------------------------------------------------------------------------------------


def test_a_failure_of_the_provider_is_its_category() -> None:
    telemetry = Telemetry()
    error = rxs.ProviderError("the provider is busy", category="overloaded", phase="mid_stream", detail=b"secret")
    response = collected(telemetry, rxs.from_iterable(failing(error)))
    assert response.outcome == "failed"
    assert (telemetry.span.status.status_code, telemetry.span.status.description) == (
        StatusCode.ERROR,
        "the provider is busy",
    )
    facts = telemetry.facts
    assert (facts["error.type"], facts["rxstream.error.phase"]) == ("overloaded", "mid_stream")
    assert facts["rxstream.error.correlation_id"] == error.public.correlation_id
    assert facts["rxstream.outcome"] == "failed"
    assert "secret" not in telemetry.span.to_json()
    (point,) = telemetry.points(DURATION)
    assert dict(point.attributes or {})["error.type"] == "overloaded"


def failing(error: Exception) -> Any:
    yield TextDelta("a")
    raise error


def test_of_a_foreign_error_only_its_type_is_told() -> None:
    telemetry = Telemetry()
    collected(telemetry, rxs.from_iterable(failing(ValueError("https://user:secret@host"))))
    assert telemetry.facts["error.type"] == "ValueError"
    assert telemetry.span.status.status_code is StatusCode.ERROR
    assert "secret" not in telemetry.span.to_json()
    assert telemetry.span.events == ()


def test_an_answer_that_was_cut_is_incomplete_and_no_error() -> None:
    telemetry = Telemetry()
    collected(telemetry, rxs.from_iterable([TextDelta("a"), Finish("length")]))
    assert telemetry.facts["rxstream.outcome"] == "incomplete"
    assert telemetry.span.status.status_code is StatusCode.UNSET


def test_bytes_that_end_too_early_are_indeterminate() -> None:
    telemetry = Telemetry()
    body = b"".join(openai_chat_sse(Answer(text=["one", "two"]))).replace(b"data: [DONE]\n\n", b"")
    cut = body[: body.rindex(b"data: ")]
    collected(telemetry, rxs.from_chunks([cut]).pipe(ops.parse("openai-chat")))
    assert telemetry.facts["rxstream.outcome"] == "indeterminate"
    assert telemetry.facts["error.type"] == "truncated"


def test_a_cancellation_is_no_error_and_says_who() -> None:
    telemetry = Telemetry()
    response = collected(telemetry, rxs.from_iterable([TextDelta("a"), Cancelled("deadline"), TextDelta("b")]))
    assert response.outcome == "cancelled"
    assert telemetry.facts["rxstream.outcome"] == "cancelled"
    assert telemetry.facts["rxstream.cancel.cause"] == "deadline"
    assert telemetry.span.status.status_code is StatusCode.UNSET


def test_a_dispose_in_the_middle_ends_the_span_and_its_source() -> None:
    telemetry = Telemetry()
    subject: Subject[Event] = Subject()

    async def main() -> None:
        async with rxs.iterate(subject.pipe(telemetry.observe())) as stream:
            pull = asyncio.ensure_future(anext(stream))
            await settle()
            subject.on_next(TextDelta("a"))
            assert await pull == TextDelta("a")
            assert telemetry.spans == ()

    run_virtual(main())
    assert telemetry.facts["rxstream.outcome"] == "cancelled"
    assert telemetry.facts["rxstream.cancel.cause"] == "disposed"
    assert telemetry.values(DURATION) == [(1, 0.0)]
    assert subject.observers == []
    subject.on_next(TextDelta("b"))
    subject.on_completed()
    assert len(telemetry.spans) == 1


@pytest.mark.parametrize(
    "below", [rx_ops.take(1), ops.bounded_buffer(), ops.to_response()], ids=["take", "buffer", "response"]
)
def test_whatever_stands_below_a_span_ends_once(below: Any) -> None:
    telemetry = Telemetry()

    async def main() -> None:
        async for _ in rxs.iterate(answer().pipe(telemetry.observe(), below)):
            pass

    run_virtual(main())
    assert len(telemetry.spans) == 1
    assert telemetry.values(DURATION) == [(1, 0.0)]


@pytest.mark.parametrize("is_linked", [True, False])
def test_what_a_consumer_raises_fails_the_span(is_linked: bool) -> None:
    telemetry = Telemetry()

    def throw(event: Event) -> Event:
        raise KeyError("a consumer's own")

    async def main() -> None:
        source = rxs.from_chunks(openai_chat_sse(Answer(text=["a"]))).pipe(ops.parse("openai-chat"))
        above: Observable[Event] = source if is_linked else source.pipe(rx_ops.map(lambda event: event))
        events = above.pipe(telemetry.observe(), rx_ops.map(throw))
        events.subscribe(on_next=lambda event: None, on_error=errors.append)
        await settle()

    errors: list[Exception] = []
    run_virtual(main())
    assert [type(error) for error in errors] == [KeyError]
    assert len(telemetry.spans) == 1


def test_a_subscribe_that_fails_ends_the_span() -> None:
    telemetry = Telemetry()

    def subscribe(observer: abc.ObserverBase[Event], scheduler: Any = None) -> abc.DisposableBase:
        raise OSError("no such place")

    response = collected(telemetry, Observable(subscribe))
    assert response.outcome == "failed"
    assert telemetry.facts["error.type"] == "OSError"


def test_a_stream_that_is_dropped_ends_its_span_as_abandoned() -> None:
    telemetry = Telemetry()

    async def main() -> None:
        subject: Subject[Event] = Subject()
        subject.pipe(telemetry.observe()).subscribe(lambda event: None)
        subject.on_next(TextDelta("a"))

    run_virtual(main())
    gc.collect()
    assert telemetry.facts["rxstream.outcome"] == "cancelled"
    assert telemetry.facts["rxstream.cancel.cause"] == "abandoned"


def test_a_loop_over_a_stream_that_is_left_ends_its_span() -> None:
    telemetry = Telemetry()

    async def main() -> None:
        async for _ in rxs.iterate(answer().pipe(telemetry.observe(), ops.bounded_buffer(1))):
            break
        await settle()

    run_virtual(main())
    assert telemetry.facts["rxstream.outcome"] == "cancelled"


class Broken(SpanProcessor):
    """A processor that fails at the end of a span."""

    def on_end(self, span: ReadableSpan) -> None:
        raise RuntimeError("the processor is broken")


def test_a_span_processor_that_fails_does_not_end_the_stream() -> None:
    telemetry = Telemetry(Broken())
    told: list[Any] = []

    async def main() -> rxs.Response:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context["exception"]))
        return await rxs.collect(answer().pipe(telemetry.observe()))

    assert asyncio.run(main()).outcome == "completed"
    assert [str(error) for error in told] == ["the processor is broken"]


def test_each_attempt_has_a_span_of_its_own() -> None:
    telemetry = Telemetry()
    begun: list[int] = []

    def attempts() -> Any:
        begun.append(len(begun))
        if len(begun) == 1:
            raise rxs.TransportError("the connection was refused")
        yield from ANSWER

    async def main() -> rxs.Response:
        source: Observable[Event] = rx.defer(lambda _: rxs.from_iterable(attempts()))
        return await rxs.collect(source.pipe(telemetry.observe(), ops.retry_before_output()))

    assert run_virtual(main()).outcome == "completed"
    assert [dict(span.attributes or {})["rxstream.outcome"] for span in telemetry.spans] == ["failed", "completed"]


# Time ----------------------------------------------------------------------------------------------------------------


def timed() -> Observable[Event]:
    """The first piece after 2 s, the second 1 s later, the third another 3 s later; the end at 7 s."""
    start, finish = ResponseStart("id-1", "gpt"), Finish("stop")
    return rxs.from_aiter(
        at((0.5, start), (2, TextDelta("a")), (3, TextDelta("b")), (6, TextDelta("c")), (7, finish)),
    )


def test_times_are_measured_from_the_subscribe_to_the_end() -> None:
    telemetry = Telemetry()
    collected(telemetry, timed().pipe(ops.bounded_buffer()), model="m")
    assert telemetry.values(FIRST_CHUNK) == [(1, 2.0)]
    assert telemetry.values(PER_CHUNK) == [(1, 2.0)]
    assert telemetry.values(DURATION) == [(1, 7.0)]
    assert telemetry.facts["gen_ai.response.time_to_first_chunk"] == 2.0
    (point,) = telemetry.points(FIRST_CHUNK)
    assert dict(point.attributes or {}) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.response.model": "gpt",
    }
    assert list(point.explicit_bounds) == [0.01 * 2**step for step in range(14)]


def test_each_chunk_is_measured_where_that_is_asked_for() -> None:
    telemetry = Telemetry()
    collected(telemetry, timed(), each_chunk=True)
    (point,) = telemetry.points(PER_CHUNK)
    assert (point.count, point.sum, point.min, point.max) == (2, 4.0, 1.0, 3.0)


def test_what_one_chunk_of_bytes_brings_is_one_chunk() -> None:
    telemetry = Telemetry()
    body = openai_chat_sse(Answer(text=["a", "b", "c"]))
    events = rxs.from_aiter(at((1, b"".join(body[:3])), (4, b"".join(body[3:])))).pipe(ops.parse("openai-chat"))

    async def main() -> rxs.Response:
        return await rxs.collect(events.pipe(telemetry.observe(each_chunk=True), ops.bounded_buffer()))

    assert run_virtual(main()).text == "abc"
    assert telemetry.values(FIRST_CHUNK) == [(1, 1.0)]
    assert telemetry.values(PER_CHUNK) == [(1, 3.0)]


def test_an_answer_of_one_piece_has_no_time_between_two() -> None:
    telemetry = Telemetry()
    collected(telemetry, rxs.from_iterable([ResponseStart(), TextDelta("a"), Finish("stop")]))
    assert telemetry.points(PER_CHUNK) == []


def test_what_a_reader_sleeps_is_a_pause_and_no_slowness_of_the_provider() -> None:
    telemetry = Telemetry()
    stats = ops.BufferStats()

    async def main() -> None:
        texts: list[Event] = [TextDelta(str(number)) for number in range(4)]
        source = rxs.from_iterable([*texts, Finish("stop")])
        buffer = ops.bounded_buffer(2, low_water=0.5, stats=stats)
        async for _ in rxs.iterate(source.pipe(telemetry.observe(stats=stats), buffer)):
            await asyncio.sleep(10)

    run_virtual(main())
    assert telemetry.facts["rxstream.paused_seconds"] == telemetry.points(PAUSED)[0].sum == 30.0
    assert telemetry.values(PER_CHUNK) == [(1, 0.0)]
    assert telemetry.facts["rxstream.buffered_bytes"] == stats.peak_bytes == 137
    assert telemetry.facts["rxstream.dropped"] == 0


def test_what_a_policy_dropped_is_counted() -> None:
    telemetry = Telemetry()
    stats = ops.BufferStats()
    subject: Subject[Event] = Subject()

    async def main() -> None:
        buffer = ops.bounded_buffer(2, overflow=ops.overflow.drop_oldest(), stats=stats)
        stream = rxs.iterate(subject.pipe(telemetry.observe(stats=stats), buffer))
        for number in range(5):
            subject.on_next(TextDelta(str(number)))
        await stream.aclose()

    run_virtual(main())
    assert telemetry.facts["rxstream.dropped"] == 3


# Context -------------------------------------------------------------------------------------------------------------


def traced_source(telemetry: Telemetry, name: str) -> Observable[Event]:
    """A source that makes a span while it reads, as an instrumented HTTP client does."""

    async def read() -> Any:
        with telemetry.tracer.start_as_current_span(name):
            await asyncio.sleep(1)
        for event in ANSWER:
            yield event

    return rxs.from_aiter(read())


def parent_of(span: ReadableSpan) -> str:
    assert span.parent is not None
    return format(span.parent.span_id, "x")


def id_of(span: ReadableSpan) -> str:
    assert span.context is not None
    return format(span.context.span_id, "x")


def test_what_is_upstream_nests_in_the_span_and_the_span_in_its_parent() -> None:
    telemetry = Telemetry()

    async def main() -> None:
        with telemetry.tracer.start_as_current_span("caller"):
            events = traced_source(telemetry, "GET").pipe(telemetry.observe(model="m"))
            await rxs.collect(events)

    run_virtual(main())
    get, chat, caller = telemetry.spans
    assert [span.name for span in telemetry.spans] == ["GET", "chat m", "caller"]
    assert (parent_of(get), parent_of(chat), caller.parent) == (id_of(chat), id_of(caller), None)


def test_a_tool_runs_in_the_span_below_it() -> None:
    telemetry = Telemetry()

    async def look_up() -> str:
        """A tool that asks somebody else, instrumented."""
        with telemetry.tracer.start_as_current_span("GET"):
            await asyncio.sleep(1)
        return "found"

    async def main() -> None:
        calls = [ToolCall(str(number), "look_up", "{}") for number in range(3)]
        source: Observable[Event] = rxs.from_iterable([*calls, Finish("tool_calls")])
        with telemetry.tracer.start_as_current_span("caller"):
            await rxs.collect(source.pipe(ops.run_tools([look_up], 1), telemetry.observe(model="m")))

    run_virtual(main())
    *tools, chat, _ = telemetry.spans
    assert [span.name for span in tools] == ["GET"] * 3
    assert {parent_of(span) for span in tools} == {id_of(chat)}


def test_items_go_down_in_the_subscribers_own_context() -> None:
    telemetry = Telemetry()
    current: list[Any] = []

    def look(event: Event) -> None:
        current.append(trace.get_current_span())

    async def main() -> None:
        with telemetry.tracer.start_as_current_span("caller") as caller:
            await rxs.collect(traced_source(telemetry, "GET").pipe(telemetry.observe(), rx_ops.do_action(look)))
            assert current == [caller] * len(ANSWER)
            assert trace.get_current_span() is caller

    run_virtual(main())


def test_two_streams_at_once_do_not_mix() -> None:
    telemetry = Telemetry()

    async def main() -> None:
        streams = [
            traced_source(telemetry, f"GET {name}").pipe(telemetry.observe(model=name)) for name in ("left", "right")
        ]
        await asyncio.gather(*map(rxs.collect, streams))

    run_virtual(main())
    ids = {span.name: id_of(span) for span in telemetry.spans}
    parents = {span.name: parent_of(span) for span in telemetry.spans if span.name.startswith("GET")}
    assert parents == {"GET left": ids["chat left"], "GET right": ids["chat right"]}


def test_two_inner_streams_of_one_subscription_do_not_mix() -> None:
    telemetry = Telemetry()

    async def main() -> None:
        inner = [
            traced_source(telemetry, f"GET {name}").pipe(telemetry.observe(model=name)) for name in ("left", "right")
        ]
        merged = rxs.from_iterable(inner).pipe(rx_ops.merge_all(), telemetry.observe(operation="both"))
        async for _ in rxs.iterate(merged.pipe(ops.bounded_buffer())):
            pass

    run_virtual(main())
    ids = {span.name: id_of(span) for span in telemetry.spans}
    parents = {span.name: parent_of(span) for span in telemetry.spans if span.parent is not None}
    assert (parents["GET left"], parents["GET right"]) == (ids["chat left"], ids["chat right"])


def test_one_operator_serves_two_subscriptions() -> None:
    telemetry = Telemetry()
    operator = telemetry.observe()
    events = answer().pipe(operator)

    async def main() -> None:
        for _ in range(2):
            assert (await rxs.collect(events)).text == "secret words"

    run_virtual(main())
    assert len({id_of(span) for span in telemetry.spans}) == 2


# Content -------------------------------------------------------------------------------------------------------------

SPEAKING: list[Event] = [
    ReasoningDelta("secret thought"),
    TextDelta("secret words", part_id="t"),
    ToolCallStart("c-1", "find"),
    ToolCall("c-1", "find", '{"secret":1}'),
    Finish("tool_calls"),
]

SAID = (
    '[{"role":"assistant","parts":[{"type":"reasoning","content":"secret thought"},'
    '{"type":"text","content":"secret words"},'
    '{"type":"tool_call","id":"c-1","name":"find","arguments":"{\\"secret\\":1}"}],"finish_reason":"tool_calls"}]'
)


def test_nothing_of_the_answer_is_told_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", raising=False)
    telemetry = Telemetry()
    collected(telemetry, rxs.from_iterable(SPEAKING))
    assert "secret" not in telemetry.span.to_json()


def test_the_answer_is_told_where_the_application_asks() -> None:
    telemetry = Telemetry()
    collected(telemetry, rxs.from_iterable(SPEAKING), capture_content=True)
    assert telemetry.facts["gen_ai.output.messages"] == SAID


@pytest.mark.parametrize(
    ("said", "argument", "is_told"),
    [
        ("true", None, True),
        ("SPAN_ONLY", None, True),
        ("span_and_event", None, True),
        ("no_content", None, False),
        ("event_only", None, False),
        ("true", False, False),
        ("false", True, True),
    ],
)
def test_the_variable_asks_where_the_application_says_nothing(
    monkeypatch: pytest.MonkeyPatch, said: str, argument: bool | None, is_told: bool
) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", said)
    telemetry = Telemetry()
    collected(telemetry, rxs.from_iterable(SPEAKING), capture_content=argument)
    assert ("gen_ai.output.messages" in telemetry.facts) is is_told


def test_content_over_its_limit_is_cut_and_the_stream_goes_on() -> None:
    telemetry = Telemetry()
    limits = rxs.Limits(max_text_bytes=6)
    texts: list[Event] = [TextDelta("abc"), TextDelta("def"), TextDelta("ghi"), Finish("stop")]
    response = collected(telemetry, rxs.from_iterable(texts), capture_content=True, limits=limits)
    assert response.text == "abcdefghi"
    assert '"content":"abcdef"' in telemetry.facts["gen_ai.output.messages"]
    assert telemetry.facts["rxstream.content_is_cut"] is True
    assert telemetry.facts["rxstream.outcome"] == "completed"


# Import --------------------------------------------------------------------------------------------------------------


def run_python(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_importing_rxstream_does_not_import_opentelemetry() -> None:
    script = "import sys, rxstream; rxstream.collect, rxstream.connect; print('opentelemetry' in sys.modules)"
    assert run_python(script) == "False"


def test_without_opentelemetry_the_error_says_what_to_install() -> None:
    script = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "try:\n    import rxstream.otel\nexcept ModuleNotFoundError as error:\n    print(error)"
    )
    assert run_python(script) == 'rxstream.otel needs the OpenTelemetry API: pip install "rxstream[otel]"'


def test_without_an_sdk_a_stream_is_what_it_is() -> None:
    async def main() -> rxs.Response:
        return await rxs.collect(answer().pipe(otel.observe(model="m"), ops.bounded_buffer()))

    assert run_virtual(main()).text == "secret words"
