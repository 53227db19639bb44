"""The terminal: written once, not too often, and never by the model's own escape sequences."""

from __future__ import annotations

import asyncio
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rxstream as rxs
from rxstream.events import (
    Event,
    Finish,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolCall,
    ToolCallInvalid,
    ToolResult,
    Usage,
    UsageUpdate,
)
from rxstream.sinks import TerminalSink, TerminalText
from rxstream.testing import run_virtual


class Terminal(io.StringIO):
    """Counts writes."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0

    def write(self, text: str) -> int:
        self.writes += 1
        return super().write(text)


def show(*events: Event, **options: object) -> str:
    terminal = Terminal()

    async def main() -> None:
        sink = TerminalSink(terminal, **options)  # type: ignore[arg-type]  # options of the test
        await rxs.subscribe(rxs.from_iterable([*events, Finish("stop")]), sink).result()

    run_virtual(main())
    return terminal.getvalue()


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (["\x1b", "]0;owned\x07", "\x1b[2J", "ok"], "ok"),
        (["a\x1b[3", "1mred\x1b[", "0mb"], "aredb"),
        (["\x1bPq#0;2\x1b\\", "sixel"], "sixel"),
        (["\x9b2J", "c1"], "c1"),
        (["\x9d0;title\x9c", "osc"], "osc"),
        (["\x1b]8;;http://x\x1b", "\\link\x1b]8;;\x1b\\"], "link"),
        (["a\rb\x08c\x07\x00d"], "abcd"),
        (["tab\tand\nline"], "tab\tand\nline"),
        (["\x1bc", "reset"], "reset"),
        (["\x1b(0box"], "box"),
        (["é你🎉\u2028"], "é你🎉\u2028"),
        (["end\x1b[38;5"], "end"),
    ],
)
def test_control_sequences_are_taken_out_wherever_they_are_cut(pieces: list[str], shown: str) -> None:
    safe = TerminalText()
    assert "".join(map(safe.feed, pieces)) + safe.close() == shown
    whole = TerminalText()
    assert whole.feed("".join(pieces)) + whole.close() == shown


@given(st.lists(st.text(st.sampled_from("\x1b\x9b\x9d\x07\x9c[]0;mPa\\é\n"), max_size=6), max_size=8))
def test_no_control_character_ever_gets_out_and_cuts_make_no_difference(pieces: list[str]) -> None:
    safe, whole = TerminalText(), TerminalText()
    out = "".join(map(safe.feed, pieces)) + safe.close()
    assert re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", out) is None
    assert out == whole.feed("".join(pieces)) + whole.close()


def test_a_control_string_that_never_ends_does_not_swallow_the_answer() -> None:
    safe = TerminalText()
    out = "".join(safe.feed(piece) for piece in ["\x1b]", *["text "] * 2000])
    assert out.count("text ") >= 1000


def test_text_goes_out_as_it_is_and_the_line_is_closed() -> None:
    assert show(TextDelta("Hel"), TextDelta("lo"), UsageUpdate(Usage())) == "Hello\n"
    assert show(TextDelta("line\n")) == "line\n"
    assert show(RefusalDelta("no")) == "no\n"


def test_reasoning_is_dimmed_on_its_own_lines_or_left_out() -> None:
    events = (ReasoningDelta("hm"), TextDelta("yes"))
    assert show(*events, color=True) == "\x1b[2mhm\n\x1b[0myes\n"
    assert show(*events, color=False) == "hm\nyes\n"
    assert show(*events, show_reasoning=False) == "yes\n"


def test_calls_and_results_are_lines_of_their_own() -> None:
    shown = show(
        TextDelta("Let me see"),
        ToolCall("1", "f", ""),
        ToolCallInvalid("2", "g", '{"a', "not closed"),
        ToolResult("1", "f", "a\nb\x1b[2J"),
    )
    assert shown.splitlines() == ["Let me see", "→ f({})", "→ g: not a complete call (not closed)", "← f: a b (ok)"]


def test_other_choices_are_not_shown() -> None:
    assert show(TextDelta("a"), TextDelta("b", choice=1), Finish("stop", choice=1)) == "a\n"


def test_writes_are_bounded_in_time_and_nothing_waits_for_ever() -> None:
    terminal = Terminal()

    async def main() -> None:
        sink = TerminalSink(terminal, refresh_seconds=1)
        for _ in range(100):
            await sink.on_event(TextDelta("x"))
            await asyncio.sleep(0.1)
        assert terminal.writes <= 12
        await asyncio.sleep(1.1)
        assert terminal.getvalue() == "x" * 100
        await sink.on_event(TextDelta("y" * 20_000))
        assert terminal.getvalue().endswith("y" * 20_000)
        await rxs.subscribe(rxs.from_iterable([Finish("stop")]), sink).result()

    run_virtual(main())


def test_the_first_text_is_written_at_once() -> None:
    terminal = Terminal()

    async def main() -> None:
        sink = TerminalSink(terminal, refresh_seconds=1)
        await sink.on_event(TextDelta("first"))
        assert terminal.getvalue() == "first"

    run_virtual(main())


def test_what_the_terminal_cannot_encode_is_replaced() -> None:
    raw = io.BytesIO()

    async def main() -> None:
        sink = TerminalSink(io.TextIOWrapper(raw, encoding="ascii"))
        await sink.on_event(TextDelta("é\ud800"))
        assert raw.getvalue() == b"??"

    run_virtual(main())
