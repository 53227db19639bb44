"""Every example runs from its first line to its end."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path
from types import ModuleType

import pytest

from rxstream.testing.runner import run

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))

SHOWS = {
    "custom_overflow_policy": "a slow reader still gets every word of this answer",
}
"""A line that must be printed, where the example promises one."""


def load(path: Path) -> ModuleType:
    """The example as a module, without running it."""
    spec = importlib.util.spec_from_file_location(f"examples.{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def needs_a_key(path: Path) -> bool:
    """Whether the name says that it asks a real provider."""
    return "with_key" in path.stem


def test_there_are_examples() -> None:
    assert EXAMPLES


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_says_first_what_it_shows_and_how_to_run_it(path: Path) -> None:
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith('"""')
    assert f"python examples/{path.name}" in first


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_ends_with_its_main(path: Path) -> None:
    functions = [name for name, value in vars(load(path)).items() if inspect.isfunction(value)]
    assert functions[-1] == "main"


@pytest.mark.parametrize("path", [path for path in EXAMPLES if not needs_a_key(path)], ids=lambda path: path.stem)
def test_an_example_runs_to_its_end(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main = load(path).main
    if inspect.iscoroutinefunction(main):
        run(main())
    else:
        main()
    printed = capsys.readouterr().out
    assert printed.strip()
    assert SHOWS.get(path.stem, "") in printed
