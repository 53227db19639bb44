"""The response as an object and as JSON."""

from __future__ import annotations

import json
import pickle
from base64 import b64encode

import pytest

from rxstream.errors import ProviderError, RetryHint, TruncatedStreamError
from rxstream.events import Finish, ToolCallDelta, ToolCallStart, Usage, UsageUpdate, Violation
from rxstream.response import MediaPart, Response, ResponseToolCall, error_json_object
from tests.response.streams import STOP, call, response_of, text


def test_the_json_object_of_a_completed_answer() -> None:
    response = response_of(
        *text("hi"),
        *call("c1", "look", '{"at": 1}'),
        UsageUpdate(Usage(3, 2, raw={"prompt_tokens": 3})),
        Finish("tool_calls", "tool_use"),
    )
    assert response.to_json_object() == {
        "outcome": "completed",
        "text": "hi",
        "reasoning": "",
        "refusal": "",
        "tool_calls": [{"call_id": "c1", "name": "look", "arguments": '{"at": 1}', "valid": True}],
        "finish_reason": "tool_calls",
        "finish_reason_raw": "tool_use",
        "usage": {
            "input_tokens": 3,
            "output_tokens": 2,
            "total_tokens": None,
            "cached_input_tokens": None,
            "cache_write_tokens": None,
            "reasoning_tokens": None,
        },
        "violations": [],
        "error": None,
    }


def test_the_json_object_of_a_broken_one() -> None:
    response = response_of(
        ToolCallStart("c1", "f"), ToolCallDelta("c1", '{"a'), Violation("odd", "m", 2), error=TruncatedStreamError()
    )
    shown = json.loads(json.dumps(response.to_json_object()))
    assert (shown["outcome"], shown["finish_reason"], shown["finish_reason_raw"]) == ("indeterminate", None, None)
    assert shown["tool_calls"] == [{"call_id": "c1", "name": "f", "arguments": '{"a', "valid": False}]
    assert shown["violations"] == [{"code": "odd", "message": "m", "count": 2, "choice": 0}]
    assert (shown["error"]["type"], shown["error"]["category"]) == ("TruncatedStreamError", "truncated")


def test_choices_stand_in_the_json_object_where_there_is_more_than_one() -> None:
    one = response_of(*text("a"), STOP).to_json_object()
    two = response_of(*text("a"), *text("b", choice=1), STOP, Finish("length", "length", 1)).to_json_object()
    assert "choices" not in one
    shown = two["choices"]
    assert isinstance(shown, list)
    assert [(c["choice"], c["text"], c["finish_reason"]) for c in shown if isinstance(c, dict)] == [
        (0, "a", "stop"),
        (1, "b", "length"),
    ]


def test_an_error_shows_what_explains_it_and_no_detail() -> None:
    error = ProviderError(
        "too many requests",
        status=429,
        code="slow",
        retry=RetryHint(retryable=True, after_seconds=2),
        phase="before_content",
        detail="sk-live-4242",
    )
    shown = error_json_object(error)
    assert shown == {
        "type": "ProviderError",
        "category": "provider",
        "message": "too many requests",
        "phase": "before_content",
        "retryable": True,
        "after_seconds": 2,
        "correlation_id": error.public.correlation_id,
        "status": 429,
        "code": "slow",
    }


def test_of_a_foreign_error_only_its_class_is_shown() -> None:
    assert "sk-live-4242" not in json.dumps(error_json_object(ValueError("sk-live-4242")))


def test_an_outcome_that_is_no_failure_gives_the_response_back() -> None:
    for response in (response_of(*text("a"), STOP), response_of(*text("a"), Finish("length", "length"))):
        assert response.raise_for_outcome() is response


def test_a_response_survives_pickling() -> None:
    response = response_of(*text("a"), *call("c1", "f", "{}"), STOP, STOP)
    assert pickle.loads(pickle.dumps(response)) == response


def test_a_response_made_by_hand_is_not_an_answer() -> None:
    assert (Response().outcome, Response().provisional) == ("running", True)


@pytest.mark.parametrize(("arguments", "parsed"), [("", {}), ("null", {}), ('{"a": 1}', {"a": 1}), ("[1]", [1])])
def test_a_valid_call_gives_its_arguments(arguments: str, parsed: object) -> None:
    assert ResponseToolCall("c", "f", arguments, valid=True).parsed == parsed


def test_a_custom_call_gives_its_text() -> None:
    assert ResponseToolCall("c", "sh", "ls -l", valid=True, kind="custom").parsed == "ls -l"


@pytest.mark.parametrize("pieces", [[b"abc", b"def"], [b"a", b"bc", b"defg"], [b""]])
def test_media_is_decoded_whether_its_pieces_were_padded_or_not(pieces: list[bytes]) -> None:
    padded = MediaPart("audio/wav", "".join(b64encode(piece).decode() for piece in pieces))
    whole = MediaPart("audio/wav", b64encode(b"".join(pieces)).decode().rstrip("="))
    assert padded.decode() == whole.decode() == b"".join(pieces)


def test_media_that_is_not_base64_is_refused() -> None:
    with pytest.raises(ValueError):
        MediaPart("audio/wav", "a-b*").decode()
