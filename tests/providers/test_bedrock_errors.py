"""Bedrock: exceptions and errors in a stream, by their names."""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.errors import FramingError, ProviderError, TruncatedFrameError
from rxstream.events import Event, Finish, ToolCall, ToolCallInvalid
from rxstream.framing.eventstream import EventStreamParser
from rxstream.providers.bedrock_converse import ConverseDecoder
from rxstream.testing import pack_exception, pack_message
from tests.providers.bedrock_wire import START, begin, chunk, decode, delta, joined, judged, metadata, stop, text, texts
from tests.providers.decoding import Outcome
from tests.providers.wires import decode_wire


def raised(outcome: Outcome) -> ProviderError:
    assert isinstance(outcome.error, ProviderError)
    return outcome.error


EXCEPTIONS = [
    ("internalServerException", 500, "provider", True),
    ("serviceUnavailableException", 503, "overloaded", True),
    ("throttlingException", 429, "rate_limited", True),
    ("modelTimeoutException", 408, "timeout", True),
    ("modelStreamErrorException", 424, "provider", True),
    ("validationException", 400, "invalid_request", False),
    ("accessDeniedException", 403, "permission", False),
    ("resourceNotFoundException", 404, "not_found", False),
    ("ThrottlingException", 429, "rate_limited", True),
]


@pytest.mark.parametrize(("name", "status", "category", "retryable"), EXCEPTIONS)
@pytest.mark.parametrize("wire", ["bedrock-converse", "bedrock-invoke"])
def test_an_exception_has_the_status_and_the_hint_of_its_name(
    wire: str, name: str, status: int, category: str, retryable: bool
) -> None:
    error = raised(decode_wire(wire, [pack_exception(name, {"message": "say the secret", "p": "abc"})]))
    assert (error.status, error.provider_type, error.public.category) == (status, name, category)
    assert error.public.retry.retryable is retryable
    assert "secret" not in str(error) + repr(error)
    detail = str(error.take_detail())
    assert "say the secret" in detail
    assert '"p"' not in detail


@pytest.mark.parametrize(
    ("original", "retryable"), [(500, True), (429, True), (503, True), (400, False), ("404", False)]
)
def test_a_model_error_is_worth_another_attempt_as_its_own_status_says(original: Any, retryable: bool) -> None:
    said = {"message": "x", "originalStatusCode": original, "originalMessage": "y"}
    error = raised(decode(START, pack_exception("modelStreamErrorException", said)))
    assert error.status == 424
    assert error.public.retry.retryable is retryable


@pytest.mark.parametrize("payload", [b"", b"no json", b'"text"', b"[1]", b"null"])
def test_an_exception_of_any_payload_is_that_exception(payload: bytes) -> None:
    error = raised(decode(START, pack_exception("throttlingException", payload)))
    assert (error.status, error.public.category) == (429, "rate_limited")


def test_an_exception_that_nobody_knows_is_the_providers() -> None:
    error = raised(decode(START, pack_exception("brandNewException", {"message": "x"})))
    assert (error.status, error.provider_type, error.public.category) == (None, "brandNewException", "provider")


@pytest.mark.parametrize(
    ("code", "status", "category"),
    [("InternalError", 500, "provider"), ("ThrottlingException", 429, "rate_limited"), ("Odd", None, "provider")],
)
@pytest.mark.parametrize("payload", [b"", b'{"more":"detail"}'])
def test_an_error_has_its_code_and_keeps_its_message_to_itself(
    code: str, status: int | None, category: str, payload: bytes
) -> None:
    headers: dict[str, Any] = {":message-type": "error", ":error-code": code, ":error-message": "boom secret"}
    error = raised(decode(START, pack_message(headers, payload)))
    assert (error.code, error.status, error.public.category) == (code, status, category)
    assert "secret" not in str(error)
    detail = str(error.take_detail())
    assert "boom secret" in detail
    assert ("more" in detail) is bool(payload)


@pytest.mark.parametrize(
    "headers",
    [{":exception-type": "throttlingException"}, {":error-code": "ThrottlingException", ":error-message": "slow"}],
)
def test_a_message_without_a_type_is_known_by_its_other_headers(headers: Any) -> None:
    assert raised(decode(START, pack_message(headers, b"{}"))).public.category == "rate_limited"


@pytest.mark.parametrize("name", ["contentBlockDelta", "chunk"])
def test_an_exception_with_an_events_name_and_payload_is_an_exception(name: str) -> None:
    headers: dict[str, Any] = {":event-type": name, ":message-type": "exception", ":exception-type": "x"}
    wires = {
        "bedrock-converse": [START, delta(0, text="a"), pack_message(headers, payload_of(delta(0, text="b")))],
        "bedrock-invoke": [pack_message(headers, payload_of(chunk({"generation": "b"})))],
    }
    for wire, messages in wires.items():
        outcome = decode_wire(wire, messages)
        raised(outcome)
        assert "b" not in texts(outcome)


def payload_of(message: bytes) -> bytes:
    (frame,) = EventStreamParser().feed(message)
    return frame.payload


def test_an_exception_that_is_named_in_json_is_one() -> None:
    out: list[Event] = []
    with pytest.raises(ProviderError) as caught:
        ConverseDecoder().decode(b'{"validationException":{"message":"x"}}', out)
    assert caught.value.status == 400


def test_what_came_before_an_exception_stays_and_its_calls_never_run() -> None:
    outcome = decode(
        START,
        text(0, "a"),
        begin(1, toolUse={"toolUseId": "t", "name": "f"}),
        delta(1, toolUse={"input": "{}"}),
        pack_exception("modelStreamErrorException", {"message": "x"}),
        delta(1, toolUse={"input": "{}"}),
    )
    assert texts(outcome) == "a"
    assert not outcome.of(ToolCall)
    assert len(outcome.of(ToolCallInvalid)) == 1
    assert judged(outcome).outcome == "failed"


def test_a_finish_before_an_exception_is_kept_and_the_answer_failed() -> None:
    outcome = decode(START, text(0, "a"), stop(), pack_exception("internalServerException", {"message": "x"}))
    assert outcome.events[-1] == Finish("stop", "end_turn")
    assert raised(outcome).status == 500
    assert judged(outcome).outcome == "failed"


def test_what_was_held_back_is_told_before_the_exception_is_raised() -> None:
    out: list[Event] = []
    decoder = ConverseDecoder()
    decoder.decode(b'{"messageStart":{},"messageStop":{"stopReason":"end_turn"}}', out)
    with pytest.raises(ProviderError):
        decoder.decode(b'{"throttlingException":{}}', out)
    assert out[-1] == Finish("stop", "end_turn")


def test_an_exception_behind_the_metadata_is_still_heard() -> None:
    wire = [START, text(0, "a"), stop(), metadata(), pack_exception("internalServerException", {"message": "x"})]
    assert raised(decode(*wire)).status == 500


def test_an_exception_between_chunks_ends_the_vendors_stream() -> None:
    said = {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "f"}}
    start = {"type": "message_start", "message": {"id": "m"}}
    wire = [chunk(start), chunk(said), pack_exception("modelTimeoutException", {"message": "x"})]
    outcome = decode_wire("bedrock-invoke", wire)
    assert raised(outcome).status == 408
    assert len(outcome.of(ToolCallInvalid)) == 1


def test_bytes_that_are_cut_inside_a_message_are_truncated_with_the_finish_kept() -> None:
    wire = joined([START, text(0, "a"), stop(), metadata()])
    outcome = decode(wire[:-1])
    assert isinstance(outcome.error, TruncatedFrameError)
    assert outcome.events[-1] == Finish("stop", "end_turn")
    assert judged(outcome).outcome == "indeterminate"


def test_a_damaged_message_fails_the_stream() -> None:
    wire = bytearray(joined([START, text(0, "a", "b"), stop(), metadata()]))
    wire[len(START) + 60] ^= 1
    outcome = decode(bytes(wire))
    assert isinstance(outcome.error, FramingError)
    assert judged(outcome).outcome == "failed"
