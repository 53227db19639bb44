"""What ``rxstream.__all__`` says is what the module has: nothing missing, nothing besides, whether eager or lazy."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import rxstream


def public_names(module: ModuleType) -> set[str]:
    """Names without an underscore, but for submodules: importing one anywhere binds it here."""
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not (isinstance(value, ModuleType) and value.__name__.startswith("rxstream."))
    }


def bound_names(source: str) -> set[str]:
    """Names that the text of a module binds, also below ``if TYPE_CHECKING``: what a type checker can see."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom | ast.Import):
            names |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def test_exported_names_are_a_tuple_without_repeats() -> None:
    assert isinstance(rxstream.__all__, tuple)
    assert len(set(rxstream.__all__)) == len(rxstream.__all__)


@pytest.mark.parametrize("name", rxstream.__all__)
def test_an_exported_name_resolves(name: str) -> None:
    assert getattr(rxstream, name) is not None


def test_public_names_are_the_exported_names() -> None:
    for name in rxstream.__all__:
        getattr(rxstream, name)  # a lazy name is in `vars` once it was asked for, or never
    assert public_names(rxstream) <= set(rxstream.__all__)


def test_exported_names_are_listed_before_they_were_asked_for() -> None:
    script = "import rxstream; print(*sorted(set(rxstream.__all__) - set(dir(rxstream))))"
    listed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert listed.stdout.split() == []


def test_exported_names_are_seen_by_type_checkers() -> None:
    assert rxstream.__file__ is not None
    source = Path(rxstream.__file__).read_text(encoding="utf-8")
    assert set(rxstream.__all__) <= bound_names(source)


def test_an_unknown_name_is_an_attribute_error() -> None:
    unknown = "no_such_name"
    with pytest.raises(AttributeError, match=unknown):
        getattr(rxstream, unknown)
