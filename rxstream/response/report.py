"""What is known of an answer when its stream has ended: facts on which somebody else decides about a new attempt."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ("StreamReport",)


@dataclass(slots=True)
class StreamReport:
    """How far a stream came. Nothing here retries: who does needs to know what was seen and what was started.

    Args:
        text_chars: characters of text that became visible, over all choices.
        reasoning_chars: characters of reasoning that became visible, over all choices.
        refusal_chars: characters of refusal that became visible, over all choices.
        started_calls: ids of the client's calls that began, in order.
        completed_calls: ids of those that were closed with whole arguments: a tool may have run for each of them.
        answered_calls: ids of those whose result was seen.
        last_sequence: the number of the last event that was accepted, counted from 1; 0 where there was none.
        missing: why the terminal event is missing; None where it came.
        dropped: events that an overflow policy dropped before they came here.
    """

    text_chars: int = 0
    reasoning_chars: int = 0
    refusal_chars: int = 0
    started_calls: list[str] = field(default_factory=list)
    completed_calls: list[str] = field(default_factory=list)
    answered_calls: list[str] = field(default_factory=list)
    last_sequence: int = 0
    missing: str | None = None
    dropped: int = 0
