"""The shared conformance cases of event streams, in every cut, on both faces."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from rxstream.framing.frames import SSEFrame
from rxstream.framing.sse import SSEParser
from rxstream.testing import cut, every_two_way_cut
from tests.framing.sse_outcome import is_same_event, outcome, payload_outcome, reference_events
from tests.shared_data import SHARED, needs_shared, shared_files

pytestmark = needs_shared

CASES_FILE = SHARED / "conformance" / "sse.json"
CASES: list[dict[str, Any]] = json.loads(CASES_FILE.read_text())["cases"] if CASES_FILE.exists() else []
each_case = pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])


def wire_of(case: dict[str, Any]) -> list[bytes]:
    return [base64.b64decode(chunk) for chunk in case["chunks"]]


def frame_of(event: dict[str, Any], *, ignore_retry: bool = False) -> SSEFrame:
    return SSEFrame(event["data"], event["event"], event["id"], None if ignore_retry else event["retry"])


def every_cut(chunks: list[bytes]) -> Iterator[list[bytes]]:
    wire = b"".join(chunks)
    yield chunks
    yield [wire]
    yield cut(wire, 1)
    yield from every_two_way_cut(wire, sample=None if len(wire) <= 400 else 100)


@each_case
def test_the_events_are_those_of_the_standard_in_every_cut(case: dict[str, Any]) -> None:
    ignore_retry = case.get("ignore_retry", False)
    expected = [frame_of(event, ignore_retry=ignore_retry) for event in case["events"]]
    for chunks in every_cut(wire_of(case)):
        parser = SSEParser(at_eof="strict")
        frames, error = outcome(parser, chunks)
        if ignore_retry:
            frames = [SSEFrame(frame.data, frame.event, frame.id) for frame in frames]
        else:
            assert list(parser.retries) == case["retries"]
        assert (frames, error) == (expected, None)
        assert parser.last_event_id == case["last_event_id"]


@each_case
def test_the_hot_path_gives_the_same_events_in_every_cut(case: dict[str, Any]) -> None:
    whole = b"".join(wire_of(case))
    frames, _ = outcome(SSEParser(at_eof="strict"), [whole])
    expected = payload_outcome(SSEParser(at_eof="strict"), [whole])
    for chunks in every_cut(wire_of(case)):
        parser = SSEParser(at_eof="strict")
        payloads, error = payload_outcome(parser, chunks)
        assert (payloads, error) == expected
        assert len(payloads) == len(frames)
        assert all(map(is_same_event, payloads, frames))
        assert parser.last_event_id == case["last_event_id"]


@each_case
def test_an_event_is_out_with_the_byte_that_completes_it(case: dict[str, Any]) -> None:
    wire = b"".join(wire_of(case))
    by_frames, by_payloads = SSEParser(), SSEParser()
    frame_places: list[int] = []
    payload_places: list[int] = []
    for place in range(len(wire)):
        byte = wire[place : place + 1]
        frame_places += [place + 1 for _ in by_frames.feed(byte)]
        payload_places += [place + 1 for _ in by_payloads.feed_payloads(byte)]
    assert frame_places == payload_places == case["ready_at"]


@each_case
def test_an_event_is_out_with_the_chunk_that_completes_it(case: dict[str, Any]) -> None:
    wire = b"".join(wire_of(case))
    for count, place in enumerate(case["ready_at"], start=1):
        assert len(SSEParser().feed_payloads(wire[:place])) == count
        assert len(list(SSEParser().feed(wire[:place]))) == count


@each_case
def test_the_lenient_end_delivers_what_is_whole_and_fails_for_the_rest(case: dict[str, Any]) -> None:
    left = case["at_eof"]["lenient_event"]
    is_whole = left is not None and left["data"] in ("[DONE]",)  # the cases leave no JSON object open
    ignore_retry = case.get("ignore_retry", False)
    expected = [*case["events"], left] if is_whole else case["events"]
    for chunks in every_cut(wire_of(case)):
        frames, error = outcome(SSEParser(), chunks)
        payloads, payload_error = payload_outcome(SSEParser(), chunks)
        assert len(frames) == len(payloads) == len(expected)
        if not ignore_retry:
            assert frames == [frame_of(event) for event in expected]
        assert (error is not None) == (left is not None and not is_whole)
        assert error == payload_error


@pytest.mark.parametrize("path", shared_files("recordings/*/*.sse"), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_recorded_stream_gives_the_same_events_in_every_cut(path: Any) -> None:
    wire = path.read_bytes()
    expected = reference_events(wire)
    payloads, _ = payload_outcome(SSEParser(at_eof="strict"), [wire])
    assert len(payloads) == len(expected)
    assert all(map(is_same_event, payloads, expected))
    for size in (1000, 16384) if len(wire) > 20_000 else (7, 100, 1000):
        assert payload_outcome(SSEParser(at_eof="strict"), cut(wire, size)) == (payloads, None)
        assert outcome(SSEParser(at_eof="strict"), cut(wire, size)) == (expected, None)
