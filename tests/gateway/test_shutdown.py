"""The end of a gateway: a real process, real signals."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from rxstream.testing import Repeat, Reply, ScriptedProvider, Send, Stall, answer, run
from tests.cli.conftest import command, environment

from .kit import ASK, CHAT, config_for, running

PIECE = b'data: {"id":"a","choices":[{"index":0,"delta":{"content":"half an answer"}}]}\n\n'
STREAM = {**ASK[CHAT], "stream": True}
SECONDS = 20.0

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="a process there has no signals of this kind")


class Process:
    """`rxstream serve` in a process of its own."""

    def __init__(self, *arguments: str, **variables: str) -> None:
        self._process = subprocess.Popen(
            command("serve", "--port", "0", *arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(variables),
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self.banner = ""
        while "Ctrl-C" not in self.banner and (line := self._process.stdout.readline()):
            self.banner += line
        found = re.search(r"http://[\d.]+:\d+", self.banner)
        assert found is not None, self._process.stderr.read()
        self.base_url = found[0]
        self._errors: list[str] = []
        self._reader = threading.Thread(target=lambda: self._errors.extend(self._process.stderr or ()))
        self._reader.start()

    @property
    def address(self) -> tuple[str, int]:
        url = httpx.URL(self.base_url)
        assert url.port is not None
        return url.host, url.port

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def end(self) -> int:
        code = self._process.wait(SECONDS)
        self._reader.join(SECONDS)
        return code

    def lines(self) -> list[dict[str, Any]]:
        """What it wrote to standard error, of which every line is JSON."""
        return [json.loads(line) for line in self._errors]

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._reader.join(SECONDS)
        for pipe in (self._process.stdout, self._process.stderr):
            assert pipe is not None
            pipe.close()


@contextmanager
def serving(tmp_path: Path, base_url: str, server: str = "") -> Iterator[Process]:
    file = tmp_path / "gateway.toml"
    model = f'[[models]]\nname = "m"\nprovider = "openai-chat"\nmodel = "there"\nbase_url = "{base_url}"\n'
    file.write_text(f"{model}[server]\n{server}\n")
    process = Process("--config", str(file))
    try:
        yield process
    finally:
        process.close()


def read_half(stream: httpx.Response) -> Iterator[str]:
    """The pieces of an answer, from behind its first half on."""
    pieces = stream.iter_text()
    seen = ""
    while "half an answer" not in seen:
        seen += next(pieces)
    return pieces


def wait_closed(process: Process) -> None:
    """Until nobody is let in any more."""
    while True:
        try:
            httpx.get(f"{process.base_url}/healthz")
        except httpx.TransportError:
            return


@posix_only
@pytest.mark.parametrize(("number", "grace"), [(signal.SIGTERM, "20"), (signal.SIGINT, "inf")])
def test_an_idle_gateway_ends_with_code_0(tmp_path: Path, number: signal.Signals, grace: str) -> None:
    with serving(tmp_path, "http://127.0.0.1:9", f"shutdown_grace_seconds = {grace}") as process:
        assert httpx.get(f"{process.base_url}/healthz").json() == {"status": "ok"}
        process.signal(number)
        assert process.end() == 0


@posix_only
def test_answers_that_run_get_their_time_and_new_connections_are_refused(tmp_path: Path) -> None:
    script = Reply([Send(PIECE), *answer(" and the rest").steps], before_head=())
    gate = threading.Event()

    class WaitForGate:
        async def play(self, reply: Any) -> None:
            await asyncio.to_thread(gate.wait, SECONDS)

    held = Reply([script.steps[0], WaitForGate(), *script.steps[1:]])
    with ScriptedProvider.run_in_thread(held) as provider, serving(tmp_path, provider.base_url) as process:
        with httpx.stream("POST", process.base_url + CHAT, json=STREAM) as stream:
            pieces = read_half(stream)
            process.signal(signal.SIGTERM)
            wait_closed(process)
            gate.set()
            rest = "".join(pieces)
        assert '"content":" and the rest"' in rest
        assert rest.endswith("data: [DONE]\n\n")
        assert process.end() == 0


def test_from_the_signal_on_a_request_over_an_old_connection_is_refused() -> None:
    async def main() -> httpx.Response:
        async with running(config_for("http://127.0.0.1:9")) as gateway:
            app: Any = gateway.server.config.app
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=gateway.base_url) as client:
                gateway.server.handle_exit(signal.SIGTERM, None)
                await asyncio.sleep(0)  # a signal is heard between two turns; the server closes nothing before its tick
                ready = await client.get("/readyz")
                assert (ready.status_code, ready.json()["draining"]) == (503, True)
                return await client.post(CHAT, json=STREAM)

    said = run(main())
    assert (said.status_code, said.headers["retry-after"]) == (503, "1")
    assert "shutting down" in said.json()["error"]["message"]


@posix_only
def test_answers_that_run_too_long_are_ended_with_an_error_and_their_provider_is_left(tmp_path: Path) -> None:
    held = Reply([Send(PIECE), Stall()])
    with ScriptedProvider.run_in_thread(held) as provider:
        with serving(tmp_path, provider.base_url, "shutdown_grace_seconds = 0.2") as process:
            with httpx.stream("POST", process.base_url + CHAT, json=STREAM) as stream:
                pieces = read_half(stream)
                process.signal(signal.SIGTERM)
                rest = "".join(pieces)
            assert json.loads(rest.removeprefix("data: "))["error"]["type"] == "cancelled"
            assert process.end() == 0
            provider.wait_until(lambda server: server.requests[0].disconnected.is_set())
            ended = [line for line in process.lines() if line["event"] == "request"]
            assert [(line["outcome"], line["cause"]) for line in ended] == [("cancelled", "operator")]


@posix_only
def test_a_client_that_does_not_read_does_not_hold_the_end_up(tmp_path: Path) -> None:
    endless = Reply([Repeat(lambda _: PIECE * 100)])
    with ScriptedProvider.run_in_thread(endless) as provider:
        settings = "shutdown_grace_seconds = 0.1\n[limits]\nmax_cleanup_seconds = 0.5"
        with serving(tmp_path, provider.base_url, settings) as process:
            with socket.create_connection(process.address) as client:
                body = json.dumps(STREAM).encode()
                head = f"POST {CHAT} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
                client.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
                provider.wait_until(lambda server: bool(server.requests) and server.requests[0].is_blocked)
                process.signal(signal.SIGTERM)
                assert process.end() == 0
            provider.wait_until(lambda server: server.requests[0].disconnected.is_set())
            ended = [line for line in process.lines() if line["event"] == "request"]
            assert [(line["outcome"], line["cause"]) for line in ended] == [("cancelled", "operator")]


@posix_only
def test_a_second_signal_cuts(tmp_path: Path) -> None:
    held = Reply([Send(PIECE), Stall()])
    with ScriptedProvider.run_in_thread(held) as provider, serving(tmp_path, provider.base_url) as process:
        with httpx.stream("POST", process.base_url + CHAT, json=STREAM) as stream:
            pieces = read_half(stream)
            process.signal(signal.SIGTERM)
            wait_closed(process)  # two signals at once may be one
            process.signal(signal.SIGTERM)
            with pytest.raises(httpx.RemoteProtocolError):
                "".join(pieces)
            assert process.end() == 0
        provider.wait_until(lambda server: server.requests[0].disconnected.is_set())
