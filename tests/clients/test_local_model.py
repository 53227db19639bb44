"""A real language model behind the gateway: every client reads its text, its structured answers, and can stop it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from rxstream.local import LocalModel, LocalModelError
from tests.clients.clients import ask, every_client
from tests.clients.gateways import Served, serving
from tests.clients.node_clients import NodeClient
from tests.clients.report import Client, structured_ways

WIRES = ("openai-chat", "openai-responses", "anthropic")
"""What the model's own server speaks."""

GREEDY = {"temperature": 0}
FREE_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the user says, where a scene would be."""

    prompt: str


HELLO = Prompt("Say hello.")
STORY = Prompt("Write a very long story about a lighthouse and the sea.")
COLD = Prompt("The weather in Oslo: minus three degrees. Give the city and the degrees.")


@pytest.fixture(scope="module")
def model() -> Iterator[LocalModel]:
    """The model, whose server a test can look into."""
    try:
        model = LocalModel(context_tokens=2048).start()
    except LocalModelError as error:
        pytest.fail(f"these tests need the local model: {error}")
    try:
        yield model
    finally:
        model.close()


@pytest.fixture(scope="module")
def gateway(model: LocalModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A gateway with the model under the names of the three wires."""
    about = {"model": model.model_name, "base_url": model.base_url, "headers": dict(model.request_headers)}
    entries = [{"name": wire, "provider": wire, **about} for wire in WIRES]
    with serving(None, tmp_path_factory.mktemp("local"), environ={"RXSTREAM__MODELS": json.dumps(entries)}) as served:
        yield served


def busy(model: LocalModel) -> int:
    """How many answers the model is making."""
    return sum(slot["is_processing"] for slot in httpx.get(f"{model.base_url}/slots").json())


def wait_free(model: LocalModel) -> None:
    """Wait until the model makes no answer."""
    give_up = time.monotonic() + FREE_SECONDS
    while busy(model):
        assert time.monotonic() < give_up, "the model still works for nobody"
        time.sleep(0.05)  # its server tells nobody when it is done


@every_client()
@pytest.mark.parametrize("wire", WIRES)
def test_its_text_streams(ready: Client, gateway: Served, wire: str) -> None:
    report = ask(ready, gateway, wire, HELLO, sampling=GREEDY)
    assert report.failure is None
    assert report.text.strip()
    assert report.pieces > 1
    assert report.finish == ready.finishes["stop"]
    assert report.input_tokens
    assert report.output_tokens
    assert report.output_tokens >= report.pieces / 2


@every_client("whole")
def test_its_text_is_the_same_whole(ready: Client, gateway: Served) -> None:
    whole, streamed = (
        ask(ready, gateway, "openai-chat", HELLO, sampling=GREEDY, stream=stream) for stream in (False, True)
    )
    assert whole.text == streamed.text != ""
    assert whole.finish == streamed.finish


@every_client("structured")
@pytest.mark.parametrize("wire", ["openai-chat"])
def test_its_structured_answers_are_read(ready: Client, gateway: Served, wire: str) -> None:
    for stream in structured_ways(ready):
        report = ask(ready, gateway, wire, COLD, sampling=GREEDY, structured=True, stream=stream)
        assert report.failure is None
        assert isinstance(report.parsed["city"], str)
        assert isinstance(report.parsed["degrees"], int)


@every_client()
def test_a_client_that_leaves_stops_it(ready: Client, gateway: Served, model: LocalModel) -> None:
    wait_free(model)
    seen = []

    def see(piece: str) -> None:
        seen.append(busy(model))

    report = ask(ready, gateway, "openai-chat", STORY, see, leave=True)
    assert report.left
    if not isinstance(ready, NodeClient):  # that one left before this test was told of the piece
        assert seen[0] == 1
    wait_free(model)


def test_a_gateway_without_settings_serves_it(model: LocalModel, tmp_path: Any) -> None:
    with serving(None, tmp_path) as served:
        models = httpx.get(f"{served.base_url}/v1/models").json()["data"]
        assert [entry["id"] for entry in models] == ["local"]
        body = {"model": "local", "messages": [{"role": "user", "content": HELLO.prompt}], **GREEDY}
        answer = httpx.post(f"{served.base_url}/v1/chat/completions", json=body, timeout=60).json()
        assert "not a language model" not in answer["choices"][0]["message"]["content"]
        assert answer["usage"]["completion_tokens"] > 1
