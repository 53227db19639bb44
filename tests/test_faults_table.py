"""The table of faults names tests that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TABLE = HERE / "FAULTS.md"
ROW = re.compile(r"^\| (?!fault |---)(?P<fault>.+?) \| (?P<held>.+) \|$", re.MULTILINE)
NAME = re.compile(r"`([\w/]+\.py)::([\w:]+)`")

ROWS = [(row["fault"], row["held"]) for row in ROW.finditer(TABLE.read_text(encoding="utf-8"))]


@cache
def names_in(file: str) -> frozenset[str]:
    """The tests of a file, as pytest names them behind the file's name."""
    tree = ast.parse((HERE / file).read_text(encoding="utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    for outer in tree.body:
        if isinstance(outer, ast.ClassDef):
            names |= {f"{outer.name}::{node.name}" for node in outer.body if isinstance(node, ast.FunctionDef)}
    return frozenset(names)


def test_the_table_has_rows() -> None:
    assert len(ROWS) > 100


@pytest.mark.parametrize(("fault", "held"), ROWS, ids=[fault for fault, _ in ROWS])
def test_a_fault_is_held_by_tests_that_exist(fault: str, held: str) -> None:
    names = NAME.findall(held)
    assert names, held
    for file, name in names:
        assert (HERE / file).is_file(), file
        assert name in names_in(file), f"{file} has no {name}"
        assert name.rpartition("::")[2].startswith("test_")


def test_no_row_is_left_out_by_the_reader_of_the_table() -> None:
    lines = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    assert len(lines) == len(ROWS) + sum(line == "| fault | test |" for line in lines)


def test_no_fault_is_named_twice() -> None:
    faults = [fault for fault, _ in ROWS]
    assert sorted(set(faults)) == sorted(faults)
