"""What each of Rx's own operators does with demand: the table, and the page of the docs that is made of it.

    python -m tests.flow.operator_table        writes docs/operators-and-demand.md

`test_operator_table.py` runs every row: a row that stands under the wrong kind fails there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any, cast

import reactivex as rx
from reactivex import Observable, Observer
from reactivex import operators as rx_ops
from reactivex.scheduler.eventloop import AsyncIOScheduler
from reactivex.subject import Subject

from rxstream.sources import from_aiter, from_iterable
from tests.flow.kit import told_async

PAGE = Path(__file__).parents[2] / "docs" / "operators-and-demand.md"

Make = Callable[[Observable[Any]], Any]


@dataclass(frozen=True)
class Kind:
    """A way of dealing with demand."""

    name: str
    title: str
    text: str


@dataclass(frozen=True)
class Row:
    """One operator.

    Args:
        name: as in `reactivex.operators`.
        kind: what the test holds it to.
        make: the operator on a source of 0, 1, 2, ...; under `FLATTENS`, on a source of observables.
        needs: how many items it reads for its first output, where it is transparent.
        note: what else a user should know.
    """

    name: str
    kind: Kind
    make: Make
    needs: int = 1
    note: str = ""


TRANSPARENT = Kind(
    "transparent",
    "Transparent",
    "Passes items on inside the call. One pull reads no more than its output needs; nothing is kept; a buffer's bounds "
    "above and below stay exact.",
)
ENDS_EARLY = Kind(
    "ends early",
    "Transparent, and ends early",
    "The same, until it has its answer: then it disposes the source, which is read no further.",
)
FOLDS = Kind(
    "folds",
    "Answers at the end",
    "One pull reads the whole source, for there is no output before its end. It keeps its state only, where the note "
    "says nothing else.",
)
COLLECTS = Kind(
    "collects",
    "Collects everything",
    "One pull reads the whole source, and all of it is in memory, without a bound. `rxs.fold` and `rxs.collect` have "
    "one.",
)
FLATTENS = Kind(
    "flattens",
    "Flattens",
    "Each inner stream is paced: at most one item in hand, nothing kept. One that has its items already "
    "(`rx.just`, `rxs.from_iterable`) sends the first before the outer stream goes on. While inner streams wait for "
    "theirs, the outer one is read on for as long as a pull waits, so they are begun as fast as it gives them: keep it "
    "short, or slow. Rx's own `of`, `from_iterable` and `range` send all their items at once; `rxs.from_iterable` asks "
    "before each.",
)
DROPS = Kind(
    "drops",
    "Lets only some through",
    "Reads on while a pull waits and drops what does not count. Fit for progress and pictures; not for text and calls.",
)
HOLDS = Kind(
    "holds",
    "Holds items itself",
    "Keeps items in a list of its own, without a bound, or sends them when nobody asked. Put `ops.bounded_buffer()` "
    "below it; what comes unasked to a consumer is kept up to `Limits.max_unapplied_events`, then the stream fails.",
)
WINDOWS = Kind(
    "windows",
    "Gives out streams",
    "Its items are streams fed by a subject, which cannot pause: they run at the pace of whoever pulls the outer "
    "stream, and what an inner stream sends while nobody listens is lost.",
)
MULTICASTS = Kind(
    "multicasts",
    "Shares one source",
    "Only the first subscriber's demand reaches the source; the others are sent what the first one asked for. "
    "`ops.fan_out` and `ops.share_bounded` pace by every subscriber.",
)
RESCHEDULES = Kind(
    "reschedules",
    "Replaces the scheduler",
    "Demand does not reach the source, which is read at once and at its own pace.",
)
LEAVES = Kind(
    "leaves",
    "Leaves Rx",
    "It subscribes by itself, without demand. `rxs.iterate`, `rxs.fold` and `rxs.collect` take its place.",
)
KINDS = (
    TRANSPARENT,
    ENDS_EARLY,
    FLATTENS,
    FOLDS,
    COLLECTS,
    DROPS,
    HOLDS,
    WINDOWS,
    MULTICASTS,
    RESCHEDULES,
    LEAVES,
)


def few() -> Observable[Any]:
    """Another source, paced like the first."""
    return from_iterable("abc")


def late() -> Observable[Any]:
    """Another source, whose first item takes a second."""
    return paced("abc", repeat(1.0))


def paced(items: Iterable[Any], waits: Iterable[float]) -> Observable[Any]:
    """Another source, which waits before each read."""
    return rx.defer(lambda _: from_aiter(told_async(items, [], waits=waits)))


def loop_scheduler() -> AsyncIOScheduler:
    """A scheduler without demand."""
    return AsyncIOScheduler(asyncio.get_running_loop())


def _again_once() -> Callable[[Any], bool]:
    answers = iter([True, False])
    return lambda _: next(answers)


def _pairs(*operators: Any) -> Make:
    return lambda source: source.pipe(rx_ops.map(lambda n: (n, n)), *operators)


def _shared(operator: Callable[[], Any]) -> Make:
    return lambda source: source.pipe(operator(), rx_ops.ref_count())


CLOCK = "Its clock runs while nobody pulls: a slow consumer makes it fire. `ops.idle_timeout` counts open time only."
LATEST = "The inner stream before the latest is disposed."
COUNTED = "Keeps up to `count` items, and reads so many for its first output."
MERGED = "Each source has at most one item in hand. `merge(max_concurrent=n)` flattens, as `concat_map` does."
SKIPPED = "What it leaves out is read all the same."
OWN_VALUES = "The values given to it are sent at once, unasked."

ROWS = (
    Row("all", ENDS_EARLY, rx_ops.all(lambda n: n < 50)),
    Row("amb", TRANSPARENT, rx_ops.amb(rx.never())),
    Row("as_observable", TRANSPARENT, rx_ops.as_observable()),
    Row("average", FOLDS, rx_ops.average()),
    Row("buffer", HOLDS, lambda source: source.pipe(rx_ops.buffer(rx.interval(1.0)))),
    Row(
        "buffer_toggle",
        HOLDS,
        lambda source: source.pipe(rx_ops.buffer_toggle(rx.interval(1.0), lambda _: rx.timer(0.5))),
    ),
    Row("buffer_when", HOLDS, lambda source: source.pipe(rx_ops.buffer_when(lambda: rx.timer(1.0)))),
    Row("buffer_with_count", TRANSPARENT, rx_ops.buffer_with_count(5), 5, COUNTED),
    Row("buffer_with_time", HOLDS, rx_ops.buffer_with_time(1.0)),
    Row("buffer_with_time_or_count", HOLDS, rx_ops.buffer_with_time_or_count(1.0, 50)),
    Row("catch", TRANSPARENT, rx_ops.catch(rx.empty())),
    Row("combine_latest", DROPS, rx_ops.combine_latest(paced("a", [1.0])), note="Keeps the latest of each source."),
    Row("concat", TRANSPARENT, rx_ops.concat(few())),
    Row("concat_all", FLATTENS, rx_ops.concat_all(), note="One at a time: those that came too early wait in a list."),
    Row(
        "concat_map",
        FLATTENS,
        rx_ops.concat_map(lambda inner: inner),
        note="One at a time: those that came too early wait in a list.",
    ),
    Row("contains", ENDS_EARLY, rx_ops.contains(5)),
    Row("count", FOLDS, rx_ops.count()),
    Row("debounce", DROPS, rx_ops.debounce(0.5)),
    Row("default_if_empty", TRANSPARENT, rx_ops.default_if_empty(0)),
    Row("delay", HOLDS, rx_ops.delay(0.1)),
    Row("delay_subscription", TRANSPARENT, rx_ops.delay_subscription(1.0)),
    Row("delay_with_mapper", HOLDS, rx_ops.delay_with_mapper(lambda _: rx.timer(0.1))),
    Row("dematerialize", TRANSPARENT, lambda source: source.pipe(rx_ops.materialize(), rx_ops.dematerialize())),
    Row("distinct", TRANSPARENT, rx_ops.distinct(), note="Keeps every key it has seen, without a bound."),
    Row("distinct_until_changed", TRANSPARENT, rx_ops.distinct_until_changed()),
    Row("do", TRANSPARENT, rx_ops.do(Observer())),
    Row("do_action", TRANSPARENT, rx_ops.do_action(lambda _: None)),
    Row("do_while", TRANSPARENT, rx_ops.do_while(lambda _: False)),
    Row("element_at", ENDS_EARLY, rx_ops.element_at(3)),
    Row("element_at_or_default", ENDS_EARLY, rx_ops.element_at_or_default(3)),
    Row("exclusive", FLATTENS, rx_ops.exclusive(), note="Inner streams that come while one runs are dropped."),
    Row("expand", FLATTENS, rx_ops.expand(lambda item: item if isinstance(item, Observable) else rx.empty())),
    Row("filter", TRANSPARENT, rx_ops.filter(lambda _: True), note=SKIPPED),
    Row("filter_indexed", TRANSPARENT, rx_ops.filter_indexed(lambda _, index: True), note=SKIPPED),
    Row("finally_action", TRANSPARENT, rx_ops.finally_action(lambda: None)),
    Row("find", ENDS_EARLY, rx_ops.find(lambda n, index, source: n == 5)),
    Row("find_index", ENDS_EARLY, rx_ops.find_index(lambda n, index, source: n == 5)),
    Row("first", ENDS_EARLY, rx_ops.first()),
    Row("first_or_default", ENDS_EARLY, rx_ops.first_or_default()),
    Row("flat_map", FLATTENS, rx_ops.flat_map(lambda inner: inner)),
    Row("flat_map_indexed", FLATTENS, rx_ops.flat_map_indexed(lambda inner, index: inner)),
    Row("flat_map_latest", FLATTENS, rx_ops.flat_map_latest(lambda inner: inner), note=LATEST),
    Row("fork_join", FOLDS, rx_ops.fork_join(few())),
    Row("group_by", WINDOWS, rx_ops.group_by(lambda n: n % 2)),
    Row("group_by_until", WINDOWS, rx_ops.group_by_until(lambda n: n % 2, None, lambda _: rx.never())),
    Row("group_join", WINDOWS, rx_ops.group_join(few(), lambda _: rx.never(), lambda _: rx.never())),
    Row("ignore_elements", FOLDS, rx_ops.ignore_elements(), note="No answer: only the end."),
    Row("is_empty", ENDS_EARLY, rx_ops.is_empty()),
    Row("join", HOLDS, rx_ops.join(few(), lambda _: rx.never(), lambda _: rx.never())),
    Row("last", FOLDS, rx_ops.last()),
    Row("last_or_default", FOLDS, rx_ops.last_or_default()),
    Row("map", TRANSPARENT, rx_ops.map(lambda n: n)),
    Row("map_indexed", TRANSPARENT, rx_ops.map_indexed(lambda n, index: n)),
    Row("materialize", TRANSPARENT, rx_ops.materialize()),
    Row("max", FOLDS, rx_ops.max()),
    Row("max_by", FOLDS, rx_ops.max_by(lambda n: n), note="Keeps every item of the greatest key."),
    Row("merge", TRANSPARENT, rx_ops.merge(rx.empty()), note=MERGED),
    Row("merge_all", FLATTENS, rx_ops.merge_all()),
    Row("min", FOLDS, rx_ops.min()),
    Row("min_by", FOLDS, rx_ops.min_by(lambda n: n), note="Keeps every item of the least key."),
    Row(
        "multicast",
        MULTICASTS,
        _shared(lambda: rx_ops.multicast(Subject())),
        note="`connect()` without a scheduler has no demand at all.",
    ),
    Row(
        "observe_on",
        HOLDS,
        lambda source: source.pipe(rx_ops.observe_on(loop_scheduler())),
        note="The source runs ahead until the scheduler has its turn.",
    ),
    Row("on_error_resume_next", TRANSPARENT, rx_ops.on_error_resume_next(few())),
    Row("pairwise", TRANSPARENT, rx_ops.pairwise(), 2, "Reads two items for its first output."),
    Row("partition", MULTICASTS, rx_ops.partition(lambda n: n % 2 == 0), note="A pair of streams."),
    Row(
        "partition_indexed",
        MULTICASTS,
        rx_ops.partition_indexed(lambda n, index: n % 2 == 0),
        note="A pair of streams.",
    ),
    Row("pluck", TRANSPARENT, lambda source: source.pipe(rx_ops.map(lambda n: {"n": n}), rx_ops.pluck("n"))),
    Row("pluck_attr", TRANSPARENT, rx_ops.pluck_attr("real")),
    Row("publish", MULTICASTS, _shared(rx_ops.publish), note="`connect()` without a scheduler has no demand at all."),
    Row(
        "publish_value",
        MULTICASTS,
        _shared(lambda: rx_ops.publish_value(0)),
        note="The value is sent at once, unasked.",
    ),
    Row("reduce", FOLDS, rx_ops.reduce(lambda total, n: total + n)),
    Row("ref_count", MULTICASTS, _shared(rx_ops.publish)),
    Row("repeat", TRANSPARENT, rx_ops.repeat(1)),
    Row(
        "replay",
        MULTICASTS,
        _shared(lambda: rx_ops.replay(buffer_size=5)),
        note="A late subscriber is sent all that is kept, unasked; without `buffer_size` that has no bound.",
    ),
    Row(
        "retry",
        TRANSPARENT,
        rx_ops.retry(2),
        note="What came before the failure comes again; `ops.retry_before_output` retries only while nothing came.",
    ),
    Row("sample", DROPS, rx_ops.sample(1.0)),
    Row("scan", TRANSPARENT, rx_ops.scan(lambda total, n: total + n)),
    Row(
        "sequence_equal",
        FOLDS,
        rx_ops.sequence_equal(paced(range(200), [500.0])),
        note="Items of the faster source wait in a list, without a bound.",
    ),
    Row("share", MULTICASTS, rx_ops.share()),
    Row("single", FOLDS, rx_ops.single(lambda n: n == 5)),
    Row("single_or_default", FOLDS, rx_ops.single_or_default(lambda n: n == 5)),
    Row(
        "single_or_default_async",
        FOLDS,
        lambda source: source.pipe(rx_ops.filter(lambda n: n == 5), rx_ops.single_or_default_async(True)),
    ),
    Row("skip", TRANSPARENT, rx_ops.skip(3), 4, SKIPPED),
    Row("skip_last", TRANSPARENT, rx_ops.skip_last(3), 4, COUNTED),
    Row("skip_last_with_time", HOLDS, rx_ops.skip_last_with_time(1.0)),
    Row("skip_until", DROPS, lambda source: source.pipe(rx_ops.skip_until(rx.timer(3.0)))),
    Row("skip_until_with_time", DROPS, rx_ops.skip_until_with_time(3.0)),
    Row("skip_while", TRANSPARENT, rx_ops.skip_while(lambda n: n < 3), 4, SKIPPED),
    Row("skip_while_indexed", TRANSPARENT, rx_ops.skip_while_indexed(lambda n, index: index < 3), 4, SKIPPED),
    Row("skip_with_time", DROPS, rx_ops.skip_with_time(3.0)),
    Row("slice", ENDS_EARLY, rx_ops.slice(1, 100, 2), 2),
    Row("some", ENDS_EARLY, rx_ops.some(lambda n: n == 5)),
    Row("starmap", TRANSPARENT, _pairs(rx_ops.starmap(cast(Any, max)))),
    Row("starmap_indexed", TRANSPARENT, _pairs(rx_ops.starmap_indexed(cast(Any, max)))),
    Row("start_with", TRANSPARENT, rx_ops.start_with(-1), note=OWN_VALUES),
    Row("subscribe_on", RESCHEDULES, lambda source: source.pipe(rx_ops.subscribe_on(loop_scheduler()))),
    Row("sum", FOLDS, rx_ops.sum()),
    Row("switch_latest", FLATTENS, rx_ops.switch_latest(), note=LATEST),
    Row("switch_map", FLATTENS, rx_ops.switch_map(lambda inner: inner), note=LATEST),
    Row(
        "switch_map_indexed",
        FLATTENS,
        rx_ops.switch_map_indexed(lambda inner, index: inner),
        note=LATEST,
    ),
    Row("take", ENDS_EARLY, rx_ops.take(3)),
    Row("take_last", HOLDS, rx_ops.take_last(3), note="Keeps up to `count` items and sends them all at the end."),
    Row("take_last_buffer", FOLDS, rx_ops.take_last_buffer(3), note="Keeps up to `count` items."),
    Row("take_last_with_time", HOLDS, rx_ops.take_last_with_time(1.0), note="Sends them all at the end."),
    Row("take_until", ENDS_EARLY, lambda source: source.pipe(rx_ops.take_until(rx.timer(3.0))), note=CLOCK),
    Row("take_until_with_time", ENDS_EARLY, rx_ops.take_until_with_time(3.0), note=CLOCK),
    Row("take_while", ENDS_EARLY, rx_ops.take_while(lambda n: n < 3)),
    Row("take_while_indexed", ENDS_EARLY, rx_ops.take_while_indexed(lambda n, index: index < 3)),
    Row("take_with_time", ENDS_EARLY, rx_ops.take_with_time(3.0), note=CLOCK),
    Row("tap", TRANSPARENT, rx_ops.tap(lambda _: None)),
    Row("throttle_first", DROPS, rx_ops.throttle_first(1.0)),
    Row("throttle_with_mapper", DROPS, rx_ops.throttle_with_mapper(lambda _: rx.timer(0.5))),
    Row("throttle_with_timeout", DROPS, rx_ops.throttle_with_timeout(0.5)),
    Row("time_interval", TRANSPARENT, rx_ops.time_interval()),
    Row("timeout", TRANSPARENT, rx_ops.timeout(50.0), note=CLOCK),
    Row("timeout_with_mapper", TRANSPARENT, rx_ops.timeout_with_mapper(rx.never(), lambda _: rx.never()), note=CLOCK),
    Row("timestamp", TRANSPARENT, rx_ops.timestamp()),
    Row("to_dict", COLLECTS, rx_ops.to_dict(lambda n: n)),
    Row("to_future", LEAVES, lambda source: source.pipe(rx_ops.to_future())),
    Row("to_iterable", COLLECTS, rx_ops.to_iterable()),
    Row("to_list", COLLECTS, rx_ops.to_list()),
    Row("to_marbles", COLLECTS, rx_ops.to_marbles()),
    Row("to_set", COLLECTS, rx_ops.to_set()),
    Row("while_do", TRANSPARENT, lambda source: rx.defer(lambda _: source.pipe(rx_ops.while_do(_again_once())))),
    Row("window", WINDOWS, lambda source: source.pipe(rx_ops.window(rx.interval(1.0)))),
    Row(
        "window_toggle",
        WINDOWS,
        lambda source: source.pipe(rx_ops.window_toggle(rx.interval(1.0), lambda _: rx.timer(0.5))),
    ),
    Row("window_when", WINDOWS, lambda source: source.pipe(rx_ops.window_when(lambda: rx.timer(1.0)))),
    Row("window_with_count", WINDOWS, rx_ops.window_with_count(5)),
    Row("window_with_time", WINDOWS, rx_ops.window_with_time(1.0)),
    Row("window_with_time_or_count", WINDOWS, rx_ops.window_with_time_or_count(1.0, 5)),
    Row(
        "with_latest_from", DROPS, rx_ops.with_latest_from(late()), note="Drops what comes before its partner's first."
    ),
    Row("zip", HOLDS, rx_ops.zip(paced(range(200), [1.0])), note="Items of the faster source wait in a list."),
    Row("zip_latest", DROPS, rx_ops.zip_latest(late()), note="Keeps the latest of each source."),
    Row("zip_with_iterable", ENDS_EARLY, rx_ops.zip_with_iterable("abc")),
    Row("zip_with_list", ENDS_EARLY, rx_ops.zip_with_list(list("abc"))),
)


def render() -> str:
    """The page of the docs."""
    lines = [
        "# Rx operators and demand",
        "",
        f"What each of the {len(ROWS)} operators of `reactivex.operators` 6.1 does when the consumer below is slow.",
        "A test holds every line to what it says: it runs the operator on a source of 200 items, read one by one.",
        "",
    ]
    for kind in KINDS:
        rows = [row for row in ROWS if row.kind is kind]
        lines += [f"## {kind.title}", "", kind.text, "", ", ".join(f"`{row.name}`" for row in rows), ""]
        notes = [f"| `{row.name}` | {row.note} |" for row in rows if row.note]
        lines += ["| operator | note |", "|---|---|", *notes, ""] if notes else []
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
