"""A slow reader, in virtual time: how long the queue was, and when the source was paused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rxstream.events import TextDelta
from rxstream.inspect import Reader, inspect_recording, simulation
from rxstream.inspect.facts import QueueFacts
from rxstream.inspect.queue_figure import _steps, queue_sentence
from rxstream.inspect.scale import Scale
from rxstream.recording.endings import Ending

from .kit import CHAT, recording, steady


def queue_of(path: Path, *args: Any, **options: Any) -> QueueFacts:
    queue = inspect_recording(path, Reader(*args), **options).queue
    assert queue is not None
    return queue


def test_a_reader_that_keeps_up_lets_nothing_wait(tmp_path: Path) -> None:
    path = recording(tmp_path / "a.jsonl", steady([TextDelta("a")] * 10, 1.0), Ending("completed", 10.0))
    queue = queue_of(path, 2.0, 4)
    assert (queue.peak, queue.paused_seconds, queue.pauses, queue.taken, queue.seconds) == (1, 0.0, [], 10, 9.0)


def test_a_burst_fills_the_buffer_and_pauses_the_source(tmp_path: Path) -> None:
    """Ten at once, one a second, four may wait: at 2, 4 and 6 two are left, and two more come at once."""
    path = recording(tmp_path / "a.jsonl", [(0.0, TextDelta("a"))] * 10, Ending("completed", 0.0))
    queue = queue_of(path, 1.0, 4)
    assert (queue.peak, queue.taken, queue.seconds, queue.is_whole) == (4, 10, 9.0, True)
    assert (queue.pauses, queue.paused_seconds) == ([(0.0, 6.0)], 6.0)
    depth = dict(zip(queue.at, queue.depth, strict=True))  # the last of each moment
    assert [depth[float(second)] for second in range(10)] == [4, 3, 4, 3, 4, 3, 3, 2, 1, 0]


def test_a_burst_in_the_middle_waits_and_drains(tmp_path: Path) -> None:
    items = [*steady([TextDelta("a")] * 3, 1.0), *[(3.0, TextDelta("b"))] * 5]
    queue = queue_of(recording(tmp_path / "a.jsonl", items, Ending("completed", 3.0)), 1.0, 256)
    assert (queue.peak, queue.paused_seconds, queue.taken, queue.seconds) == (5, 0.0, 8, 7.0)


def test_an_error_ends_the_reading_after_what_waits(tmp_path: Path) -> None:
    path = recording(tmp_path / "a.jsonl", [(0.0, TextDelta("a"))] * 3, Ending("error", 0.0, {"message": "no"}))
    queue = queue_of(path, 10.0, 4)
    assert (queue.taken, round(queue.seconds, 6)) == (3, 0.2)


def test_a_body_is_simulated_as_if_it_came_at_once_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.sse"
    path.write_bytes(b"".join(CHAT))
    queue = queue_of(path, 5.0, 256, wire="openai-chat")
    assert queue.at_once
    assert queue.at[0] == queue.at[1] == 0.0
    assert "as if the whole body came at once" in queue_sentence(queue)


def test_it_is_said_to_be_simulated(tmp_path: Path) -> None:
    path = recording(tmp_path / "a.jsonl", steady([TextDelta("a")] * 3, 0.1), Ending("completed", 1.0))
    assert queue_sentence(queue_of(path)).startswith("Simulated, for no recording holds it")


def test_a_long_recording_is_played_in_part_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "MAX_EVENTS", 5)
    path = recording(tmp_path / "a.jsonl", steady([TextDelta("a")] * 9, 1.0), Ending("completed", 9.0))
    queue = queue_of(path, 100.0, 4)
    assert (queue.taken, queue.is_whole) == (5, False)
    assert "ended after 5 events" in queue_sentence(queue)


def test_times_that_are_no_times_are_not_played(tmp_path: Path) -> None:
    path = recording(tmp_path / "a.jsonl", [(0.0, TextDelta("a")), (1e300, TextDelta("b"))])
    assert inspect_recording(path, Reader()).queue is None


def test_a_time_before_the_last_one_is_that_one(tmp_path: Path) -> None:
    path = recording(tmp_path / "a.jsonl", [(0.0, TextDelta("a")), (1e300, TextDelta("b"))], Ending("completed", 9.0))
    facts = inspect_recording(path, Reader())
    assert (facts.queue, facts.seconds) == (None, 1e300)
    path = recording(tmp_path / "a.jsonl", [(5.0, TextDelta("a")), (2.0, TextDelta("b"))], Ending("completed", 1.0))
    facts = inspect_recording(path)
    assert (list(facts.events.at), facts.seconds) == ([5.0, 5.0], 5.0)


def test_nothing_is_simulated_where_nobody_asks_or_nothing_came(tmp_path: Path) -> None:
    path = recording(tmp_path / "a.jsonl", [], Ending("completed", 1.0))
    assert inspect_recording(path, Reader()).queue is None
    assert inspect_recording(recording(path, [(0.0, TextDelta("a"))])).queue is None


@pytest.mark.parametrize("wrong", [(0.0, 4), (-1.0, 4), (float("inf"), 4), (float("nan"), 4), (1.0, 0)])
def test_a_reader_that_cannot_be_is_refused(wrong: tuple[float, int]) -> None:
    with pytest.raises(ValueError, match="not"):
        Reader(*wrong)


def test_a_part_of_the_drawing_shows_the_shortest_and_the_longest_that_the_queue_was_in_it() -> None:
    queue = QueueFacts(1.0, 9, seconds=100.0)
    for at, depth in ((0.0, 1), (0.1, 7), (0.1, 3), (50.0, 5), (50.1, 2)):
        queue.at.append(at)
        queue.depth.append(depth)
    steps = list(_steps(queue, Scale(100.0, 0.0, 20.0)))  # ten parts of ten seconds
    assert [(low, high) for _, low, high in steps] == [(0, 7), *[(3, 3)] * 4, (2, 5), *[(2, 2)] * 4]
    assert [right for right, _, _ in steps] == [2.0 * part for part in range(1, 11)]
