"""A client that leaves takes the provider's answer with it, whoever it is and whatever it waits for."""

from __future__ import annotations

import subprocess

import httpx
import pytest

from tests.clients.clients import ask, every_client
from tests.clients.curl_client import PATHS, body_of, curl_arguments
from tests.clients.gateways import Served
from tests.clients.report import Client, Job
from tests.clients.scenes import ANSWERS, SERVED_WIRES, Scene
from tests.clients.stage import Stage

every_wire = pytest.mark.parametrize("wire", sorted(SERVED_WIRES))
every_route = pytest.mark.parametrize("format", sorted(PATHS))


@every_client()
@every_wire
def test_a_client_that_leaves_in_the_answer_ends_it(ready: Client, gateway: Served, stage: Stage, wire: str) -> None:
    scene = Scene("endless")
    report = ask(ready, gateway, wire, scene, leave=True)
    assert report.left
    assert report.text == ANSWERS["text"].text[0]
    stage.wait_left(scene)


@every_route
@pytest.mark.parametrize("name", ["mute", "silent"])
def test_a_client_that_leaves_before_the_first_word_ends_it(
    gateway: Served, stage: Stage, format: str, name: str
) -> None:
    scene = Scene(name)
    job = Job(gateway.base_url, "openai-chat", scene.prompt)
    url, patience = job.base_url + PATHS[format], httpx.Timeout(10, read=0.5)
    with pytest.raises(httpx.ReadTimeout), httpx.stream("POST", url, json=body_of(format, job), timeout=patience):
        pass
    stage.wait_left(scene)


@every_route
def test_a_client_that_leaves_a_whole_answer_ends_it(gateway: Served, stage: Stage, format: str) -> None:
    scene = Scene("endless")
    body = body_of(format, Job(gateway.base_url, "openai-chat", scene.prompt)) | {"stream": False}
    if format == "ai-sdk-ui":
        del body["stream"]
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(gateway.base_url + PATHS[format], json=body, timeout=httpx.Timeout(10, read=0.5))
    stage.wait_left(scene)


def test_a_client_that_is_killed_ends_its_answer(gateway: Served, stage: Stage) -> None:
    scene = Scene("endless")
    job = Job(gateway.base_url, "openai-chat", scene.prompt)
    with subprocess.Popen(curl_arguments("openai-chat", job), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as curl:
        assert curl.stdin is not None
        assert curl.stdout is not None
        curl.stdin.write(httpx.Request("POST", "http://x", json=body_of("openai-chat", job)).content)
        curl.stdin.close()
        assert curl.stdout.readline().startswith(b"data: ")
        curl.kill()
    stage.wait_left(scene)
