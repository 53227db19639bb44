"""The file format: what is written is read again, after a crash too, and what is no recording is refused."""

from __future__ import annotations

import io
import json
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxstream.errors import (
    DecodeError,
    FramingError,
    ProviderError,
    RetryHint,
    StreamError,
    StreamTimeoutError,
    TransportError,
    TruncatedStreamError,
)
from rxstream.events import TextDelta
from rxstream.recording import (
    Ending,
    Header,
    Item,
    MemoryStore,
    RecordingFile,
    RecordingReader,
    ending_of,
    error_of,
    is_recording,
    read_recording,
)
from rxstream.recording.lines import parse_line, write_ending, write_header, write_item
from tests.event_strategies import related_events

HEADER = Header("bytes", "openai-chat", 200, {"content-type": "text/event-stream"})
ITEMS = (Item(0.0, b"\xff\x00data: "), Item(0.125, b"\xe4\xbd"))
ENDING = Ending("error", 1.5, {"type": "TransportError", "message": "broken"})
WHOLE = write_header(HEADER) + b"".join(map(write_item, ITEMS)) + write_ending(ENDING)


def read(data: bytes) -> tuple[Header, tuple[Item, ...], Ending | None]:
    reader = RecordingReader(io.BytesIO(data))
    items = tuple(reader)
    return reader.header, items, reader.ending


def test_what_is_written_is_read_again() -> None:
    assert read(WHOLE) == (HEADER, ITEMS, ENDING)


def test_a_recording_is_told_from_a_body_by_its_first_bytes() -> None:
    assert is_recording(WHOLE)
    assert not any(map(is_recording, (b"data: {}", b'{"error":{}}', b"[{", b"")))


@pytest.mark.parametrize("end", range(len(write_header(HEADER)), len(WHOLE)))
def test_a_recording_that_was_cut_has_all_whole_lines_and_no_ending(end: int) -> None:
    header, items, ending = read(WHOLE[:end])
    assert header == HEADER
    assert items == ITEMS[: len(items)]
    assert len(items) == WHOLE[:end].count(b"\n") - 1
    assert ending is None


def has_utf8(event: Any) -> bool:
    return "\\ud" not in repr(event)  # half a surrogate pair, as Python shows it


@given(st.lists(st.binary() | related_events.filter(has_utf8), max_size=5), st.floats(0, 1e6))
def test_any_chunk_and_any_event_is_read_again(values: list[Any], at: float) -> None:
    items = tuple(Item(round(at, 6), value) for value in values)
    data = write_header(Header("events")) + b"".join(map(write_item, items))
    assert read(data)[1] == items


def test_half_a_surrogate_pair_is_recorded_as_the_replacement_character() -> None:
    data = write_header(Header("events")) + write_item(Item(0, TextDelta("a\ud83d")))
    assert read(data)[1] == (Item(0.0, TextDelta("a\ufffd")),)


ERRORS = [
    TransportError("reset", status=502, retry=RetryHint(after_seconds=2.5)),
    StreamTimeoutError("read", limit_seconds=5, seen="the answer had begun"),
    TruncatedStreamError(),
    ProviderError("refused", status=401, code=7, provider_type="auth", category="authentication"),
    FramingError("bad bytes"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_comes_back_as_far_as_a_recording_can_tell(error: StreamError) -> None:
    again = error_of(json.loads(json.dumps(ending_of(error, 0).error)))
    assert str(again) == str(error)
    assert (again.public.category, again.public.retry) == (error.public.category, error.public.retry)
    if not isinstance(error, FramingError):
        assert type(again) is type(error)
        hidden = {"public", "_detail", "phase"}
        assert {k: v for k, v in vars(again).items() if k not in hidden} == {
            k: v for k, v in vars(error).items() if k not in hidden
        }


def test_the_message_of_somebody_elses_exception_is_not_recorded() -> None:
    ending = ending_of(ValueError("PLANTED"), 1)
    assert "PLANTED" not in repr(ending)
    assert str(error_of(ending.error or {})) == "the stream raised ValueError"


@pytest.mark.parametrize(
    "facts",
    [{}, {"type": 3, "category": "x", "retryable": "yes"}, {"type": "ProviderError", "status": "a", "code": []}],
)
def test_facts_that_do_not_fit_are_left_out(facts: dict[str, Any]) -> None:
    assert isinstance(error_of(facts), StreamError)


BAD_LINES = [
    b"x",
    b"[]",
    b'{"t":0}',
    b'{"t":-1,"bytes":""}',
    b'{"t":true,"bytes":""}',
    b'{"t":NaN,"bytes":""}',
    b'{"t":0,"bytes":"%"}',
    b'{"t":0,"event":{"type":"x"}}',
    b'{"t":0,"end":"never"}',
    b"[" * 100_000,
]


@pytest.mark.parametrize("line", BAD_LINES, ids=range(len(BAD_LINES)))
def test_a_line_that_is_none_is_an_error_that_names_it_and_shows_nothing(line: bytes) -> None:
    with pytest.raises(DecodeError) as caught:
        parse_line(line, 7)
    assert str(caught.value) == "line 7 is not one of a recording"
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    "start", [b"", b"data: 1\n", b'{"rxstream_recording":2}\n', b'{"rxstream_recording":1,"kind":"x"}\n']
)
def test_what_is_no_recording_is_refused(start: bytes) -> None:
    with pytest.raises(DecodeError):
        RecordingReader(io.BytesIO(start))


def test_a_file_is_for_its_owner_only_and_replaces_a_recording(tmp_path: Path) -> None:
    store = RecordingFile(tmp_path / "r.jsonl")
    for text in (b"one", b"two"):
        writer = store.begin()
        writer.write(write_header(HEADER))
        writer.write(write_item(Item(0, text)))
        writer.close()
        writer.close()
    assert stat.S_IMODE((tmp_path / "r.jsonl").stat().st_mode) == 0o600
    assert [item.value for item in read_recording(tmp_path / "r.jsonl").items] == [b"two"]


def test_two_writers_of_one_file_never_mix(tmp_path: Path) -> None:
    store = RecordingFile(tmp_path / "r.jsonl")
    first, second = store.begin(), store.begin()
    for writer in (first, second):
        writer.write(write_header(HEADER))
    first.write(write_item(Item(0, b"first")))
    second.write(write_item(Item(0, b"second")))
    first.close()
    second.close()
    assert [item.value for item in read_recording(tmp_path / "r.jsonl").items] == [b"second"]


def test_a_file_that_is_no_recording_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match=r"notes\.txt"):
        RecordingFile(tmp_path / "notes.txt").begin()
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_memory_holds_the_last_recording() -> None:
    store = MemoryStore(wire="anthropic")
    with pytest.raises(DecodeError):
        store.recording()
    writer = store.begin()
    writer.write(write_header(Header("events")))
    writer.write(write_item(Item(1, TextDelta("a"))))
    assert store.recording().items == (Item(1.0, TextDelta("a")),)
    assert store.recording().ending is None
