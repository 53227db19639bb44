"""The page on tools says what the code has."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

import rxstream as rxs
from rxstream.turns.follow_up import Stopped

TEXT = (Path(__file__).parents[2] / "docs" / "tools.md").read_text(encoding="utf-8")


def names_under(heading: str) -> set[str]:
    """The names in the first column of the table with that heading."""
    table = TEXT.partition(f"| {heading} |")[2].partition("\n\n")[0]
    firsts = [row.split("|")[1] for row in table.splitlines()[2:]]
    return set(re.findall(r"`(\w+)`", " ".join(firsts)))


def test_the_page_has_all_that_a_tool_is_given() -> None:
    known = {field.name for field in fields(rxs.ToolContext)} | {"remaining_seconds"}
    assert names_under("`context.`") == known - {"clock"}


def test_the_page_has_every_option_of_a_tool() -> None:
    options = inspect.signature(rxs.FunctionTool.of).parameters.keys() - {"function"}
    assert names_under("option") == options


def test_the_page_has_every_outcome_and_every_reason_to_stop() -> None:
    outcome = inspect.get_annotations(rxs.ToolResult, eval_str=True)["outcome"]
    assert names_under("`ToolResult.outcome`") == set(get_args(outcome))
    assert names_under("`stopped`") == set(get_args(Stopped))
