"""How an answer ended: the rules, in their order.

Cancellation first (nothing follows it), then what ended the stream from outside, then what the wire itself said. Where
nobody said anything, the outcome is `indeterminate`: the end of the bytes proves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from rxstream.errors import (
    Phase,
    ProviderError,
    StreamError,
    TruncatedFrameError,
    TruncatedStreamError,
)
from rxstream.events import Cancelled, Finish
from rxstream.response.response import Outcome
from rxstream.response.state import ChoiceState

__all__ = ("Judged", "Verdict", "judge")

OUTCOME_OF_REASON: Mapping[str, Outcome] = {
    "length": "incomplete",
    "content_filter": "incomplete",
    "error": "failed",
}
"""Every other reason is a completed answer: also `pause_turn` and a reason that nobody knows."""

BROKEN_OFF = frozenset({"", "abort", "cancelled", "incomplete", "load", "unload", "user_cancel"})
"""Raw finish reasons (lower case) that say `other` and mean that the answer was broken off: the Responses statuses
`cancelled` and `incomplete` (with a reason that nobody knows), `abort` of the chat family, Ollama's `""`, `load` and
`unload`, Cohere's `USER_CANCEL`."""


@dataclass(slots=True, frozen=True)
class Verdict:
    """How it ended.

    Args:
        outcome: of the response.
        error: what ended it, for `failed` and `indeterminate`.
        missing: why no terminal event came; None where one did.
        choices: the outcome of each choice.
    """

    outcome: Outcome
    error: Exception | None = None
    missing: str | None = None
    choices: Mapping[int, Outcome] = field(default_factory=dict)


class Judged(Protocol):
    """What must be known of a stream to judge its end: an accumulator knows it, and so does a tracker."""

    cancelled: Cancelled | None

    @property
    def choices(self) -> Mapping[int, ChoiceState]:
        """Every choice that began."""
        ...

    @property
    def first_choice(self) -> int:
        """The choice that stands for the answer."""
        ...

    @property
    def unfinished(self) -> set[int]:
        """The choices that began and were not finished by their own message."""
        ...

    @property
    def has_content(self) -> bool:
        """Whether anything of an answer came."""
        ...

    @property
    def was_cut_short(self) -> bool:
        """Whether an overflow policy dropped some of it, or a loop of turns ended before the model's last word."""
        ...


def judge(state: Judged, error: Exception | None) -> Verdict:
    """Decide the outcome of a stream that is over.

    Args:
        state: everything that was accepted.
        error: what ended it; None where it completed.
    """
    if state.cancelled is not None:
        return _interrupted(state, "cancelled", error, f"the stream was cancelled ({state.cancelled.cause})")
    if isinstance(error, TruncatedStreamError | TruncatedFrameError):
        return _interrupted(state, "indeterminate", error, str(error))
    if error is not None:
        return _interrupted(state, "failed", error, _reason(error))
    if missing := _missing_finish(state):
        return _interrupted(state, "indeterminate", TruncatedStreamError(missing, phase=_phase(state)), missing)
    return _ended(state)


def _interrupted(state: Judged, outcome: Outcome, error: Exception | None, missing: str) -> Verdict:
    return Verdict(outcome, error, missing, dict.fromkeys(state.choices, outcome))


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, StreamError) else f"an error of type {type(error).__name__} ended the stream"


def _missing_finish(state: Judged) -> str | None:
    if not state.choices:
        return "the answer was empty: the stream ended without content and without a finish"
    names = ", ".join(map(str, sorted(state.unfinished)))
    return f"the stream ended without a finish of choice {names}" if names else None


def _ended(state: Judged) -> Verdict:
    """Every choice has its finish. The first decides, unless another failed."""
    finishes = {choice.index: choice.finish for choice in state.choices.values() if choice.finish is not None}
    outcomes = {index: _outcome_of(finish) for index, finish in finishes.items()}
    failed = next((finishes[index] for index, outcome in outcomes.items() if outcome == "failed"), None)
    if failed is not None:
        return Verdict("failed", _provider_error(failed, _phase(state)), None, outcomes)
    if state.was_cut_short:
        outcomes = dict.fromkeys(outcomes, "incomplete")
    return Verdict(outcomes[state.first_choice], None, None, outcomes)


def _outcome_of(finish: Finish) -> Outcome:
    if finish.finish_reason == "other" and str(finish.finish_reason_raw).lower() in BROKEN_OFF:
        return "incomplete"
    return OUTCOME_OF_REASON.get(finish.finish_reason, "completed")


def _provider_error(finish: Finish, phase: Phase) -> ProviderError:
    """The provider said that it failed, and gave no error object: its finish reason is all there is to tell."""
    return ProviderError("the provider ended the answer with an error", code=finish.finish_reason_raw, phase=phase)


def _phase(state: Judged) -> Phase:
    return "mid_stream" if state.has_content else "before_content"
