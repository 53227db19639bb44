"""The numbers that are told first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rxstream.inspect.facts import Facts
from rxstream.inspect.text import bytes_text, count_text, cut, number_text, seconds_text

__all__ = ("Card", "cards_of", "headline", "outcome_colour", "violations_of")


MAX_WORD_CHARS: Final = 80


@dataclass(frozen=True, slots=True)
class Card:
    """One number.

    Args:
        label: what it is.
        value: the number with its unit.
        note: how it was counted.
    """

    label: str
    value: str
    note: str


def cards_of(facts: Facts) -> list[Card]:
    """The numbers of a recording."""
    pace, usage = facts.pace, facts.response.usage
    words = [
        Card("time to first token", seconds_text(pace.first_token), _first_note(facts)),
        Card("whole stream", seconds_text(facts.seconds if facts.has_times else None), _end_note(facts)),
        Card("pieces", f"{pace.pieces:,}", count_text(pace.chars, "character")),
        Card("pieces a second", number_text(facts.pieces_per_second), "from the first to the last"),
        Card(
            "tokens a second", number_text(facts.tokens_per_second), f"{count_text(usage.output_tokens)} output tokens"
        ),
        Card("events", f"{facts.events.count:,}", _chunks_note(facts)),
    ]
    return words


def headline(facts: Facts) -> str:
    """What was recorded, in one line."""
    response = facts.response
    kind = {"chunks": "a recording of bytes", "events": "a recording of events", "body": "a body without times"}
    parts = [kind[facts.origin], facts.wire, response.model, None if facts.status is None else f"HTTP {facts.status}"]
    return " · ".join(cut(part, MAX_WORD_CHARS) for part in parts if part)


def violations_of(facts: Facts) -> list[str]:
    """What the wire did wrong, and what does not agree with itself, a line for each."""
    return [
        f"{one.code}: {one.message}" + (f" ({one.count:,} times)" if one.count > 1 else "")
        for one in facts.response.violations
    ]


def outcome_colour(facts: Facts) -> str:
    """The palette's colour for how it ended."""
    return {"completed": "good", "failed": "bad", "indeterminate": "bad"}.get(facts.response.outcome, "amber")


def _first_note(facts: Facts) -> str:
    if not facts.has_times:
        return "a body has no times"
    if facts.pace.first_chunk is not None:
        return f"first bytes {seconds_text(facts.pace.first_chunk)}"
    return f"first event {seconds_text(facts.pace.first_event)}"


def _end_note(facts: Facts) -> str:
    if facts.origin == "body":
        return "a body has no times"
    if facts.ending == "left" and facts.response.outcome == "completed":
        return "until its reader had all of it"
    return {
        "completed": "until the source completed",
        "left": "until its reader left",
        "error": "until it failed",
        "cancelled": "until it was cancelled",
        "full": "until the recording was full",
    }.get(facts.ending or "", "until the recording was cut")


def _chunks_note(facts: Facts) -> str:
    chunks = facts.chunks
    return (
        f"of {count_text(chunks.count, 'chunk')}, {bytes_text(chunks.bytes)}" if chunks.count else "no chunks recorded"
    )
