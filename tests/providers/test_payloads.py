"""A payload's JSON: what is forgiven, and what is an error."""

from __future__ import annotations

import pytest

from rxstream.errors import DecodeError, LimitError
from rxstream.framing.frames import SSEFrame
from rxstream.providers.payloads import event_name, is_end_marker, is_keep_alive, read_object

DEPTH = 128


def nested(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


@pytest.mark.parametrize("payload", [b'{"a":1}', b' {"a":1}\n', SSEFrame('{"a":1}')])
def test_bytes_and_frames_read_alike(payload: bytes | SSEFrame) -> None:
    assert read_object(payload, DEPTH) == {"a": 1}


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (b'"x\xffy"', "x\ufffdy"),
        (b'"\\ud83d"', "\ufffd"),
        (b'"\\ude00!"', "\ufffd!"),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b'"\\\\ud83d\\ud83d"', "\\ud83d\ufffd"),
    ],
)
def test_damage_inside_a_text_becomes_the_replacement_character(payload: bytes, text: str) -> None:
    assert read_object(b'{"a":' + payload + b"}", DEPTH) == {"a": text}


@pytest.mark.parametrize(
    "payload",
    [b"", b"{", b"null", b"[1]", b'"x"', b"{} {}", b'{"a":"\\ud8"}', b'{"a":"\\ud800}', b"\xff", nested(5000)],
)
def test_what_is_no_json_object_is_a_decode_error_that_holds_the_payload(payload: bytes) -> None:
    with pytest.raises(DecodeError) as caught:
        read_object(payload, DEPTH)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert caught.value.take_detail() == payload


def test_a_secret_in_a_broken_frame_is_not_in_the_message() -> None:
    with pytest.raises(DecodeError) as caught:
        read_object(b'{"password": hunter2}', DEPTH)
    assert "hunter2" not in f"{caught.value} {caught.value!r}"


def test_nesting_is_bounded_exactly() -> None:
    assert read_object(nested(DEPTH), DEPTH)
    with pytest.raises(LimitError) as caught:
        read_object(nested(DEPTH + 1), DEPTH)
    assert (caught.value.limit, caught.value.value, caught.value.setting) == (DEPTH, DEPTH + 1, "max_json_depth")


def test_a_wide_object_is_not_deep() -> None:
    assert read_object(b'{"a":[' + b"[]," * 1000 + b"[]]}", 3)


@pytest.mark.parametrize("payload", [b"", b"  \n", b": ping", b" : OPENROUTER PROCESSING", SSEFrame(":")])
def test_nothing_and_comments_are_signs_of_life(payload: bytes | SSEFrame) -> None:
    assert is_keep_alive(payload)


def test_json_is_no_sign_of_life() -> None:
    assert not is_keep_alive(b'{"a":1}')


@pytest.mark.parametrize(
    ("payload", "is_end"),
    [
        (b"[DONE]", True),
        (SSEFrame("[DONE]"), True),
        (b" [DONE]", False),
        (SSEFrame("[DONE] "), False),
        (b'{"text":"[DONE]"}', False),
    ],
)
def test_the_end_marker_is_nothing_but_itself(payload: bytes | SSEFrame, is_end: bool) -> None:
    assert is_end_marker(payload) is is_end


def test_the_standards_own_name_of_an_event_is_no_name() -> None:
    assert [event_name(SSEFrame("x", name)) for name in ("message", "error")] == ["", "error"]
    assert event_name(b"x") == ""
