"""The numbers of small recordings, to the last digit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rxstream.errors import DecodeError, TransportError
from rxstream.events import (
    Cancelled,
    Finish,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
    Usage,
    UsageUpdate,
)
from rxstream.inspect import Facts, inspect_recording
from rxstream.inspect.gaps import Gap, gaps_of
from rxstream.recording.endings import Ending

from .kit import CHAT, recording, steady

EVENTS: list[Any] = [
    ResponseStart("r", "m", "p"),
    ReasoningDelta("hm"),
    TextDelta(""),
    TextDelta("Hel"),
    TextDelta("lo"),
    Finish("stop"),
    UsageUpdate(Usage(input_tokens=3, output_tokens=13, total_tokens=16)),
]


@pytest.fixture
def facts(tmp_path: Path) -> Facts:
    path = recording(tmp_path / "a.jsonl", steady(EVENTS, 0.5, begin=1.0), Ending("completed", 4.5))
    return inspect_recording(path)


def test_times_are_those_of_the_events(facts: Facts) -> None:
    assert (facts.origin, facts.wire, facts.ending, facts.seconds) == ("events", None, "completed", 4.5)
    assert list(facts.events.at) == [1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0]
    assert (facts.pace.first_chunk, facts.pace.first_event) == (None, 1.0)


def test_the_first_token_is_the_first_piece_that_is_not_empty(facts: Facts) -> None:
    assert (facts.pace.first_token, facts.pace.last_token) == (1.5, 3.0)
    assert (facts.pace.pieces, facts.pace.chars) == (3, 7)


def test_rates_count_what_came_after_the_first_over_the_time_after_it(facts: Facts) -> None:
    assert facts.pieces_per_second == 2 / 1.5
    assert facts.tokens_per_second == 12 / 1.5


def test_the_answer_is_the_one_that_collect_gives(facts: Facts) -> None:
    response = facts.response
    assert (response.outcome, response.text, response.reasoning) == ("completed", "Hello", "hm")
    assert response.usage.output_tokens == 13
    assert response.violations == []


def test_arguments_are_pieces_too(tmp_path: Path) -> None:
    events = [ToolCallStart("1", "f"), ToolCallDelta("1", '{"a"'), ToolCallDelta("1", ":1}")]
    pace = inspect_recording(recording(tmp_path / "a.jsonl", steady(events, 1.0))).pace
    assert (pace.first_event, pace.first_token, pace.last_token, pace.pieces) == (0.0, 1.0, 2.0, 2)


@pytest.mark.parametrize("pieces", [0, 1])
def test_a_rate_of_one_piece_is_unknown(tmp_path: Path, pieces: int) -> None:
    facts = inspect_recording(recording(tmp_path / "a.jsonl", steady([TextDelta("a")] * pieces, 1.0)))
    assert (facts.pieces_per_second, facts.tokens_per_second) == (None, None)


def test_an_event_has_the_time_of_the_chunk_that_completed_it(tmp_path: Path) -> None:
    body = b"".join(CHAT)
    middle = body.index(b"Hel") + 1
    items = [(1.0, body[:middle]), (3.0, body[middle:])]
    path = recording(tmp_path / "a.jsonl", items, Ending("left", 3.25), kind="bytes", wire="openai-chat")
    facts = inspect_recording(path)
    assert (facts.origin, facts.wire, facts.status, facts.ending, facts.seconds) == (
        "chunks", "openai-chat", 200, "left", 3.25,
    )  # fmt: skip
    assert (facts.chunks.count, facts.chunks.bytes, list(facts.chunks.size)) == (
        2, len(body), [middle, len(body) - middle],
    )  # fmt: skip
    assert (facts.pace.first_chunk, facts.pace.first_token) == (1.0, 3.0)


def test_chunks_and_the_end_behind_the_wires_own_end_are_counted(tmp_path: Path) -> None:
    items = steady([*CHAT, b": bye\n\n", b": bye\n\n"], 1.0)
    path = recording(tmp_path / "a.jsonl", items, Ending("completed", 99.0), kind="bytes", wire="openai-chat")
    facts = inspect_recording(path)
    assert (facts.chunks.count, facts.ending, facts.seconds) == (len(CHAT) + 2, "completed", 99.0)


def test_a_body_has_no_times_and_its_events_are_numbered(tmp_path: Path) -> None:
    path = tmp_path / "a.sse"
    path.write_bytes(b"".join(CHAT))
    facts = inspect_recording(path, wire="openai-chat")
    assert (facts.origin, facts.has_times, facts.gaps, facts.ending, facts.chunks.count) == (
        "body",
        False,
        None,
        None,
        0,
    )
    assert list(facts.events.at) == [float(number + 1) for number in range(facts.events.count)]
    assert (facts.pace.first_token, facts.pieces_per_second, facts.pace.pieces) == (None, None, 2)
    assert facts.response.text == "Hello"


@pytest.mark.parametrize(
    ("ending", "outcome"),
    [
        (Ending("error", 9.0, {"type": "TransportError", "message": "reset", "category": "transport"}), "failed"),
        (Ending("cancelled", 9.0, cause="budget"), "cancelled"),
        (Ending("full", 9.0), "failed"),
        (None, "failed"),
    ],
)
def test_how_it_ended_is_told(tmp_path: Path, ending: Ending | None, outcome: str) -> None:
    facts = inspect_recording(recording(tmp_path / "a.jsonl", [(1.0, TextDelta("a"))], ending))
    assert facts.ending == (None if ending is None else ending.kind)
    assert facts.response.outcome == outcome
    assert facts.response.text == "a"
    assert facts.seconds == (1.0 if ending is None else 9.0)
    if outcome == "failed":
        assert isinstance(facts.response.error, TransportError)
    else:
        assert facts.response.cancel_cause == "budget"


def test_a_body_that_breaks_off_is_indeterminate(tmp_path: Path) -> None:
    path = tmp_path / "a.sse"
    path.write_bytes(b"".join(CHAT)[: len(CHAT[0]) + 9])
    assert inspect_recording(path, wire="openai-chat").response.outcome == "indeterminate"


def test_what_the_answer_has_no_room_for_ends_it_and_is_still_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rxstream.inspect import gathering
    from rxstream.limits import Limits
    from rxstream.response.accumulator import Accumulator

    monkeypatch.setattr(gathering, "Accumulator", lambda: Accumulator(Limits(max_text_bytes=3)))
    facts = inspect_recording(recording(tmp_path / "a.jsonl", steady([TextDelta("aa")] * 5, 1.0)))
    assert (facts.response.outcome, facts.response.text, facts.events.count) == ("failed", "aa", 5)


def test_a_cancelled_stream_has_its_marble(tmp_path: Path) -> None:
    facts = inspect_recording(recording(tmp_path / "a.jsonl", [(1.0, TextDelta("a"))], Ending("cancelled", 2.0)))
    assert [told for lane in facts.events.told.values() for told in lane] == [
        ("disc", "text_delta: a"),
        ("stop", f"cancelled: {Cancelled().cause}"),
    ]


# Gaps ----------------------------------------------------------------------------------------------------------------


def test_gaps_are_counted_between_arrivals_only() -> None:
    times = [5.0, 5.0005, 5.0125, 5.0125, 6.5125, 26.5125]
    gaps = gaps_of(times, "chunks")
    assert gaps is not None
    assert gaps.counts == (2, 0, 0, 1, 0, 0, 0, 1, 0, 1)
    assert [(gap.after, gap.begins) for gap in gaps.largest] == [(5, 6.5125), (4, 5.0125), (2, 5.0005), (1, 5.0)]
    assert gaps.largest[0] == Gap(20.0, 5, 6.5125)
    assert (round(gaps.median, 6), round(gaps.p95, 6)) == (0.012, 20.0)


@pytest.mark.parametrize("times", [[], [1.0]])
def test_fewer_than_two_arrivals_have_no_gap(times: Sequence[float]) -> None:
    assert gaps_of(times, "chunks") is None


def test_a_clock_that_went_back_has_gaps_of_nothing() -> None:
    gaps = gaps_of([3.0, 2.0, 1.0], "events")
    assert gaps is not None
    assert (gaps.counts[0], gaps.largest) == (2, ())


# Wrong use -----------------------------------------------------------------------------------------------------------


def test_bytes_need_a_wire_and_a_recording_may_name_it(tmp_path: Path) -> None:
    path = recording(tmp_path / "a.jsonl", steady(CHAT, 0.1), kind="bytes")
    with pytest.raises(ValueError, match="which wire"):
        inspect_recording(path)
    with pytest.raises(ValueError, match="no wire 'nope'"):
        inspect_recording(path, wire="nope")
    assert inspect_recording(path, wire="openai-chat").response.text == "Hello"


def test_what_begins_as_a_recording_and_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"rxstream_recording":7}\n')
    with pytest.raises(DecodeError):
        inspect_recording(path)


def test_a_broken_line_ends_what_is_seen(tmp_path: Path) -> None:
    path = recording(tmp_path / "a.jsonl", steady(EVENTS[:4], 1.0))
    path.write_bytes(path.read_bytes() + b'{"t":"?"}\n')
    facts = inspect_recording(path)
    assert (facts.events.count, facts.response.outcome, type(facts.response.error)) == (4, "failed", DecodeError)


def test_two_choices_are_told_apart(tmp_path: Path) -> None:
    path = recording(tmp_path / "a.jsonl", steady([TextDelta("a", "p", 0), TextDelta("b", "q", 1)], 1.0))
    assert list(inspect_recording(path).events.choice) == [0, 1]
