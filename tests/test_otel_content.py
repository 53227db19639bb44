"""What the answer said, told as an event of the conventions; and an endpoint whose every request is observed."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from opentelemetry._logs import LogRecord

import rxstream as rxs
from rxstream import otel
from rxstream.endpoint import Asking
from rxstream.events import Event, Finish, ReasoningDelta, ResponseStart, TextDelta, ToolCall, ToolCallStart, Usage
from rxstream.testing import Reply, ScriptedProvider, Stall, json_reply, run, run_virtual
from tests.endpoint.kit import BODIES, QUESTION, asking, stream_of
from tests.telemetry import Telemetry

EVENT = "gen_ai.client.inference.operation.details"
VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

SPEAKING: list[Event] = [
    ResponseStart("id-1", "m-2025"),
    ReasoningDelta("secret thought"),
    TextDelta("secret words", part_id="t"),
    ToolCallStart("c-1", "find"),
    ToolCall("c-1", "find", '{"secret":1}'),
    rxs.UsageUpdate(Usage(input_tokens=3, output_tokens=5)),
    Finish("tool_calls"),
]
SAID = [
    {
        "role": "assistant",
        "parts": [
            {"type": "reasoning", "content": "secret thought"},
            {"type": "text", "content": "secret words"},
            {"type": "tool_call", "id": "c-1", "name": "find", "arguments": '{"secret":1}'},
        ],
        "finish_reason": "tool_calls",
    }
]


def plain(value: Any) -> Any:
    """The SDK keeps lists as tuples."""
    if isinstance(value, dict) or hasattr(value, "items"):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def told(events: list[Event], **options: Any) -> Telemetry:
    telemetry = Telemetry()
    source = rxs.from_iterable(events).pipe(telemetry.observe("chat", "openai", "m", **options))
    run_virtual(rxs.collect(source))
    return telemetry


# The event -----------------------------------------------------------------------------------------------------------


def test_the_event_holds_the_content_as_objects_and_names_its_span() -> None:
    telemetry = told(SPEAKING, capture_content="event")
    (record,) = telemetry.events
    context = telemetry.span.get_span_context()
    assert context is not None
    assert record.event_name == EVENT
    assert (record.trace_id, record.span_id) == (context.trace_id, context.span_id)
    assert record.timestamp
    facts = plain(record.attributes)
    assert facts["gen_ai.output.messages"] == SAID
    expected = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m",
        "gen_ai.response.id": "id-1",
        "gen_ai.response.finish_reasons": ["tool_calls"],
        "gen_ai.usage.output_tokens": 5,
    }
    assert {name: facts[name] for name in expected} == expected
    assert "secret" not in telemetry.span.to_json()


@pytest.mark.parametrize(
    ("capture", "variable", "on_span", "in_event"),
    [
        ("span", None, True, False),
        (True, "event_only", True, False),
        ("event", None, False, True),
        ("both", None, True, True),
        (False, "span_and_event", False, False),
        (None, "EVENT_ONLY", False, True),
        (None, " span_and_event ", True, True),
        (None, "span_only", True, False),
        (None, "no_content", False, False),
        (None, None, False, False),
    ],
)
def test_content_goes_where_the_application_or_else_the_variable_says(
    monkeypatch: pytest.MonkeyPatch, capture: Any, variable: str | None, on_span: bool, in_event: bool
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if variable is not None:
        monkeypatch.setenv(VARIABLE, variable)
    telemetry = told(SPEAKING, capture_content=capture)
    assert ("gen_ai.output.messages" in telemetry.facts) is on_span
    assert len(telemetry.events) == in_event


def test_what_is_no_place_is_refused() -> None:
    with pytest.raises(ValueError, match="capture_content"):
        otel.observe(capture_content="everywhere")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ending", "outcome"),
    [([rxs.Cancelled("budget")], "cancelled"), ([], "indeterminate"), ([Finish("length")], "incomplete")],
)
def test_a_part_of_an_answer_is_an_event_too_and_says_how_it_ended(ending: list[Event], outcome: str) -> None:
    (record,) = told([TextDelta("par"), *ending], capture_content="event").events
    facts = plain(record.attributes)
    assert facts["gen_ai.output.messages"][0]["parts"] == [{"type": "text", "content": "par"}]
    assert facts["rxstream.outcome"] == outcome


def test_a_logger_that_fails_ends_neither_the_stream_nor_keeps_the_span_open() -> None:
    telemetry = Telemetry()
    reported: list[Any] = []

    class Broken:
        def emit(self, record: LogRecord) -> None:
            raise OSError("no collector")

    async def main() -> rxs.Response:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))
        observed = otel.observe(
            tracer=telemetry.tracer,
            meter=telemetry.meter,
            logger=Broken(),  # type: ignore[arg-type]
            capture_content="event",
        )
        return await rxs.collect(rxs.from_iterable(SPEAKING).pipe(observed))

    assert run_virtual(main()).outcome == "completed"
    assert len(telemetry.spans) == 1
    assert [type(error) for error in reported] == [OSError]


# An endpoint ---------------------------------------------------------------------------------------------------------


def observing(telemetry: Telemetry, **settings: Any) -> Any:
    return otel.observing(tracer=telemetry.tracer, meter=telemetry.meter, logger=telemetry.logger, **settings)


def test_each_request_of_an_endpoint_has_its_span_with_its_own_model_and_server() -> None:
    telemetry = Telemetry()

    async def main() -> tuple[int, str]:
        hook = observing(telemetry, attributes={"team": "a"})
        async with asking(httpx, stream_of("openai-chat"), observe=hook) as (provider, endpoint):
            for model in ("one", "two"):
                asked = rxs.ModelRequest.of("Hi", model=model)
                assert (await rxs.collect(endpoint.stream(asked))).outcome == "completed"
            assert (await rxs.collect(endpoint.stream({"model": "three", "messages": []}))).outcome == "completed"
            return provider.address[1], provider.address[0]

    port, host = run(main())
    assert [span.name for span in telemetry.spans] == ["chat one", "chat two", "chat three"]
    facts = dict(telemetry.spans[0].attributes or {})
    assert (facts["server.address"], facts["server.port"], facts["team"]) == (host, port, "a")
    assert (facts["gen_ai.provider.name"], facts["gen_ai.request.stream"]) == ("openai", True)


def test_a_whole_answer_is_observed_and_told_from_a_stream() -> None:
    telemetry = Telemetry()

    async def main() -> None:
        reply = json_reply(BODIES["openai-chat"])
        async with asking(httpx, reply, observe=observing(telemetry)) as (_, endpoint):
            await endpoint.complete(QUESTION)

    run(main())
    assert telemetry.span.name == "chat m"
    assert telemetry.facts["gen_ai.request.stream"] is False
    assert telemetry.facts["rxstream.outcome"] == "completed"


def test_a_stream_that_is_left_ends_its_span_once() -> None:
    telemetry = Telemetry()

    async def main() -> None:
        steps = [*stream_of("openai-chat").steps[:3], Stall()]
        async with asking(httpx, Reply(steps), observe=observing(telemetry)) as (_, endpoint):
            async with rxs.iterate(endpoint.stream(QUESTION)) as stream:
                await anext(stream)

    run(main())
    assert telemetry.facts["rxstream.cancel.cause"] == "disposed"


@pytest.mark.parametrize(
    ("name", "shown"),
    [("bedrock-converse", "aws.bedrock"), ("gemini", "gcp.gemini"), ("anthropic", "anthropic"), ("groq", "groq")],
)
def test_the_hook_is_told_who_is_asked_for_which_model(name: str, shown: str) -> None:
    seen: list[Asking] = []
    telemetry = Telemetry()
    hook = observing(telemetry)

    def note(asked: Asking) -> Any:
        seen.append(asked)
        return hook(asked)

    async def main() -> None:
        async with ScriptedProvider(Reply([])) as provider, httpx.AsyncClient(trust_env=False) as client:
            endpoint = rxs.connect(
                name, base_url=provider.base_url, api_key="k-123456", client=client, environ={}, observe=note
            )
            await rxs.collect(endpoint.stream(QUESTION))
            assert seen == [Asking(name, "m", *provider.address, True)]

    run(main())
    assert telemetry.facts["gen_ai.provider.name"] == shown
    assert telemetry.facts["rxstream.outcome"] != "completed"


def test_settings_that_observe_does_not_have_are_refused_at_once() -> None:
    with pytest.raises(TypeError, match="colour"):
        otel.observing(colour="red")
    with pytest.raises(ValueError, match="capture_content"):
        otel.observing(capture_content="everywhere")
