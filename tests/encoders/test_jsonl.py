"""Events as lines: all of them come back."""

from __future__ import annotations

import json

from hypothesis import given

from rxstream.encoders import EncoderEnd, encoder
from rxstream.errors import ProviderError
from rxstream.events import EVENT_ADAPTER, Cancelled, Event, TextDelta
from tests.encoders.kit import write
from tests.event_strategies import event_streams


@given(event_streams)
def test_every_event_comes_back_from_its_line(events: list[Event]) -> None:
    made = encoder("jsonl")
    for event in events:
        line = made.encode(event)
        assert line.endswith(b"\n")
        assert line.count(b"\n") == 1
        if b"\\ud" not in line.lower():  # half a character is an escape, which pydantic does not read
            assert EVENT_ADAPTER.validate_json(line) == event
        assert EVENT_ADAPTER.validate_python(json.loads(line)) == event


def test_an_error_is_the_last_line() -> None:
    error = ProviderError("overloaded", category="overloaded", status=529)
    lines = write("jsonl", [TextDelta("a")], error).body.splitlines()
    last = json.loads(lines[-1])
    assert last["type"] == "error"
    assert (last["error"]["category"], last["error"]["status"]) == ("overloaded", 529)


def test_a_cancellation_is_told_once() -> None:
    assert write("jsonl", [Cancelled("deadline")]).body.count(b"cancelled") == 1
    made = encoder("jsonl")
    assert json.loads(made.end(EncoderEnd("cancelled", cause="user_stop")))["cause"] == "user_stop"


def test_there_is_no_keep_alive_and_nothing_follows_the_end() -> None:
    made = encoder("jsonl")
    assert (made.start(), made.keep_alive()) == (b"", b"")
    made.end(EncoderEnd("completed"))
    assert made.keep_alive() == made.encode(TextDelta("a")) == made.end(EncoderEnd("completed")) == b""


def test_its_content_type_is_that_of_json_lines() -> None:
    made = encoder("jsonl")
    assert made.content_type == made.headers["content-type"] == "application/x-ndjson"
