"""Marbles: what is drawn is what is written, and what is written happens when it says."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
import reactivex as rx
from hypothesis import given
from hypothesis import strategies as st
from reactivex import operators as rx_ops

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import Cancelled, Finish, ResponseStart, TextDelta, ToolCall
from rxstream.testing import (
    LeakError,
    Marble,
    MarbleError,
    MarbleRow,
    assert_timeline,
    draw_marbles,
    hot_marbles,
    marbles,
    parse_marbles,
    run_virtual,
    timeline,
)
from rxstream.testing.marble_demand import DemandRow, parse_demand, parse_reads
from rxstream.testing.marble_text import Names

VALUES = {"T": ToolCall("1", "f", "{}"), "é": TextDelta("é!"), "call": ToolCall("2", "g", "[]"), "_": b"bytes"}

# The grammar ---------------------------------------------------------------------------------------------------------

named = st.sampled_from(["a", "z", "0", "S", "F", "X", *(name if len(name) == 1 else f"<{name}>" for name in VALUES)])
quoted = st.text(st.characters(exclude_categories=())).filter(
    lambda text: not (len(text) == 1 and text.isascii() and (text.islower() or text.isdigit())) and text != "é!"
)
items = named | quoted.map(lambda text: json.dumps(text, ensure_ascii=False))
signs = items | st.sampled_from("|#^!")
parts = st.sampled_from(["+0.25", "+0.1", "+0.000001"])


@st.composite
def groups(draw: st.DrawFn) -> str:
    """A group as it is drawn: more than one marble, or one that is not on the tick."""
    late = draw(st.lists(st.tuples(parts, st.lists(signs, min_size=1, max_size=2)), max_size=3))
    first = draw(st.lists(signs, min_size=0 if late else 2, max_size=3))
    return "(" + " ".join(["".join(first)] * bool(first) + [f"{part} {''.join(there)}" for part, there in late]) + ")"


silences = st.integers(0, 60).map(lambda ticks: "-" * ticks if ticks < 20 else f"[{ticks}]")


@st.composite
def lines(draw: st.DrawFn) -> str:
    """A line of marbles in the form in which it is drawn."""
    cells = draw(st.lists(st.tuples(silences, signs | groups()), max_size=8))
    return "".join(silence + cell for silence, cell in cells) + draw(silences)


@given(lines())
def test_what_was_written_is_drawn(line: str) -> None:
    assert draw_marbles(parse_marbles(line, VALUES), VALUES) == line


marble = st.builds(
    lambda at, item: Marble(at, *item),
    st.integers(0, 50_000_000).map(lambda millionths: millionths / 1e6),
    st.sampled_from(["completed", "error", "subscribe", "dispose"]).map(lambda sign: (sign, None))
    | st.one_of(
        st.sampled_from([*VALUES.values(), Finish("stop"), Cancelled("user_stop"), ResponseStart()]),
        st.text(st.characters(exclude_categories=())).map(TextDelta),
    ).map(lambda value: ("next", value)),
)


@given(st.lists(marble, max_size=9), st.integers(0, 80))
def test_what_was_drawn_is_read(there: list[Marble], ticks: int) -> None:
    row = MarbleRow(tuple(sorted(there, key=lambda m: m.at)), ticks)
    again = parse_marbles(draw_marbles(row, VALUES), VALUES)
    assert again.marbles == row.marbles
    assert again.length == row.length


@given(st.text(st.sampled_from('-ab"\\()|#^!<>[]+0.5 Té'), max_size=20))
def test_any_line_is_read_or_refused_where_it_is_wrong(line: str) -> None:
    try:
        row = parse_marbles(line, VALUES)
    except ValueError as error:
        assert "at sign" in str(error)  # noqa: PT017  # many lines are right
    else:
        drawn = draw_marbles(row, VALUES)
        assert draw_marbles(parse_marbles(drawn, VALUES), VALUES) == drawn


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("--(a", "a group is not closed, at sign 3"),
        ("a)", "no group is open, at sign 2"),
        ("((a))", "groups do not nest, at sign 2"),
        ("(a-b)", "a group is one tick"),
        ("+0.5a", "only in a group"),
        ("(a +0.5 +0.6 b)", "less than one tick"),
        ("-A", "no item is named 'A', at sign 2"),
        ("<nobody>", "no item is named 'nobody', at sign 1"),
        ('-"a', "this is no marble, at sign 2"),
        ('"\\q"', "an escape that JSON has not"),
        ("-,", "this is no marble, at sign 2"),
    ],
)
def test_a_line_that_means_nothing_is_refused(line: str, problem: str) -> None:
    with pytest.raises(ValueError, match="at sign") as refused:
        parse_marbles(line)
    assert problem in str(refused.value)


@pytest.mark.parametrize("name", ["", "-", "two words", "<a>", "(", "|"])
def test_a_name_that_cannot_be_written_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no name of a marble"):
        Names({name: 1})


def test_what_has_no_name_is_drawn_by_its_type_and_told_apart() -> None:
    names = Names()
    row = MarbleRow((Marble(0, "next", VALUES["T"]), Marble(1, "next", VALUES["call"]), Marble(2, "next", VALUES["T"])))
    assert draw_marbles(row, names) == "<tool_call><tool_call.2><tool_call>"
    assert names.legend == {"<tool_call>": VALUES["T"], "<tool_call.2>": VALUES["call"]}


def test_demand_is_read_and_drawn_tick_by_tick() -> None:
    for line in ("", "o", "ox", "oxxo", "ox[30]o", "--ox"):
        assert str(parse_demand(line)) == line
    assert parse_demand("oo--") == parse_demand("o o")
    with pytest.raises(ValueError, match="at sign 3"):
        parse_demand("oxa")


def test_a_reader_that_means_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at sign 2"):
        parse_reads("oa")


# Sources -------------------------------------------------------------------------------------------------------------


def test_a_cold_source_plays_its_line_to_each_subscriber() -> None:
    source = marbles('--a-"Hel"-(bF|)')
    for _ in range(2):
        assert timeline(source).marbles == '--a-"Hel"-(bF|)'


def test_a_line_may_hold_any_items_and_parts_of_ticks() -> None:
    assert timeline(marbles("-1(+0.25 2 +0.5 1)-|", {"1": b"x", "2": 5}), values={"1": b"x", "2": 5}).marbles == (
        "-1(+0.25 2 +0.5 1)-|"
    )


@pytest.mark.parametrize("error", [None, ValueError("no")])
def test_a_source_fails_as_it_is_told(error: Exception | None) -> None:
    seen = timeline(marbles("-a-#", error=error))
    assert seen.marbles == "-a-#"
    assert isinstance(seen.error, MarbleError) if error is None else seen.error is error


def test_a_paused_cold_source_is_late_and_loses_nothing() -> None:
    seen = timeline(marbles("abc---d-|"), reads="1---2--o")
    assert seen.marbles == "a---(bc)--d|"
    assert seen.demand == "xxxxxxxo"  # a pull that is answered at once opens and closes it within the tick


def test_a_source_without_an_end_goes_on_in_silence() -> None:
    assert timeline(marbles("--a"), max_ticks=30).marbles == "--a[27]"


def test_a_hot_source_does_not_ask() -> None:
    seen = timeline(hot_marbles("abc-|"), reads="x---1--o")
    assert seen.marbles == "----a--(bc|)"


def test_the_first_subscriber_of_a_hot_source_comes_at_its_mark_and_the_next_gets_the_rest() -> None:
    source = hot_marbles("-a-^-b-c-d-|")

    async def main() -> list[list[str]]:
        async def read(after: float) -> list[str]:
            await asyncio.sleep(after)
            return [event.text async for event in rxs.iterate(source)]

        return list(await asyncio.gather(read(0), read(3), read(20)))

    assert run_virtual(main()) == [["b", "c", "d"], ["c", "d"], []]


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (marbles, "-^-a|"),
        (marbles, "-a!"),
        (hot_marbles, "-a!"),
        (hot_marbles, "^a^b"),
        (marbles, "-|a"),
        (hot_marbles, "#a"),
    ],
)
def test_a_source_that_means_nothing_is_refused(make: Any, line: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        make(line)


# What is seen --------------------------------------------------------------------------------------------------------


def test_subscriptions_and_disposal_are_seen() -> None:
    seen = timeline(marbles("-a-b-c-|"), reads="----!")
    assert (seen.marbles, seen.subscriptions, seen.demand) == ("-a-b!", ["^---!"], "oooo")


def test_a_retried_source_is_subscribed_again() -> None:
    seen = timeline(marbles("-a#").pipe(rx_ops.retry(2)))
    assert seen.marbles == "-a-a#"
    assert seen.subscriptions == ["^-!", "--^-!"]


def test_timers_and_actions_of_a_tick_come_before_what_a_source_sends_in_it() -> None:
    stop = rxs.Cancellation()
    assert_timeline(marbles("-a-b|").pipe(ops.cancel_on(stop)), "-a-(X|)", actions={3: stop.cancel})


@pytest.mark.parametrize("make", [marbles, hot_marbles])
def test_a_timer_that_was_set_after_a_source_began_to_wait_for_its_tick_comes_first_too(make: Any) -> None:
    batched = rx.merge(make("-a"), make("---b")).pipe(ops.batch_text(2))
    assert_timeline(batched, "---a-b-")


def test_a_reader_that_stops_in_a_tick_gets_nothing_of_it() -> None:
    assert timeline(marbles("-a-b-c|"), reads="---x-1-!").marbles == "-a---b-!"


def test_a_line_without_an_end_compares_its_own_ticks_only() -> None:
    assert_timeline(marbles("-a-b-c|"), "-a-")
    with pytest.raises(AssertionError):
        assert_timeline(marbles("-a-b-c|"), "-a--")


def test_a_tick_has_the_length_it_is_given() -> None:
    assert_timeline(
        marbles("-a-b      ------|", tick_seconds=0.01).pipe(ops.batch_text(0.025)),
        '---(+0.5 "ab")------|',
        tick_seconds=0.01,
    )


def test_what_is_left_behind_fails() -> None:
    def leave_a_timer(_: object) -> None:
        asyncio.get_running_loop().call_later(99, print)

    with pytest.raises(LeakError):
        timeline(marbles("a|").pipe(rx_ops.do_action(leave_a_timer)))


# What a failure says -------------------------------------------------------------------------------------------------


def failure(*args: Any, **options: Any) -> list[str]:
    with pytest.raises(AssertionError) as failed:
        assert_timeline(*args, **options)
    return str(failed.value).splitlines()


def test_a_failure_shows_both_lines_above_each_other() -> None:
    lines = failure(marbles('-a-"Hel"-b-|').pipe(ops.bounded_buffer(1)), '-a-"Hel"b-|', reads="x---o")
    assert lines == [
        "the marbles differ in tick 1",
        "",
        'source    -a-"Hel"-       b-|',
        "demand    oxxx    o       oo",
        "reads     x---    o",
        'expected  -a-"Hel"b       -|',
        'actual    ----    (a"Hel")b-|',
        "           ^",
    ]


def test_a_failure_of_demand_shows_both_rows() -> None:
    lines = failure(marbles("abc|").pipe(ops.bounded_buffer(2)), "---(abc|)", reads="x--o", demand="oox")
    assert lines[0] == "the demand differs in tick 1"
    assert [line.split()[0] for line in lines[2:-1]] == ["source", "expected", "demand", "reads", "expected", "actual"]


def test_a_failure_names_the_items_without_a_name_and_the_errors() -> None:
    lines = failure(
        marbles("-T#", {"T": ToolCall("1", "f", "{}")}, error=ValueError("no")), "-a#", error=KeyError("yes")
    )
    assert "<tool_call> = ToolCall(" in "\n".join(lines)
    assert lines[-2:] == ["expected error: KeyError('yes')", "actual error: ValueError('no')"]


@pytest.mark.parametrize("error", [None, ValueError, ValueError("no"), Exception])
def test_an_error_is_any_a_class_or_one_that_says_the_same(error: Any) -> None:
    assert_timeline(marbles("-#", error=ValueError("no")), "-#", error=error)


@pytest.mark.parametrize("error", [KeyError, ValueError("yes"), TypeError("no")])
def test_another_error_differs(error: Any) -> None:
    failure(marbles("-#", error=ValueError("no")), "-#", error=error)


def test_demand_is_asked_of_a_source_from_marbles_only() -> None:
    with pytest.raises(ValueError, match="has none"):
        assert_timeline(rxs.from_iterable("a"), "(<x>|)", values={"x": "a"}, demand="o")


# Above each other ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stop", range(1, 10))
@pytest.mark.parametrize("operators", [(), (ops.bounded_buffer(),)], ids=["lock-step", "buffered"])
def test_whatever_else_waits_for_a_tick_a_reader_that_stops_in_it_comes_first(
    stop: int, operators: tuple[Any, ...]
) -> None:
    line = "abcdefghij|"
    reads = "-" * stop + "x" + "-" * (20 - stop) + "o"
    actions = {tick: (lambda: None) for tick in range(12)}
    seen = timeline(marbles(line).pipe(*operators), reads=reads, actions=actions)
    taken, late = line[:stop], line[stop:-1]
    assert seen.marbles == f"{taken}{'-' * (21 - stop) if 21 - stop < 20 else f'[{21 - stop}]'}({late}|)"


def test_several_changes_of_a_gate_in_one_tick_are_the_last_of_them() -> None:
    assert DemandRow.of([(0, "o"), (2, "x"), (2, "o")], 4) == parse_demand("oooo")
    assert DemandRow.of([(0, "o"), (2, "x"), (2, "o"), (3, "-")], 9) == parse_demand("ooo")


def test_a_long_silence_is_one_column_in_every_row() -> None:
    seen = timeline(marbles("-a[60]b|").pipe(ops.bounded_buffer(1)), reads="x[39]o")
    assert str(seen).splitlines() == [
        "source  -a[38]--[20]b|",
        "demand  ox[38]oo[20]o",
        "reads   x-[38]o",
        "output  --[38]a-[20]b|",
    ]
