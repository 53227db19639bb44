"""The shared conformance cases of NDJSON, JSON arrays and AWS event streams, in every cut, on both faces."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rxstream.framing.eventstream import EventStreamParser
from rxstream.framing.frames import EventStreamFrame, Framing, HeaderValue
from rxstream.framing.json_array import JSONArrayParser
from rxstream.framing.json_text import json_verdict
from rxstream.framing.ndjson import NDJSONParser
from rxstream.limits import Limits
from rxstream.testing import cut, every_two_way_cut
from tests.framing.outcome import kind_of, outcome, payload_outcome
from tests.shared_data import SHARED, needs_shared, shared_files

pytestmark = needs_shared

DEEP = Limits(max_json_depth=20_001)
Case = dict[str, Any]
Made = Callable[[], Framing[Any]]


def cases_of(name: str) -> list[Case]:
    path = SHARED / "conformance" / f"{name}.json"
    return list(json.loads(path.read_text())["cases"]) if path.exists() else []


def each_case(name: str, **wanted: str) -> pytest.MarkDecorator:
    """Parametrize over a file's cases; over those alone whose alternatives give a reason that begins so."""
    cases = cases_of(name)
    for key, start in wanted.items():
        cases = [case for case in cases if any(other[key].startswith(start) for other in case["alternatives"])]
    return pytest.mark.parametrize("case", cases, ids=[case["name"] for case in cases])


def chunks_of(case: Case) -> list[bytes]:
    if "hex" in case:
        return [bytes.fromhex(chunk) for chunk in case["chunks"]]
    return [base64.b64decode(chunk) for chunk in case["chunks"]]


def every_cut(chunks: list[bytes]) -> Iterator[list[bytes]]:
    wire = b"".join(chunks)
    yield chunks
    yield [wire]
    yield cut(wire, 1 if len(wire) < 20_000 else 100)
    yield from every_two_way_cut(wire, sample=None if len(wire) <= 400 else 40 if len(wire) < 20_000 else 4)


def in_every_cut(case: Case, make: Made) -> tuple[list[Any], str | None]:
    """The frames and the kind of fault, which must be the same in every cut and on both faces."""
    chunks = chunks_of(case)
    frames, fault = outcome(make(), [b"".join(chunks)])
    for parts in every_cut(chunks):
        assert outcome(make(), parts) == (frames, fault)
        assert payload_outcome(make(), parts) == (frames, fault)
    return frames, kind_of(fault)


def assert_ready_at(case: Case, make: Made, places: list[int | None]) -> None:
    """Each frame is out with the byte that makes it known; None is the end of input."""
    wire = b"".join(chunks_of(case))
    parser = make()
    seen: list[int | None] = []
    for place in range(len(wire)):
        seen += [place + 1 for _ in parser.feed_payloads(wire[place : place + 1])]
    seen += [None for _ in parser.close_payloads()]
    assert seen[: len(places)] == places


class TestNDJSON:
    """Here framing and reading the records together make the outcome."""

    @staticmethod
    def read(frames: list[bytes], kind: str | None) -> tuple[list[bytes], str | None]:
        for count, frame in enumerate(frames):
            try:
                frame.decode()
            except UnicodeDecodeError:
                return frames[:count], "invalid_utf8"
            if json_verdict(frame) != "complete":
                return frames[:count], "invalid_json"
        return frames, kind

    @each_case("ndjson")
    def test_records_and_faults_are_the_expected_ones(self, case: Case) -> None:
        expected = [record.encode("utf-8", "surrogatepass") for record in case["records"]]
        error = case["error"] and case["error"]["kind"]
        assert self.read(*in_every_cut(case, NDJSONParser)) == (expected, error)

    @each_case("ndjson")
    def test_a_record_is_out_with_its_line_feed(self, case: Case) -> None:
        assert_ready_at(case, NDJSONParser, case["ready_at"])

    @each_case("ndjson", why="strict NDJSON")
    def test_a_strict_end_wants_a_line_feed_behind_every_record(self, case: Case) -> None:
        frames, kind = in_every_cut(case, lambda: NDJSONParser(at_eof="strict"))
        (other,) = [other for other in case["alternatives"] if other["why"].startswith("strict NDJSON")]
        assert ([json.loads(frame) for frame in frames], kind) == (other["values"], other["error"])

    @each_case("ndjson", why="strict")
    def test_a_blank_line_can_be_a_fault(self, case: Case) -> None:
        blank = [other for other in case["alternatives"] if other["error"] == "invalid_json"]
        frames, kind = in_every_cut(case, lambda: NDJSONParser(blank_lines="fail"))
        for other in blank:
            assert ([json.loads(frame) for frame in frames], kind) == (other["values"], other["error"])
        assert blank or kind is None


class TestJSONArray:
    """Here the framing alone makes the outcome."""

    @each_case("jsonarray")
    def test_elements_and_faults_are_the_expected_ones(self, case: Case) -> None:
        frames, kind = in_every_cut(case, lambda: JSONArrayParser(limits=DEEP))
        expected = [record.encode("utf-8", "surrogatepass") for record in case["records"]]
        assert (frames, kind) == (expected, case["error"] and case["error"]["kind"])

    @each_case("jsonarray")
    def test_an_element_is_out_as_soon_as_it_is_known(self, case: Case) -> None:
        assert_ready_at(case, lambda: JSONArrayParser(limits=DEEP), case["ready_at"])

    @each_case("jsonarray", why="a client may take a bare object")
    def test_a_bare_object_can_be_the_only_element(self, case: Case) -> None:
        frames, kind = in_every_cut(case, lambda: JSONArrayParser(bare_object=True))
        assert ([json.loads(frame) for frame in frames], kind) == (case["alternatives"][0]["values"], None)

    @each_case("jsonarray", why="a reader of concatenated documents")
    def test_arrays_can_follow_each_other(self, case: Case) -> None:
        frames, kind = in_every_cut(case, lambda: JSONArrayParser(concatenated=True))
        assert ([json.loads(frame) for frame in frames], kind) == (case["alternatives"][0]["values"], None)

    @each_case("jsonarray", why="errors='replace'")
    def test_bytes_that_are_no_text_can_be_replaced(self, case: Case) -> None:
        frames, kind = in_every_cut(case, lambda: JSONArrayParser(utf8_errors="replace"))
        wire = b"".join(chunks_of(case)).decode("utf-8", "replace")
        assert ([json.loads(frame) for frame in frames], kind) == (json.loads(wire), None)

    def test_an_element_nested_too_deep_fails_by_default(self) -> None:
        (case,) = [case for case in cases_of("jsonarray") if case["name"] == "deep_nesting_20000"]
        assert in_every_cut(case, JSONArrayParser) == ([b"1"], "too_deep")


class TestEventStream:
    """Here the framing alone makes the outcome."""

    @staticmethod
    def expected_frames(case: Case) -> list[EventStreamFrame]:
        def value(header: dict[str, Any]) -> HeaderValue:
            raw: HeaderValue = header["value"]
            return bytes.fromhex(str(raw)) if header["type"] == "bytes" else raw

        return [
            EventStreamFrame(
                {header["name"]: value(header) for header in message["headers"]}, bytes.fromhex(message["payload"])
            )
            for message in case["expected"]["messages"]
        ]

    @pytest.mark.parametrize("case", cases_of("eventstream"), ids=lambda case: case["name"])
    def test_messages_and_faults_are_the_expected_ones(self, case: Case) -> None:
        frames, kind = in_every_cut(case, EventStreamParser)
        expected = self.expected_frames(case)
        assert (frames, kind) == (expected, case["expected"]["error"])
        assert [list(frame.headers) for frame in frames] == [list(frame.headers) for frame in expected]

    @pytest.mark.parametrize("case", cases_of("eventstream"), ids=lambda case: case["name"])
    def test_messages_and_faults_are_out_with_the_byte_that_makes_them_known(self, case: Case) -> None:
        assert_ready_at(case, EventStreamParser, case["expected"]["ready_at"])
        place = case["expected"]["error_at"]
        if place is not None:
            wire = b"".join(chunks_of(case))
            before, after = EventStreamParser(), EventStreamParser()
            before.feed_payloads(wire[: place - 1])
            after.feed_payloads(wire[:place])
            assert before.error is None
            assert after.error is not None


class TestRecordings:
    """What servers really sent."""

    @pytest.mark.parametrize("path", shared_files("recordings/*/*.ndjson"), ids=lambda path: path.stem)
    def test_a_recorded_ndjson_stream(self, path: Any) -> None:
        wire = path.read_bytes()
        frames, fault = payload_outcome(NDJSONParser(), [wire])
        assert fault is None
        assert [json.loads(frame) for frame in frames if isinstance(frame, bytes)] == [
            json.loads(line) for line in wire.split(b"\n") if line.strip()
        ]
        for size in (1, 100, 16_384):
            assert payload_outcome(NDJSONParser(), cut(wire, size)) == (frames, None)

    @pytest.mark.parametrize("path", shared_files("recordings/gemini/*array*.json"), ids=lambda path: path.stem)
    def test_a_recorded_array(self, path: Any) -> None:
        wire = path.read_bytes()
        frames, fault = payload_outcome(JSONArrayParser(), [wire])
        assert fault is None
        assert [json.loads(frame) for frame in frames if isinstance(frame, bytes)] == json.loads(wire)
        for size in (1, 100, 16_384):
            assert payload_outcome(JSONArrayParser(), cut(wire, size)) == (frames, None)

    @pytest.mark.parametrize("path", shared_files("recordings/*/*.eventstream"), ids=lambda path: path.stem)
    def test_a_recorded_event_stream(self, path: Any) -> None:
        wire = path.read_bytes()
        frames, fault = payload_outcome(EventStreamParser(), [wire])
        assert frames
        assert kind_of(fault) in (None, "truncated")
        for frame in frames:
            assert isinstance(frame, EventStreamFrame)
            assert frame.message_type in ("event", "exception")
            json.loads(frame.payload)
        for size in (100, 16_384):
            assert payload_outcome(EventStreamParser(), cut(wire, size)) == (frames, fault)
