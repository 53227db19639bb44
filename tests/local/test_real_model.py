"""The installed model itself, over its own HTTP server."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from rxstream.local import LocalModel

pytestmark = pytest.mark.local_model

QUESTION = {"messages": [{"role": "user", "content": "What is the capital of France?"}]}
SHORT = {**QUESTION, "temperature": 0, "max_tokens": 12, "stream": True}
ENDLESS = {**QUESTION, "temperature": 0, "max_tokens": 100_000, "ignore_eos": True, "stream": True}
PATIENCE_SECONDS = 30.0


@pytest.fixture
def client(local_model: LocalModel) -> Iterator[httpx.Client]:
    with httpx.Client(
        base_url=local_model.base_url, headers=dict(local_model.request_headers), timeout=PATIENCE_SECONDS
    ) as client:
        yield client


def frames(client: httpx.Client, path: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    with client.stream("POST", path, json=body) as response:
        assert response.status_code == 200
        data = [line.removeprefix("data: ") for line in response.iter_lines() if line.startswith("data: ")]
    return [json.loads(item) for item in data if item != "[DONE]"]


def busy_slots(client: httpx.Client) -> int:
    return sum(slot["is_processing"] for slot in client.get("/slots").json())


def wait_until_idle(client: httpx.Client) -> None:
    give_up = time.monotonic() + PATIENCE_SECONDS
    while busy_slots(client):
        assert time.monotonic() < give_up, "the slot was not freed"


def send_raw(model: LocalModel, body: dict[str, Any]) -> socket.socket:
    """Ask for a stream on a socket that nobody reads."""
    address = httpx.URL(model.base_url)
    content = json.dumps(body).encode()
    reader = socket.create_connection((address.host, address.port or 80))
    reader.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: model\r\nContent-Type: application/json\r\n")
    reader.sendall(b"Content-Length: %d\r\n\r\n" % len(content) + content)
    return reader


def test_the_server_is_ready_once_started(client: httpx.Client) -> None:
    assert client.get("/health").json() == {"status": "ok"}


def test_it_serves_the_model_under_its_name(local_model: LocalModel, client: httpx.Client) -> None:
    assert [model["id"] for model in client.get("/v1/models").json()["data"]] == [local_model.model_name]


def test_both_wires_stream_the_same_answer(client: httpx.Client) -> None:
    chat = frames(client, "/v1/chat/completions", {**SHORT, "stream_options": {"include_usage": True}})
    messages = frames(client, "/v1/messages", SHORT)

    pieces = [
        choice["delta"]["content"] for frame in chat for choice in frame["choices"] if choice["delta"].get("content")
    ]
    deltas = [frame["delta"]["text"] for frame in messages if frame["type"] == "content_block_delta"]
    assert "".join(pieces) == "".join(deltas) != ""
    assert len(pieces) > 1
    assert chat[-1]["usage"]["completion_tokens"] == 12


def test_a_client_that_leaves_frees_its_slot(client: httpx.Client) -> None:
    with client.stream("POST", "/v1/chat/completions", json=ENDLESS) as response:
        chunks = response.iter_raw()  # kept: httpx closes the connection of an iterator that is dropped
        next(chunks)
        assert busy_slots(client) == 1

    wait_until_idle(client)


def test_many_waiting_clients_do_not_keep_others_out(local_model: LocalModel, client: httpx.Client) -> None:
    waiting = [send_raw(local_model, ENDLESS) for _ in range(12)]

    assert client.get("/health").status_code == 200

    for reader in waiting:
        reader.close()
    wait_until_idle(client)


def test_each_request_succeeds_right_after_a_stream(client: httpx.Client) -> None:
    for _ in range(10):  # with kept connections, one in five fails
        frames(client, "/v1/chat/completions", {**SHORT, "max_tokens": 1})


def test_a_reader_that_stands_still_does_not_hold_up_the_end(capfd: pytest.CaptureFixture[str]) -> None:
    with LocalModel(context_tokens=512, parallel_requests=1) as model:
        with send_raw(model, ENDLESS) as reader:
            assert reader.recv(1)

            model.close()

    assert capfd.readouterr() == ("", "")
