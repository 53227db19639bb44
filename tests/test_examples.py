"""Every example runs from its first line to its end, in a process of its own, with warnings as errors."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

SHOWS = {
    "custom_overflow_policy": "a slow reader still gets every word of this answer",
    "two_sinks_one_stream": "1 request for three consumers",
}
"""What must be printed, where the example promises it."""

every_example = pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)


def test_there_are_examples() -> None:
    assert EXAMPLES


@every_example
def test_an_example_says_first_what_it_shows_and_how_to_run_it(path: Path) -> None:
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith('"""')
    assert f"python examples/{path.name}" in first


@every_example
def test_an_example_ends_by_running_its_main(path: Path) -> None:
    last = ast.parse(path.read_text(encoding="utf-8")).body[-1]
    assert isinstance(last, ast.If)
    assert ast.unparse(last.test) == "__name__ == '__main__'"
    assert "main()" in ast.unparse(last.body[-1])


@pytest.mark.parametrize("path", [path for path in EXAMPLES if "with_key" not in path.stem], ids=lambda path: path.stem)
def test_an_example_runs_to_its_end(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)], cwd=ROOT, capture_output=True, text=True, timeout=50, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip()
    assert SHOWS.get(path.stem, "") in done.stdout
