"""The template gives what the JSON reader gives, or nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rxstream.events import Event, TextDelta
from rxstream.providers.registry import get_wire
from rxstream.providers.text_template import MAX_MISSES, TextTemplate


def chunk(text: str, *, spaced: bool = False, ascii_only: bool = True, **more: Any) -> bytes:
    value = {"id": "c1", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}], **more}
    separators = (", ", ": ") if spaced else (",", ":")
    return json.dumps(value, separators=separators, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")


def learned(payload: bytes, text: str) -> TextTemplate:
    template = TextTemplate("content")
    assert template.learn(payload, text)
    return template


def content_of(payload: bytes) -> Any:
    try:
        return json.loads(payload)["choices"][0]["delta"]["content"]
    except (ValueError, KeyError, UnicodeDecodeError):
        return None


@pytest.mark.parametrize("spaced", [False, True])
@pytest.mark.parametrize("more", [{}, {"usage": None}, {"obfuscation": "abcXYZ019"}, {"obfuscation": ""}, {"p": "ab"}])
def test_the_same_bytes_around_another_text_are_recognized(spaced: bool, more: dict[str, Any]) -> None:
    template = learned(chunk("word", spaced=spaced, **more), "word")
    other: dict[str, Any] = {key: "0Zz" if isinstance(value, str) else value for key, value in more.items()}
    for text in ("x", " and ", "é你🎉", "a" * 1000, "line\n", "back\\slash", "\u2028"):
        assert template.match(chunk(text, spaced=spaced, ascii_only=False, **other)) == text
        assert template.match(chunk(text, spaced=spaced, **other)) == text


@pytest.mark.parametrize(
    "payload",
    [
        chunk('say "hi"'),
        chunk("word").replace(b"word", b"w\\xrd"),
        chunk("word").replace(b"word", b"wor\\"),
        chunk("word").replace(b"word", b"\\ud800"),
        chunk("word", usage=None),
        chunk("word")[:-1],
        chunk("word") + b"}",
        chunk("word").replace(b"null", b'"stop"'),
        chunk("word").replace(b"word", b"w\nrd"),
        chunk("word").replace(b"word", b"w\xff\xferd"),
        chunk("word").replace(b'"index":0', b'"index":1'),
        b"",
        b"[DONE]",
    ],
)
def test_anything_else_is_left_to_the_json_reader(payload: bytes) -> None:
    assert learned(chunk("word"), "word").match(payload) is None


def test_an_escaped_text_teaches_nothing_and_what_was_learned_holds() -> None:
    template = learned(chunk("word"), "word")
    assert not template.learn(chunk('a "quoted" word', usage=None), 'a "quoted" word')
    assert template.match(chunk("still")) == "still"


def test_a_key_that_stands_twice_teaches_nothing() -> None:
    assert not TextTemplate("content").learn(chunk("word", other={"content": "no"}), "word")


def test_a_stream_that_never_repeats_itself_is_left_alone() -> None:
    template = TextTemplate("content")
    taught = [template.learn(chunk("word", n=number), "word") for number in range(MAX_MISSES + 3)]
    assert taught == [True] * MAX_MISSES + [False] * 3


texts = st.text(max_size=12)


@given(texts, texts, st.booleans(), st.binary(max_size=3), st.integers(0, 400))
@example("a", 'b"},"x":{"content":"c', False, b"", 0)
def test_what_is_recognized_is_what_json_says(first: str, text: str, ascii_only: bool, junk: bytes, at: int) -> None:
    taught = chunk(first, ascii_only=ascii_only)
    template = TextTemplate("content")
    template.learn(taught, first)
    payload = chunk(text, ascii_only=ascii_only)
    payload = payload[:at] + junk + payload[at:]
    found = template.match(payload)
    assert found is None or found == content_of(payload)


@given(st.lists(st.tuples(texts, st.integers(0, 1), st.sampled_from(["", "ab1", "Zz"])), max_size=20))
def test_the_decoder_gives_the_same_events_with_and_without_it(pieces: list[tuple[str, int, str]]) -> None:
    def payload_of(text: str, index: int, padding: str) -> bytes:
        more: dict[str, Any] = {"obfuscation": padding} if padding else {}
        return chunk(text, ascii_only=False, **more).replace(b'"index":0', b'"index":%d' % index)

    payloads = [payload_of(*piece) for piece in pieces]
    quick: list[Event] = []
    plain: list[Event] = []
    decoder, reader = get_wire("openai-chat").make_decoder(), get_wire("openai-chat").make_decoder()
    for payload in payloads:
        decoder.decode(payload, quick)
        reader.decode(payload + b" ", plain)  # a blank behind the JSON: the template never matches it
    assert quick == plain
    said = "".join(event.text for event in quick if isinstance(event, TextDelta) and event.choice == 0)
    assert said == "".join(text for text, index, _ in pieces if index == 0).encode("utf-8", "replace").decode()


def gemini(text: str, count: int | str, *, index: int = 0) -> bytes:
    candidate = {"content": {"parts": [{"text": text}]}, "index": index}
    value = {"candidates": [candidate], "usageMetadata": {"a": count, "b": [1, 20]}, "modelVersion": "gemini-2.5"}
    return json.dumps(value, separators=(",", ":")).encode()


def test_whole_numbers_behind_the_named_key_may_differ_and_nothing_else() -> None:
    template = TextTemplate("text", counts_behind="usageMetadata")
    assert template.learn(gemini("word", 17), "word")
    for count in (0, 5, 123456):
        assert template.match(gemini("x", count)) == "x"
    assert template.match(gemini("x", 5, index=1)) is None
    assert template.match(gemini("x", "5")) is None
    for broken in (b'"a":}', b'"a":05', b'"a":-5', b'"a":5.5', b'"a":5e9', b'"a":1234567890123456'):
        assert template.match(gemini("x", 17).replace(b'"a":17', broken)) is None
    assert template.match(gemini("x", 5).replace(b"gemini-2.5", b"gemini-3.5")) is None
