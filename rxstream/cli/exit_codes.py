"""What the command line's exit code says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rxstream.response.response import Outcome

__all__ = ("FAILED", "INTERRUPTED", "WRONG_USE", "exit_code")

WRONG_USE: Final = 2
"""An argument, a file or a setting is not right; nothing was run."""

FAILED: Final = 3
"""The stream failed, or nobody knows how it ended; or the output could not be written."""

INTERRUPTED: Final = 130
"""The user interrupted (128 + SIGINT, as shells have it)."""

_CODES: Final[Mapping[Outcome, int]] = {
    "completed": 0,
    "incomplete": 0,
    "cancelled": 0,  # a recorded stream that was cancelled; who interrupts now gets INTERRUPTED
    "failed": FAILED,
    "indeterminate": FAILED,
}


def exit_code(outcome: Outcome) -> int:
    """0 where the model said how it ended, `FAILED` where it failed or nobody knows."""
    return _CODES[outcome]
