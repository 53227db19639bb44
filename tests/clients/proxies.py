"""nginx as a process of its own, in front of a gateway."""

from __future__ import annotations

import socket
import string
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.clients.programs import HERE, program

__all__ = ("HOLDING", "WAYS", "nginx_before")

WAYS = ("buffered", "unbuffered", "gzipped")
"""How nginx is set where streams pass."""

HOLDING = "holding"
"""How it is set where they do not."""

START_SECONDS = 20


@contextmanager
def nginx_before(port: int, folder: Path) -> Iterator[Mapping[str, str]]:
    """The base URLs of nginx for each of `WAYS` and for `HOLDING`, in front of what listens at `port`."""
    ways = (*WAYS, HOLDING)
    ports = dict(zip(ways, free_ports(len(ways)), strict=True))
    settings = string.Template((HERE / "nginx.conf").read_text(encoding="utf-8")).safe_substitute(
        FOLDER=folder, GATEWAY=port, **{name.upper(): number for name, number in ports.items()}
    )
    file = folder / "nginx.conf"
    file.write_text(settings, encoding="utf-8")
    with subprocess.Popen([program("nginx"), "-p", folder, "-e", folder / "error.log", "-c", file]) as process:
        try:
            for number in ports.values():
                _wait_open(number, process, folder)
            yield {name: f"http://127.0.0.1:{number}" for name, number in ports.items()}
        finally:
            process.kill()


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens at; nginx cannot say which one it was given."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _wait_open(port: int, process: subprocess.Popen[bytes], folder: Path) -> None:
    give_up = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            log = folder / "error.log"
            said = log.read_text() if log.exists() else ""
            assert process.poll() is None, f"nginx ended: {said}"
            assert time.monotonic() < give_up, f"nginx does not listen: {said}"
            time.sleep(0.02)  # it tells nobody when it does
