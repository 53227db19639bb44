"""Telling a person which of the gateway's settings is wrong, and where it stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rxstream.gateway.config import SettingError, place_of

__all__ = ("problems_of",)


def problems_of(error: SettingError, file: Path | None, overrides: Mapping[str, Any] | None = None) -> Iterator[str]:
    """A sentence for each thing that is wrong, with its file and line where it stands in one.

    Args:
        error: what kept the gateway from starting.
        file: as `load_config` was given it.
        overrides: likewise.
    """
    for problem in error.problems:
        place = place_of(problem.loc, file, overrides=overrides)
        yield problem.sentence if place is None else f"{place}: {problem.sentence}"
