"""Settings that are well written, and that a gateway cannot start with."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ("Loc", "SettingError", "SettingProblem")

Loc = tuple[int | str, ...]
"""Where a setting is among the others, such as `("models", 1, "provider")`."""


@dataclass(frozen=True, slots=True)
class SettingProblem:
    """One thing that is wrong.

    Args:
        loc: the setting it is about, or what it would have to stand in.
        sentence: what is wrong, and what to do.
    """

    loc: Loc
    sentence: str


class SettingError(ValueError):
    """A variable with a key is not set, an alias is for nothing, an address needs tokens, and the like.

    Args:
        problems: all of them; `str` is a line for each.
    """

    def __init__(self, *problems: SettingProblem) -> None:
        super().__init__("\n".join(problem.sentence for problem in problems))
        self.problems = problems
