"""The command line as a process of its own, with nothing of this machine's environment that could answer for it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from rxstream.local import LocalModelError, model_path

CommandLine = Callable[..., "subprocess.CompletedProcess[str]"]


def _has_local_model() -> bool:
    try:
        model_path()
    except LocalModelError:
        return False
    return True


needs_local_model = pytest.mark.skipif(
    not _has_local_model(), reason="the local model is not installed: rxstream local install"
)


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    keys = {name for name in os.environ if name.endswith(("_API_KEY", "_BASE_URL", "_TOKEN"))}
    kept = {name: value for name, value in os.environ.items() if name not in keys and name != "COLUMNS"}
    return kept | {"NO_COLOR": "1", "COLUMNS": "200", "PYTHONWARNINGS": "error"} | dict(more or {})


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "from rxstream.cli import main; main()", *arguments]


@pytest.fixture
def rxstream(tmp_path: Path) -> CommandLine:
    """Run `rxstream ARGUMENTS` to its end; `env=` adds variables, `input=` is standard input."""

    def run(*arguments: str, env: Mapping[str, str] | None = None, **options: Any) -> subprocess.CompletedProcess[str]:
        chosen: Any = {"capture_output": True, "text": True, "timeout": 50, "cwd": tmp_path, **options}
        return subprocess.run(command(*arguments), env=environment(env), check=False, **chosen)

    return run
