"""Every block of the README runs, and says what the README says it says."""

from __future__ import annotations

import ast
import contextlib
import io
import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
BLOCK = re.compile(r"^```(\w+)?( no-run)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks() -> list[tuple[str, bool, str]]:
    return [(kind or "", bool(skip), text) for kind, skip, text in BLOCK.findall(README.read_text())]


def test_the_first_commands_are_the_demo_and_the_tests() -> None:
    kind, _, first = blocks()[0]
    assert kind == "sh"
    assert [line.split("#")[0].strip() for line in first.splitlines()] == ["make demo", "make test"]


@pytest.mark.parametrize(
    ("program", "output"),
    [
        (text, following[2] if following[0] == "text" else None)
        for (kind, skip, text), following in zip(blocks(), [*blocks()[1:], ("", False, "")], strict=True)
        if kind == "python" and not skip
    ],
)
def test_a_program_of_the_readme_gives_its_output(program: str, output: str | None) -> None:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(program, "README.md", "exec"), {"__name__": "__main__"})
    if output is not None:
        assert [line.rstrip() for line in said.getvalue().splitlines()] == output.splitlines()


def test_what_is_not_run_is_python_at_least() -> None:
    for kind, skip, text in blocks():
        if kind == "python" and skip:
            compile(text, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_every_name_of_the_readme_is_there() -> None:
    import rxstream
    from rxstream import operators

    text = README.read_text()
    assert set(re.findall(r"rxs\.(\w+)", text)) <= set(rxstream.__all__)
    assert set(re.findall(r"ops\.(\w+)", text)) <= set(operators.__all__)


def test_every_link_of_the_readme_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README.read_text()):
        assert (README.parent / target).exists(), target
