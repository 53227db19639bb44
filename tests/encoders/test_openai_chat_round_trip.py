"""What is written for chat clients, read again: by our own decoder, and by the client that most people use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx2
import openai
import pytest
from hypothesis import given
from openai.types.chat import ChatCompletion

from rxstream.encoders import encode_body
from rxstream.errors import ProviderError
from rxstream.events import Event, Finish, RefusalDelta, ResponseStart, TextDelta, ToolCall, Usage, UsageUpdate
from rxstream.response import Response, ResponseChoice
from tests.encoders.answers import answers
from tests.encoders.kit import read_back, read_body_back, reduce, write
from tests.encoders.test_openai_chat import OVERLOADED
from tests.providers.decoding import FIXTURES
from tests.providers.wires import decode_wire

REFUSED = "The model refused to answer."


def facts(answer: Response | ResponseChoice) -> dict[str, Any]:
    """What a round trip keeps of one choice; arguments are compared as tools get them."""
    return {
        "text": answer.text,
        "reasoning": answer.reasoning,
        "refusal": answer.refusal,
        "calls": [(call.call_id, call.name, call.kind, call.valid, call.parsed) for call in answer.tool_calls],
        "finish": answer.finish_reason,
    }


def expected(answer: Response | ResponseChoice) -> dict[str, Any]:
    """The same of the answer that was written: this wire has fewer words for why it ended."""
    known = facts(answer)
    if known["finish"] == "refusal":
        known["refusal"] = known["refusal"] or REFUSED
    known["finish"] = _finish(answer)
    return known


def _finish(answer: Response | ResponseChoice) -> str:
    reason = str(answer.finish_reason)
    if reason in ("refusal", "content_filter"):
        return "content_filter"
    if reason in ("tool_calls", "length"):
        return reason
    return "refusal" if answer.refusal else "stop"


def both(response: Response) -> Sequence[Response | ResponseChoice]:
    return response.choices or [response]


def counts(usage: Usage) -> tuple[int | None, ...]:
    return usage.input_tokens, usage.output_tokens, usage.cached_input_tokens, usage.reasoning_tokens


@given(answers())
def test_a_stream_reads_as_the_response_that_was_written(events: list[Event]) -> None:
    written, response = write("openai-chat", events, include_usage=True), reduce(events)
    again = read_back("openai-chat", written.body)
    assert [facts(answer) for answer in both(again)] == [expected(answer) for answer in both(response)]
    assert counts(again.usage) == counts(response.usage)
    assert (again.failed_checks, again.error) == ([], None)


@given(answers())
def test_a_body_reads_as_the_response_that_was_written(events: list[Event]) -> None:
    response = reduce(events)
    again = read_body_back("openai-chat", encode_body("openai-chat", response))
    assert [facts(answer) for answer in both(again)] == [expected(answer) for answer in both(response)]
    assert counts(again.usage) == counts(response.usage)
    assert (again.failed_checks, again.error) == ([], None)


@given(answers(max_choices=1))
def test_signatures_survive_a_stream_and_a_body(events: list[Event]) -> None:
    response = reduce(events)
    signed = [part.signatures for part in response.parts if part.type == "reasoning" and part.signatures]
    for again in (
        read_back("openai-chat", write("openai-chat", events).body),
        read_body_back("openai-chat", encode_body("openai-chat", response)),
    ):
        joined = ["".join(part.signatures.values()) for part in again.parts if part.type == "reasoning"]
        assert "".join(joined) == "".join("".join(signatures.values()) for signatures in signed)


@pytest.mark.parametrize("error", [OVERLOADED, None])
def test_an_answer_that_failed_reads_as_failed(error: ProviderError | None) -> None:
    events: list[Event] = [ResponseStart("r1", "m1"), TextDelta("a", "p")]
    for again in (
        read_back("openai-chat", write("openai-chat", events, error).body),
        read_body_back("openai-chat", encode_body("openai-chat", reduce(events, error))),
    ):
        assert again.outcome == "failed"
        assert isinstance(again.error, ProviderError)
        assert again.error.public.category == ("overloaded" if error else "provider")


# ------------------------------------------------------------------ the openai SDK


def ask(body: bytes, content_type: str = "text/event-stream") -> openai.OpenAI:
    """The client, connected to a server that answers everything with `body`."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": content_type}, content=body)

    client = httpx2.Client(transport=httpx2.MockTransport(answer))
    return openai.OpenAI(api_key="none", base_url="http://server.test/v1", http_client=client, max_retries=0)


def stream_with_sdk(body: bytes) -> ChatCompletion:
    """What its own accumulator makes of a stream."""
    with ask(body) as client:
        with client.chat.completions.stream(model="m", messages=[{"role": "user", "content": "q"}]) as stream:
            for _ in stream:
                pass
            return stream.get_final_completion()


EVENTS: list[Event] = [
    ResponseStart("r1", "m1"),
    TextDelta("Hel", "p"),
    TextDelta("lo", "p"),
    ToolCall("c1", "first", '{"a":1}', "function", "q"),
    ToolCall("c2", "second", "", "function", "s"),
    UsageUpdate(Usage(10, 5)),
    Finish("stop", "end_turn"),
]


def test_the_openai_client_reads_a_stream() -> None:
    completion = stream_with_sdk(write("openai-chat", EVENTS, include_usage=True).body)
    (choice,) = completion.choices
    assert (completion.id, completion.model, choice.finish_reason) == ("r1", "m1", "tool_calls")
    assert choice.message.content == "Hello"
    calls = [call.function for call in choice.message.tool_calls or () if call.type == "function"]
    assert [(call.name, call.arguments) for call in calls] == [("first", '{"a":1}'), ("second", "{}")]
    assert completion.usage is not None
    assert (completion.usage.prompt_tokens, completion.usage.total_tokens) == (10, 15)


def test_the_openai_client_reads_a_body() -> None:
    body = encode_body("openai-chat", reduce(EVENTS))
    with ask(body, "application/json") as client:
        completion = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "q"}])
    (choice,) = completion.choices
    assert (choice.message.content, choice.finish_reason) == ("Hello", "tool_calls")
    assert [call.id for call in choice.message.tool_calls or ()] == ["c1", "c2"]


def test_the_openai_client_raises_where_the_answer_failed() -> None:
    body = write("openai-chat", EVENTS[:2], OVERLOADED).body
    seen: list[str] = []
    with ask(body) as client, pytest.raises(openai.APIError, match="overloaded, try again") as caught:
        for chunk in client.chat.completions.create(model="m", messages=[], stream=True):
            seen += [choice.delta.content or "" for choice in chunk.choices]
    assert "".join(seen) == "Hel"
    assert caught.value.code == "engine_overloaded"


@given(answers(max_choices=1))
def test_the_openai_client_reads_any_answer(events: list[Event]) -> None:
    body, response = write("openai-chat", events).body, reduce(events)
    with ask(body) as client:
        chunks = list(client.chat.completions.create(model="m", messages=[], stream=True))
    deltas = [choice.delta for chunk in chunks for choice in chunk.choices]
    assert "".join(delta.content or "" for delta in deltas) == response.text
    if any(isinstance(event, RefusalDelta) for event in events):
        assert "".join(delta.refusal or "" for delta in deltas) == response.refusal
    started = [call.id for delta in deltas for call in delta.tool_calls or () if call.id is not None]
    assert started == [call.call_id for call in response.tool_calls]


# ------------------------------------------------------------------ another provider's recorded bytes


@pytest.mark.parametrize("wire", ["anthropic", "gemini", "cohere-v2", "openai-responses"])
def test_samples_of_other_wires_read_the_same_after_being_written_as_chat(wire: str) -> None:
    samples = sorted(FIXTURES.joinpath(wire).glob("*.sse"))
    assert samples
    for sample in samples:
        outcome = decode_wire(wire, [sample.read_bytes()])
        response = reduce(outcome.events, outcome.error)
        again = read_back("openai-chat", write("openai-chat", outcome.events, outcome.error, include_usage=True).body)
        assert again.text == response.text, sample.name
        assert again.reasoning == response.reasoning, sample.name
        assert [call.call_id for call in again.tool_calls] == [call.call_id for call in response.tool_calls]
        is_whole = response.outcome in ("completed", "incomplete")
        assert (again.outcome in ("completed", "incomplete")) is is_whole, sample.name
