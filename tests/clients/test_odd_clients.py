"""What HTTP and JSON allow, and few clients do."""

from __future__ import annotations

import json
import socket
import struct
import time
from typing import Any

import httpx
import pytest

from tests.clients.curl_client import PATHS, body_of
from tests.clients.gateways import Served
from tests.clients.report import TIMEOUT_SECONDS, Job
from tests.clients.scenes import ANSWERS, Scene
from tests.clients.sockets import BareClient
from tests.clients.stage import Stage

TEXT = "".join(ANSWERS["text"].text)
THIRD = "\u201cthird\u201d".encode()
CHAT = PATHS["openai-chat"]

every_route = pytest.mark.parametrize("format", sorted(PATHS))


def asked(scene: Scene, format: str = "openai-chat", **more: Any) -> dict[str, Any]:
    """A request for a scene, in the words of a route."""
    return {**body_of(format, Job("", "openai-chat", scene.prompt)), **more}


def text_of(stream: bytes) -> str:
    """The text of a stream of chat completions."""
    frames = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith(b"data: {")]
    return "".join(choice["delta"].get("content") or "" for frame in frames for choice in frame["choices"])


def wait_idle(gateway: Served) -> None:
    """Wait until no request to a model runs."""
    give_up = time.monotonic() + TIMEOUT_SECONDS
    while gateway.streams():
        assert time.monotonic() < give_up, "an answer goes on for nobody"
        time.sleep(0.02)  # it tells nobody when it ends


@every_route
def test_a_connection_serves_one_answer_after_the_other(gateway: Served, format: str) -> None:
    with BareClient(gateway.port) as client:
        for scene in ("text", "status_429", "cut", "text", "length"):
            client.post(PATHS[format], asked(Scene(scene), format))
            head = client.read_until(b"\r\n\r\n")
            if b"transfer-encoding: chunked" in head.lower():
                client.read_until(b"\r\n0\r\n\r\n")
            else:
                client.read_exactly(int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
            assert (b" 429 " if scene == "status_429" else b" 200 ") in head


def test_requests_sent_at_once_are_answered_in_order(gateway: Served) -> None:
    with BareClient(gateway.port) as client:
        client.post(CHAT, asked(Scene("text")))
        client.post(CHAT, asked(Scene("reasoning")))
        first = client.read_until(b"data: [DONE]\n\n")
        second = client.read_until(b"data: [DONE]\n\n")
    assert THIRD in first
    assert b"cold." in second


def test_a_body_in_chunks_that_waits_to_be_asked_for_is_read(gateway: Served) -> None:
    data = json.dumps(asked(Scene("text"))).encode()
    with BareClient(gateway.port) as client:
        head = f"POST {CHAT} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        client.send(head.encode() + b"transfer-encoding: chunked\r\nexpect: 100-continue\r\n\r\n")
        assert b" 100 " in client.read_until(b"\r\n\r\n")
        for start in range(0, len(data), 7):
            piece = data[start : start + 7]
            client.send(b"%x\r\n%b\r\n" % (len(piece), piece))
        client.send(b"0\r\n\r\n")
        assert b" 200 " in client.read_until(b"\r\n\r\n")
        assert THIRD in client.read_until(b"[DONE]")


@every_route
def test_a_client_that_leaves_inside_its_request_asks_nobody(gateway: Served, stage: Stage, format: str) -> None:
    scene = Scene("text")
    data = json.dumps(asked(scene, format)).encode()
    with BareClient(gateway.port) as client:
        head = f"POST {PATHS[format]} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        client.send(f"{head}content-length: {len(data)}\r\n\r\n".encode() + data[:-1])
    wait_idle(gateway)
    assert stage.records(scene) == []


def test_clients_that_reset_their_connections_leave_nothing_behind(gateway: Served, stage: Stage) -> None:
    scenes = [Scene(name) for name in ("endless", "silent", "mute", "flood") for _ in range(10)]
    clients = [BareClient(gateway.port) for _ in scenes]
    for scene, client in zip(scenes, clients, strict=True):
        client.post(CHAT, asked(scene))
    for scene in scenes:
        stage.record(scene)
    for client in clients:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.socket.close()
    for scene in scenes:
        stage.wait_left(scene)
    wait_idle(gateway)


@pytest.mark.parametrize(
    "more",
    [
        {"stream_options": None},
        {"stream_options": {}},
        {"tools": None, "tool_choice": None, "response_format": None, "stop": None},
        {"tools": []},
        {"temperature": 1, "top_p": 1, "n": 1, "logprobs": False, "user": "u", "store": False, "metadata": {}},
        {"max_tokens": None, "max_completion_tokens": 100},
        {"stream_options": {"include_usage": True, "include_obfuscation": False}},
    ],
    ids=lambda more: ",".join(more),
)
@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "gemini", "ollama"])
def test_fields_that_say_nothing_change_nothing(gateway: Served, wire: str, more: dict[str, Any]) -> None:
    body = asked(Scene("text"), model=wire, **more)
    response = httpx.post(gateway.base_url + CHAT, json=body, timeout=TIMEOUT_SECONDS)
    assert response.status_code == 200, response.text
    assert text_of(response.content) == TEXT


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("accept", "application/json"),
        ("accept", "text/html"),
        ("accept-encoding", "br, zstd, gzip;q=0"),
        ("content-type", "application/json; charset=UTF-8"),
        ("content-type", "Application/JSON"),
        ("connection", "close"),
        ("user-agent", ""),
        ("authorization", "Bearer"),
        ("authorization", "Bearer \u00e9"),
        ("x-stainless-retry-count", "2"),
        ("last-event-id", "17"),
    ],
)
def test_headers_of_odd_clients_change_nothing(gateway: Served, name: str, value: str) -> None:
    headers = {name.encode(): value.encode("latin-1")}
    response = httpx.post(
        gateway.base_url + CHAT, json=asked(Scene("text")), headers=list(headers.items()), timeout=TIMEOUT_SECONDS
    )
    assert response.status_code == 200, response.text
    assert text_of(response.content) == TEXT


@pytest.mark.parametrize("ascii_only", [True, False])
def test_any_script_goes_to_the_provider_and_back(gateway: Served, stage: Stage, ascii_only: bool) -> None:
    scene = Scene("text")
    said = "\u0000 \u2028 \U0001f469\u200d\U0001f467 \u05d0 \ufeff \ud7ff"
    body = asked(scene, messages=[{"role": "user", "content": said + scene.prompt}])
    data = json.dumps(body, ensure_ascii=ascii_only).encode()
    headers = {"content-type": "application/json"}
    response = httpx.post(gateway.base_url + CHAT, content=data, headers=headers, timeout=TIMEOUT_SECONDS)
    assert response.status_code == 200, response.text
    assert stage.record(scene).json()["messages"][0]["content"] == said + scene.prompt


@every_route
def test_half_a_character_is_refused_not_failed(gateway: Served, stage: Stage, format: str) -> None:
    scene = Scene("text")
    for broken in (b"\\ud83d", b"\xf0\x9f", b"\xff"):
        data = json.dumps(asked(scene, format)).encode().replace(b"Please", b"Please " + broken)
        response = httpx.post(
            gateway.base_url + PATHS[format], content=data, headers={"content-type": "application/json"}, timeout=20
        )
        assert response.status_code in (200, 400), response.text
        assert "Traceback" not in response.text
        if response.status_code == 200:
            assert stage.records(scene)
