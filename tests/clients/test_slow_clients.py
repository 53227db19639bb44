"""A client that does not read pauses its provider, and nobody else's."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.clients.clients import ask, every_client
from tests.clients.curl_client import PATHS, body_of, curl_arguments
from tests.clients.gateways import Served
from tests.clients.report import Client, Job
from tests.clients.scenes import ANSWERS, FLOOD_PIECE, Scene
from tests.clients.sockets import BareClient
from tests.clients.stage import Stage

SLOW_READERS = 64
MIB = 1024 * 1024

MAX_AHEAD = 8 * MIB
"""What an answer may have gone ahead of a client that stands still: the bound of the gateway's queue, 1 MiB, and what
kernels hold on the way, of which Linux lets the provider's side grow to 6 MiB. Without a bound it would never end."""


@contextmanager
def curl_reading(base_url: str, format: str, wire: str, scene: Scene) -> Iterator[subprocess.Popen[bytes]]:
    """curl in the middle of an answer, of which the first piece has come; what follows it is thrown away."""
    job = Job(base_url, wire, scene.prompt)
    command = [*curl_arguments(format, job), "--output", "/dev/null"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as curl:
        assert curl.stdin is not None
        curl.stdin.write(json.dumps(body_of(format, job)).encode())
        curl.stdin.close()
        try:
            yield curl
        finally:
            curl.kill()


@pytest.mark.parametrize("format", sorted(PATHS))
@pytest.mark.parametrize("wire", ["openai-chat", "bedrock-converse", "ollama"])
def test_a_stopped_client_pauses_its_provider(gateway: Served, stage: Stage, format: str, wire: str) -> None:
    scene = Scene("flood")
    with curl_reading(gateway.base_url, format, wire, scene) as curl:
        stage.wait_more(scene, MIB)  # it flows
        curl.send_signal(signal.SIGSTOP)
        taken = stage.wait_blocked(scene)
        curl.send_signal(signal.SIGCONT)
        stage.wait_more(scene, taken + 2 * MIB)  # it flows again
        curl.send_signal(signal.SIGSTOP)
        stage.wait_blocked(scene)
        curl.kill()  # a client that stands still and leaves
        stage.wait_left(scene)


@every_client()
def test_slow_readers_pause_their_providers_and_nobody_else(ready: Client, gateway: Served, stage: Stage) -> None:
    count = SLOW_READERS if ready.name == "openai-py-chat" else 4
    scenes = [Scene("flood") for _ in range(count)]
    with ExitStack() as open_clients:
        for scene in scenes:
            client = open_clients.enter_context(BareClient(gateway.port))
            body = body_of("openai-chat", Job(gateway.base_url, "openai-chat", scene.prompt))
            client.post(PATHS["openai-chat"], body)
        for scene in scenes:
            assert stage.wait_blocked(scene) < MAX_AHEAD
        quick = ask(ready, gateway, "openai-chat", Scene("text"))
        assert quick.failure is None
        assert quick.text == "".join(ANSWERS["text"].text)
        assert all(stage.record(scene).is_blocked for scene in scenes)
    for scene in scenes:
        stage.wait_left(scene)


def test_a_client_that_reads_little_by_little_loses_nothing(gateway: Served, stage: Stage) -> None:
    scene = Scene("flood")
    with BareClient(gateway.port) as client:
        client.post("/v1/chat/completions", body_of("openai-chat", Job("", "openai-chat", scene.prompt)))
        stage.wait_blocked(scene)
        for _ in range(2000):
            line = client.read_until(b"\n\n").rpartition(b"data: ")[2]
            if FLOOD_PIECE.encode() in line:
                text = json.loads(line.strip().rpartition(b"\r\n")[2])["choices"][0]["delta"]["content"]
                assert text == FLOOD_PIECE
