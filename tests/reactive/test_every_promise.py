"""Which promises the tests of this folder hold: each says its numbers at the beginning of its docstring."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
PROMISES = set(range(1, 37))


def numbers() -> Iterator[int]:
    for path in HERE.glob("test_*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                said = re.match(r"(\d+)(?: and (\d+))?[.:]", ast.get_docstring(node) or "")
                yield from map(int, filter(None, said.groups() if said else ()))


def test_every_promise_is_held_by_a_test() -> None:
    assert set(numbers()) == PROMISES
