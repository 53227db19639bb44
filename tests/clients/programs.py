"""The programs of others that these tests run, and what to say where one is missing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

__all__ = ("HERE", "node_modules", "program", "rxstream")

HERE = Path(__file__).parent

MISSING = {
    "node": "the tests with JavaScript clients need Node.js 20 or later: apt install nodejs",
    "npm": "the tests with JavaScript clients need npm: apt install npm",
    "nginx": "the tests behind a proxy need nginx: apt install nginx-light",
    "curl": "the tests with curl need it: apt install curl",
}


def program(name: str) -> str:
    """The path of a program; a test fails where it is not installed."""
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
    if path is None:
        pytest.fail(MISSING[name])
    return path


@cache
def node_modules() -> Path:
    """Where the JavaScript clients are; installs them, at the versions of package-lock.json, where they are not."""
    found, lock = HERE / "node_modules", HERE / "package-lock.json"
    installed = found / ".package-lock.json"  # written by npm when it has finished
    if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
        command = [program("npm"), "ci", "--no-audit", "--no-fund", "--loglevel=error"]
        done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode != 0:
            pytest.fail(f"npm ci in tests/clients failed: {done.stderr.strip()}")
    return found


def rxstream() -> list[str]:
    """The beginning of a command line of our own."""
    return [str(Path(sys.executable).with_name("rxstream"))]
