"""Every program of the guides runs, and prints what its guide says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from rxstream import testing
from rxstream.testing.wires import WIRES
from tests.test_readme import BLOCK

DOCS = Path(__file__).parents[1] / "docs"
GUIDE = DOCS / "testing.md"
TEXT = GUIDE.read_text(encoding="utf-8")


def programs(guide: Path) -> list[tuple[str, str]]:
    """Each program with what stands below it."""
    blocks = [(kind, text) for kind, _, text in BLOCK.findall(guide.read_text(encoding="utf-8"))]
    return [
        (text, following[1] if following[0] == "text" else "")
        for (kind, text), following in zip(blocks, [*blocks[1:], ("", "")], strict=True)
        if kind == "python"
    ]


@pytest.mark.parametrize(
    ("program", "output"),
    [
        program
        for name in ("testing", "requests", "events", "errors", "tools")
        for program in programs(DOCS / f"{name}.md")
    ],
)
def test_a_program_of_the_guide_gives_its_output(program: str, output: str) -> None:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(program, "guide", "exec"), {"__name__": "__main__"})
    assert [line.rstrip() for line in said.getvalue().splitlines()] == output.splitlines()


def test_every_name_that_the_guide_mentions_is_there() -> None:
    imported = {
        name.strip()
        for names in re.findall(r"^from rxstream\.testing import (.+)$", TEXT, re.MULTILINE)
        for name in names.split(",")
    }
    assert imported
    assert imported <= set(testing.__all__)
    steps = re.search(r"`Stall`.*?are steps too", TEXT, re.DOTALL)
    assert steps is not None
    assert set(re.findall(r"`(\w+)`", steps[0])) <= set(testing.__all__)


def test_the_guide_lists_every_wire_that_can_be_scripted() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| `(\w+)` \| (?:`(\w+)`)? ?\|$", TEXT, re.MULTILINE)
    known = [(name, wire.stream.__name__, wire.body.__name__ if wire.body else "") for name, wire in WIRES.items()]
    assert rows == known
    assert {name for row in known for name in row[1:] if name} <= set(testing.__all__)


def test_every_link_within_the_guide_leads_to_a_heading() -> None:
    headings = {
        re.sub(r"[^\w -]", "", line).strip().lower().replace(" ", "-") for line in re.findall(r"^#+ (.+)$", TEXT, re.M)
    }
    assert set(re.findall(r"\]\(#([\w-]+)\)", TEXT)) <= headings
