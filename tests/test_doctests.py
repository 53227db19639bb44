"""The examples that docstrings give, tried. To look for them in every file, tests too, costs five seconds."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import rxstream

FOLDER = Path(rxstream.__file__).parent
PROMPT = ">>> "


def modules_with_examples() -> list[str]:
    files = (path for path in sorted(FOLDER.rglob("*.py")) if PROMPT in path.read_text(encoding="utf-8"))
    return [".".join(path.relative_to(FOLDER.parent).with_suffix("").parts) for path in files]


@pytest.mark.parametrize("name", modules_with_examples())
def test_the_examples_of_a_docstring_give_what_they_say(name: str) -> None:
    result = doctest.testmod(import_module(name.removesuffix(".__init__")))
    assert result.attempted > 0
    assert result.failed == 0
