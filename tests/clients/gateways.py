"""A real `rxstream serve`, as a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from rxstream.gateway.config.toml_text import toml_text
from tests.clients.programs import rxstream
from tests.clients.scenes import SERVED_WIRES
from tests.clients.stage import Stage

__all__ = ("Served", "serving", "settings_for")

START_SECONDS = 60
ENVIRONMENT = {
    "SCRIPTED_KEY": "sk-scripted",
    "AWS_REGION": "eu-west-1",
    "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI",
}

MODELS = {"bedrock-invoke": "anthropic.claude-scripted-1"}
"""What a model is called where the wire's requests depend on its maker."""


@dataclass(frozen=True, slots=True)
class Served:
    """A gateway that runs.

    Args:
        base_url: where, without a path.
        log: the file with what it wrote to its standard error.
    """

    base_url: str
    log: Path

    @property
    def port(self) -> int:
        """Its port on 127.0.0.1."""
        return httpx.URL(self.base_url).port or 80

    def streams(self) -> int:
        """How many requests to models run now."""
        return int(httpx.get(f"{self.base_url}/readyz").json()["streams"])


def settings_for(stage: Stage, **server: Any) -> dict[str, Any]:
    """Settings with one model for each wire, which has the wire's name."""
    models = [
        {
            "name": wire,
            "provider": wire,
            "model": MODELS.get(wire, "scripted-1"),
            "base_url": stage.base_url(wire),
            **({} if wire.startswith("bedrock") else {"api_key_env": "SCRIPTED_KEY"}),
        }
        for wire in sorted(SERVED_WIRES)
    ]
    return {"server": {"shutdown_grace_seconds": 0, **server}, "models": models}


@contextmanager
def serving(
    settings: Mapping[str, Any] | None,
    folder: Path,
    *,
    environ: Mapping[str, str] | None = None,
    command: tuple[str, ...] = (),
) -> Iterator[Served]:
    """A gateway with these settings on a free port, for the length of the block; None is without any.

    Args:
        settings: what stands in its file.
        folder: where that file and the log go.
        environ: more of its environment.
        command: what runs it in place of `rxstream serve`; it is given the same arguments.
    """
    log = folder / "log"
    arguments = ["--port", "0"]
    if settings is not None:
        file = folder / "gateway.toml"
        file.write_text(toml_text(settings), encoding="utf-8")
        arguments = ["--config", str(file), *arguments]
    program = command or (*rxstream(), "serve")
    environment = {**os.environ, **ENVIRONMENT, **(environ or {})}
    with log.open("w") as stderr:
        process = subprocess.Popen(
            [*program, *arguments], stdout=subprocess.PIPE, stderr=stderr, text=True, env=environment
        )
    with process:
        try:
            yield Served(_address(process, log), log)
        finally:
            process.terminate()
            try:
                process.wait(START_SECONDS)
            finally:
                process.kill()
    written = log.read_text()
    assert "Traceback" not in written, written
    assert "unexpected error" not in written, written


def _address(process: subprocess.Popen[str], log: Path) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            return found.group()
    raise AssertionError(f"the gateway did not start: {log.read_text()}")
