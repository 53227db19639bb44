"""The docstring of a room with many files names each of them."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest


@pytest.mark.parametrize("room", ["gateway", "gateway.page", "gateway.config", "inspect", "operators.buffer"])
def test_every_file_is_on_the_map(room: str) -> None:
    module = import_module(f"rxstream.{room}")
    folder = Path(str(module.__file__)).parent
    files = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    assert files - {"__init__"} <= set(re.findall(r"\w+", module.__doc__ or ""))
