"""Frames of the chat wire: what is no chunk, what is forgiven, and what has no member of its own."""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.errors import DecodeError, LimitError
from rxstream.events import Event, ProviderEvent, TextDelta, Violation
from rxstream.framing.frames import Payload, SSEFrame
from rxstream.limits import Limits
from rxstream.providers import openai_chat
from rxstream.providers.openai_chat import OpenAIChatDecoder
from tests.providers.chat import DONE, Run, choices, delta, finish, frame, run, text


def provider_events(result: Run) -> list[tuple[str, object]]:
    return [(event.name, event.data) for event in result.of(ProviderEvent)]


@pytest.mark.parametrize("sign", [b"", b" ", b": OPENROUTER PROCESSING", b" : keepalive", b"\n:", SSEFrame("")])
def test_a_sign_of_life_is_no_frame(sign: bytes | SSEFrame) -> None:
    result = run(sign, text("a"), sign, text("b"), finish(), sign, DONE)
    assert (result.error, result.text) == (None, "ab")


@pytest.mark.parametrize(
    "garbage",
    [b"oops", b"<html>", b"{", b'{"choices":[}', b"null", b'"text"', b"5", b"[1]", b"\x00\xff", b"\xef\xbb\xbf{}"],
)
def test_garbage_is_an_error_after_what_came_before_it(garbage: bytes) -> None:
    result = run(text("a"), garbage, text("b"))
    assert isinstance(result.error, DecodeError)
    assert result.text == "a"
    assert result.error.take_detail() == garbage


def test_after_garbage_the_decoder_can_go_on() -> None:
    decoder, out = OpenAIChatDecoder(), list[Event]()
    decoder.decode(text("a"), out)
    for garbage in (b"{", delta(content=5), delta(content="lost", tool_calls=[5])):
        with pytest.raises(DecodeError):
            decoder.decode(garbage, out)
    for payload in (text("b"), finish(), DONE):
        decoder.decode(payload, out)
    assert "".join(event.text for event in out if isinstance(event, TextDelta)) == "alostb"


@pytest.mark.parametrize(
    "chunk",
    [
        frame(choices=None),
        frame(choices=[]),
        frame(),
        frame(choices=[None]),
        choices({"index": 0, "delta": None}),
        choices({"index": 0}),
        choices({"index": 0, "delta": {}}),
        choices({"index": 0, "delta": {"role": "", "content": None, "refusal": None, "tool_calls": None}}),
        choices({"index": 0, "delta": {"tool_calls": [], "function_call": None, "annotations": []}}),
        frame(choices=[], object="", created="soon", model=None, id=7),
    ],
)
def test_a_chunk_without_content_says_nothing_and_the_stream_goes_on(chunk: bytes) -> None:
    result = run(text("a"), chunk, text("b"), finish(), DONE)
    assert (result.error, result.text) == (None, "ab")
    assert [event.type for event in result.events] == ["response_start", "text_delta", "text_delta", "finish"]


def test_one_choice_without_its_list_is_understood() -> None:
    assert run(frame(choices={"index": 0, "delta": {"content": "a"}}), finish(), DONE).text == "a"


@pytest.mark.parametrize(
    "entry",
    [
        "x",
        {"index": 0, "delta": [1]},
        {"index": 0, "delta": {"content": 5}},
        {"index": 0, "delta": {"content": [5]}},
        {"index": 0, "delta": {"refusal": {"no": 1}}},
        {"index": 0, "delta": {"reasoning": 5}},
        {"index": 0, "delta": {"reasoning_details": 5}},
        {"index": 0, "delta": {"audio": "x"}},
        {"index": "first", "delta": {}},
        {"index": -1, "delta": {"content": "x"}},
        {"index": 1.5, "delta": {"content": "x"}},
    ],
)
def test_a_type_that_cannot_be_understood_is_an_error_that_names_the_field(entry: Any) -> None:
    error = run(frame(choices=[entry])).error
    assert isinstance(error, DecodeError)
    assert error.__context__ is None
    assert "field" in str(error) or "index" in str(error)


def test_more_choices_than_anybody_asks_for_are_an_error() -> None:
    result = run(*(text("x", index) for index in range(openai_chat.MAX_CHOICES + 1)))
    assert isinstance(result.error, DecodeError)


def test_nesting_over_its_limit_is_a_named_error() -> None:
    deep = b'{"choices":[],"odd":' + b"[" * 20 + b"]" * 20 + b"}"
    error = run(text("a"), deep, limits=Limits(max_json_depth=16)).error
    assert isinstance(error, LimitError)
    assert error.setting == "max_json_depth"


@pytest.mark.parametrize("first", [(), (text("a"),) * 10], ids=["first", "running"])
@pytest.mark.parametrize(
    ("raw", "read"),
    [
        (b"\xff", "\ufffd"),
        (b"\\ud83d", "\ufffd"),
        (b"\\ud83d\\ude00", "\U0001f600"),
        (b"\xf0\x9f\x98\x80", "\U0001f600"),
        (b"\xe2\x80\xa8\xc2\x85", "\u2028\u0085"),
        (b"\\u0000", "\x00"),
    ],
)
def test_text_that_is_not_whole_unicode_is_repaired(first: tuple[bytes, ...], raw: bytes, read: str) -> None:
    piece = text("@").replace(b"@", b"<" + raw + b">")
    result = run(*first, piece, finish(), DONE)
    assert (result.error, result.of(TextDelta)[-1].text) == (None, f"<{read}>")


def test_what_has_no_member_is_kept_where_it_says_something_new() -> None:
    filters = [{"hate": {"filtered": False}}, {"hate": {"filtered": False}}, {}, {"hate": {"filtered": True}}]
    chunks = [
        choices({"index": 0, "delta": {"content": "x"}, "finish_reason": None, "content_filter_results": found})
        for found in filters
    ]
    result = run(*chunks, finish(), DONE)
    assert result.text == "xxxx"
    assert provider_events(result) == [
        ("content_filter_results", {"hate": {"filtered": False}}),
        ("content_filter_results", {"hate": {"filtered": True}}),
    ]


def test_unknown_keys_of_chunk_choice_and_delta_are_kept() -> None:
    entry = {"index": 0, "delta": {"content": "x", "mood": "calm"}, "rank": 3}
    result = run(choices(entry, weather="fair", empty=None, nulls={"a": None, "b": []}), finish(), DONE)
    assert provider_events(result) == [("mood", "calm"), ("rank", 3), ("weather", "fair")]


def test_padding_is_dropped() -> None:
    padding: dict[str, Any] = {
        "obfuscation": "x9",
        "p": "abc",
        "system_fingerprint": "fp_1",
        "object": "o",
        "created": 9,
    }
    result = run(delta(content="x", top=padding), finish(**padding), DONE)
    assert provider_events(result) == []


def test_the_service_tier_is_said_once() -> None:
    top: dict[str, Any] = {"service_tier": "default"}
    result = run(delta(content="x", top=top), delta(content="y", top=top), finish(**top), DONE)
    assert provider_events(result) == [("service_tier", "default")]


def test_a_field_that_changes_in_every_chunk_does_not_flood() -> None:
    chunks = [delta(reasoning_content="x", top={"clock": number}) for number in range(5000)]
    events = provider_events(run(*chunks, finish(), DONE))
    assert len(events) < 50
    assert (events[0], events[-1]) == (("clock", 0), ("clock", 4999))


def test_a_field_beside_plain_text_is_seen_at_the_start_and_at_the_end() -> None:
    chunks = [delta(content="word ", top={"clock": number}) for number in range(500)]
    events = provider_events(run(*chunks, finish(clock=500), DONE))
    assert (events[0], events[-1]) == (("clock", 0), ("clock", 500))


# ------------------------------------------------------------------ the short way reads what the long way reads


SHAPES: dict[str, dict[str, Any]] = {
    "openai": {"logprobs": None, "finish_reason": None},
    "short": {"finish_reason": None},
    "shortest": {},
    "openrouter": {"finish_reason": None, "native_finish_reason": None},
    "together": {"text": "x", "logprobs": None, "finish_reason": None, "seed": None},
}


@pytest.mark.parametrize("keys", [{}, {"role": "assistant"}, {"role": None, "tool_calls": None}, {"extra": None}])
@pytest.mark.parametrize("shape", SHAPES)
def test_plain_text_is_read_alike_on_both_ways(
    shape: str, keys: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = [
        choices({"index": 0, "delta": keys | {"content": f"{number} "}} | SHAPES[shape], usage=None)
        for number in range(40)
    ]
    short = run(*pieces, finish(), DONE)
    monkeypatch.setattr(OpenAIChatDecoder, "_plain_reader", lambda self: None)
    long = run(*pieces, finish(), DONE)
    assert short.events == long.events
    assert len(short.of(TextDelta)) == 40


INTERRUPTIONS = [
    delta(content="x", reasoning_content="r"),
    delta(content="x", finish="length"),
    delta(content="x", top={"usage": {"prompt_tokens": 1}}),
    delta(content="x", top={"error": "boom"}),
    delta(content="x", tool_calls=[{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}]),
    delta(content=[{"type": "text", "text": "x"}]),
    delta(content="x", surprise=1),
    delta(content="", refusal="no"),
    choices({"index": 0, "delta": {"content": "x"}, "logprobs": {"content": [{"token": "x"}]}}),
    choices({"index": 0, "delta": {"content": "x"}, "error": {"message": "boom"}}),
    choices({"index": 0, "delta": {"content": "x"}, "content_filter_results": {"hate": {"filtered": True}}}),
    choices({"index": 0, "delta": {"content": "x"}}, {"index": 1, "delta": {"content": "y"}}),
    choices({"index": "0", "delta": {"content": "x"}}),
    choices({"delta": {"content": "x"}}),
    text("y", 1),
    text(""),
    b"garbage",
    b"",
]


@pytest.mark.parametrize("interruption", INTERRUPTIONS)
def test_what_interrupts_plain_text_is_seen_on_both_ways(interruption: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    wire = (*map(text, "abcdefghijkl"), interruption, text("m"), finish(), finish(index=1), DONE)
    short = run(*wire)
    monkeypatch.setattr(OpenAIChatDecoder, "_plain_reader", lambda self: None)
    long = run(*wire)
    assert (short.events, type(short.error), str(short.error or "")) == (
        long.events,
        type(long.error),
        str(long.error or ""),
    )


def test_a_decoder_takes_the_short_way_for_a_long_text(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = 0
    long_way = OpenAIChatDecoder._decode_any

    def count(self: OpenAIChatDecoder, payload: Payload, out: list[Event]) -> None:
        nonlocal looked_at
        looked_at += 1
        long_way(self, payload, out)

    monkeypatch.setattr(OpenAIChatDecoder, "_decode_any", count)
    result = run(*[text("word ")] * 1000, finish(), DONE)
    assert len(result.of(TextDelta)) == 1000
    assert looked_at < 20
    assert result.of(Violation) == []
