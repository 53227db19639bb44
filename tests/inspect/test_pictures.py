"""The drawings: bounded, well-formed, and where they say that things are."""

from __future__ import annotations

import struct
import sys
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rxstream.events import EVENT_ADAPTER, Finish, TextDelta, ToolCall, ToolCallStart, Violation
from rxstream.inspect import Facts, Reader, inspect_recording, page, png, svg
from rxstream.inspect.facts import MAX_TOLD, EventPoints
from rxstream.inspect.kinds import GROUPS, KINDS, kind_of, label_of
from rxstream.inspect.lanes import MAX_LANES, clusters_of, density_of, lanes_of
from rxstream.inspect.picture import MissingRenderer
from rxstream.inspect.scale import Scale, rise
from rxstream.inspect.shapes import SHAPES, draw_shape
from rxstream.inspect.text import bytes_text, count_text, cut, number_text, safe, seconds_text
from rxstream.inspect.timeline_figure import LEFT, RIGHT
from rxstream.recording.endings import Ending
from tests.event_strategies import EVENT_TYPES

from .kit import recording, steady


def facts_of(tmp_path: Path, events: list[Any], every: float = 0.1, ending: Ending | None = None) -> Facts:
    end = ending or Ending("completed", every * len(events))
    return inspect_recording(recording(tmp_path / "a.jsonl", steady(events, every), end), Reader())


# Lanes and marbles ---------------------------------------------------------------------------------------------------


def test_every_event_has_a_lane_a_shape_and_words() -> None:
    assert set(KINDS) == set(EVENT_TYPES)
    for kind in KINDS.values():
        assert kind.group < len(GROUPS)
        ET.fromstring(f"<g>{draw_shape(kind.shape, 1, 2, 5.5, GROUPS[kind.group].colour)}</g>")
    assert {kind.shape for kind in KINDS.values()} == set(SHAPES)


def test_kinds_that_share_a_lane_have_shapes_of_their_own() -> None:
    pairs = [(kind.group, kind.shape) for kind in KINDS.values()]
    assert len(set(pairs)) == len(pairs)


def test_lanes_are_by_kind_and_by_choice_where_there_are_several(tmp_path: Path) -> None:
    one = facts_of(tmp_path, [TextDelta("a"), ToolCallStart("1", "f"), Finish("stop")])
    assert [lane.name for lane in lanes_of(one.events)[0]] == ["start and end", "text", "tool calls"]
    two = facts_of(tmp_path, [TextDelta("a", "p", 1), TextDelta("b", "q", 0), ToolCallStart("1", "f")])
    assert [lane.name for lane in lanes_of(two.events)[0]] == ["text, choice 0", "text, choice 1", "tool calls"]


def test_too_many_choices_are_counted_and_not_drawn(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, [TextDelta("a", "p", choice) for choice in range(100)])
    lanes, left_out = lanes_of(facts.events)
    assert (len(lanes), left_out) == (MAX_LANES, 100 - MAX_LANES)
    assert f"{100 - MAX_LANES} more lanes not drawn" in svg(facts)


def points(*marbles: tuple[float, Any]) -> EventPoints:
    events = EventPoints()
    for at, event in marbles:
        kind = kind_of(event)
        events.add(at, kind.group, 0, kind.shape, label_of(event))
    return events


def test_a_marble_stands_at_its_time_and_near_ones_are_one() -> None:
    events = points((0.0, TextDelta("a")), (5.0, TextDelta("b")), (5.01, TextDelta("c")), (10.0, TextDelta("d")))
    clusters = clusters_of(lanes_of(events)[0][0], events, Scale(10.0, 100.0, 1100.0))
    assert clusters is not None
    assert [(cluster.x, cluster.count) for cluster in clusters] == [(100.0, 1), (600.0, 2), (1100.0, 1)]
    assert clusters[1].told == ["text_delta: b", "text_delta: c"]
    assert clusters[1].radius > clusters[0].radius


def test_shapes_of_one_moment_stand_side_by_side_and_inside_the_drawing() -> None:
    events = points((10.0, ToolCallStart("1", "f")), (10.0, ToolCall("1", "f", "{}")))
    clusters = clusters_of(lanes_of(events)[0][0], events, Scale(10.0, 100.0, 1100.0))
    assert clusters is not None
    assert [(cluster.shape, cluster.x) for cluster in clusters] == [("play", 1090.0), ("square", 1100.0)]


def test_a_lane_with_too_many_is_drawn_as_density(tmp_path: Path) -> None:
    for count, is_density in ((MAX_TOLD, False), (MAX_TOLD + 1, True)):
        facts = facts_of(tmp_path, [TextDelta("a")] * count, 0.01)
        assert (clusters_of(lanes_of(facts.events)[0][0], facts.events, Scale(9.0, 0, 100)) is None) is is_density
        assert (" as density" in svg(facts)) is is_density


def test_density_counts_all_and_in_their_places() -> None:
    assert density_of([0.0, 0.5, 1.0, 9.9, 10.0], range(5), Scale(10.0, 0.0, 100.0), 10) == [
        2,
        1,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        2,
    ]


def test_what_is_drawn_does_not_grow_with_the_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rxstream.inspect import simulation

    monkeypatch.setattr(simulation, "MAX_EVENTS", 2_000)
    sizes = []
    for count in (3_000, 30_000):
        facts = facts_of(
            tmp_path, [TextDelta("a"), ToolCall("1", "f", "{}"), Violation("odd", "m")] * (count // 3), 0.01
        )
        sizes.append((len(svg(facts)), len(page(facts))))
    assert sizes[1][0] < sizes[0][0] * 1.3
    assert sizes[1][1] < 250_000


def test_the_axis_of_a_body_counts_events(tmp_path: Path) -> None:
    path = tmp_path / "a.sse"
    path.write_bytes(b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n')
    assert "event number" in svg(inspect_recording(path, wire="openai-chat"))


# Scales and words ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("high", [0.0, 1e-6, 0.0003, 0.04, 0.7, 1.0, 7.65, 59.0, 600.0, 5400.0, 86_400.0 * 30, 1e9])
@pytest.mark.parametrize("counts", [False, True])
def test_ticks_are_few_in_order_and_told_apart(high: float, counts: bool) -> None:
    scale = Scale(high, LEFT, RIGHT, counts=counts)
    ticks = scale.ticks()
    assert 1 <= len(ticks) <= 11
    assert all(one[0] < other[0] for one, other in pairwise(ticks))
    assert len({label for _, label in ticks}) == len(ticks)
    assert LEFT <= ticks[0][0] <= ticks[-1][0] <= RIGHT


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "unknown"), (0, "0 s"), (0.00085, "850 µs"), (0.041, "41 ms"), (0.9996, "1 s"), (1.237, "1.24 s"),
        (59.96, "1 min"), (725, "12 min 05 s"), (3600, "1 h"), (7500, "2 h 05 min"),
    ],
)  # fmt: skip
def test_a_time_has_the_unit_that_suits_it(seconds: float | None, text: str) -> None:
    assert seconds_text(seconds) == text


def test_counts_sizes_and_rates_are_told() -> None:
    assert (count_text(1, "chunk"), count_text(2400, "chunk"), count_text(None)) == (
        "1 chunk",
        "2,400 chunks",
        "unknown",
    )
    assert (bytes_text(512), bytes_text(3500), bytes_text(5 << 30)) == ("512 B", "3.42 KiB", "5 GiB")
    assert (number_text(None), number_text(39.17), number_text(1234.5)) == ("unknown", "39.2", "1,234")
    assert cut("abcdef", 3) == "abc … and 3 more characters"
    assert [rise(value, 10, 50) for value in (0, 0.01, 10)] == [0.0, 1.0, 50.0]


def test_nothing_of_a_text_is_markup_and_nothing_is_hidden() -> None:
    assert safe("<b>&\"'\x00\x1b\u202e\ud800\ufeff") == "&lt;b&gt;&amp;&quot;&#x27;␀␛[U+202E][U+D800][U+FEFF]"
    assert safe("a\n\tb é 你 🎉") == "a\n\tb é 你 🎉"


# The picture ---------------------------------------------------------------------------------------------------------

HOSTILE = '</title></svg><script>alert(1)</script>"\x00\ud800]]>'


def test_the_svg_is_well_formed_and_refers_to_nothing(tmp_path: Path) -> None:
    events = [TextDelta(HOSTILE), ToolCall("1", HOSTILE, "{}"), Violation(HOSTILE, HOSTILE), Finish("stop")]
    drawn = svg(facts_of(tmp_path, [EVENT_ADAPTER.validate_python(event) for event in events]))
    root = ET.fromstring(drawn)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert not any("href" in name or "src" in name for element in root.iter() for name in element.attrib)
    assert {element.tag.rpartition("}")[2] for element in root.iter()} <= {
        "svg", "style", "rect", "text", "path", "g", "circle", "polygon", "title",
    }  # fmt: skip
    assert "url(" not in drawn


@pytest.mark.parametrize("width", [200, 1600])
def test_the_picture_has_the_width_that_was_asked_for(tmp_path: Path, width: int) -> None:
    pytest.importorskip("resvg_py")
    facts = facts_of(tmp_path, [TextDelta("a"), Finish("stop")])
    drawn = png(facts, width)
    assert drawn.startswith(b"\x89PNG\r\n\x1a\n")
    got_width, got_height = struct.unpack(">II", drawn[16:24])
    sheet = ET.fromstring(svg(facts)).attrib
    assert got_width == width
    assert abs(got_height - width * float(sheet["height"]) / float(sheet["width"])) <= 1


def test_a_width_out_of_range_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="pixels wide"):
        png(facts_of(tmp_path, [TextDelta("a")]), 100_000)


def test_without_its_package_the_picture_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(MissingRenderer, match=r'pip install "rxstream\[inspect\]"'):
        png(facts_of(tmp_path, [TextDelta("a")]))
