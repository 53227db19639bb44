"""Behind proxies and middleware pieces still arrive as they are made, and leaving still reaches the provider."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace

import httpx
import pytest

from tests.clients.clients import ask, every_client
from tests.clients.curl_client import PATHS, Curl, body_of
from tests.clients.gateways import Served, serving, settings_for
from tests.clients.programs import rxstream
from tests.clients.proxies import HOLDING, WAYS, nginx_before
from tests.clients.report import TIMEOUT_SECONDS, Client, Job
from tests.clients.scenes import ANSWERS, Scene
from tests.clients.sockets import BareClient
from tests.clients.stage import Stage
from tests.clients.test_slow_clients import MIB, curl_reading

every_way = pytest.mark.parametrize("way", WAYS)


@pytest.fixture(scope="module")
def nginx(gateway: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """nginx in front of the gateway, once for each way."""
    with nginx_before(gateway.port, tmp_path_factory.mktemp("nginx")) as urls:
        yield urls


@pytest.fixture(scope="module")
def gzipping(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A gateway inside the middleware that compresses."""
    command = (sys.executable, "-m", "tests.clients.gzip_gateway")
    with serving(settings_for(stage), tmp_path_factory.mktemp("gzip"), command=command) as served:
        yield served


def check_held(client: Client, gateway: Served, stage: Stage, wire: str = "openai-chat") -> None:
    """The first piece is there before the second is made, and then the rest."""
    scene = Scene("held")
    seen: list[str] = []

    def see(piece: str) -> None:
        if not seen:
            assert stage.is_held(scene, wire)
            stage.release(scene)
        seen.append(piece)

    report = ask(client, gateway, wire, scene, see)
    assert report.failure is None
    assert tuple(seen) == tuple(ANSWERS["text"].text)


@every_client()
@every_way
def test_pieces_pass_nginx_as_they_are_made(
    ready: Client, gateway: Served, nginx: Mapping[str, str], stage: Stage, way: str
) -> None:
    check_held(ready, replace(gateway, base_url=nginx[way]), stage)


@every_client()
@every_way
def test_who_leaves_nginx_leaves_the_provider(
    ready: Client, gateway: Served, nginx: Mapping[str, str], stage: Stage, way: str
) -> None:
    scene = Scene("endless")
    assert ask(ready, replace(gateway, base_url=nginx[way]), "openai-chat", scene, leave=True).left
    stage.wait_left(scene)


@pytest.mark.parametrize("format", sorted(PATHS))
@every_way
def test_who_stands_still_behind_nginx_pauses_the_provider(
    nginx: Mapping[str, str], stage: Stage, way: str, format: str
) -> None:
    scene = Scene("flood")
    with curl_reading(nginx[way], format, "openai-chat", scene) as curl:
        stage.wait_more(scene, MIB)
        curl.send_signal(signal.SIGSTOP)
        taken = stage.wait_blocked(scene)
        curl.send_signal(signal.SIGCONT)
        stage.wait_more(scene, taken + MIB)
        curl.kill()
        stage.wait_left(scene)


@every_way
@every_client()
def test_a_refusal_passes_nginx(ready: Client, gateway: Served, nginx: Mapping[str, str], way: str) -> None:
    failure = ask(ready, replace(gateway, base_url=nginx[way]), "openai-chat", Scene("status_429")).failure
    assert failure is not None
    assert failure.kind == ready.errors[429]
    assert failure.retry_after in ("3", None)


@every_way
@every_client()
def test_an_answer_that_breaks_off_behind_nginx_is_an_error(
    ready: Client, gateway: Served, nginx: Mapping[str, str], way: str
) -> None:
    report = ask(ready, replace(gateway, base_url=nginx[way]), "openai-chat", Scene("cut"))
    assert report.failure is not None
    assert report.text == ANSWERS["text"].text[0]


@every_way
def test_the_doctor_finds_nothing_held_back_where_pieces_pass(nginx: Mapping[str, str], way: str) -> None:
    done = examine(nginx[way])
    assert "frames      4 of 4" in done.stdout
    assert "held back, up to" not in done.stdout
    problems = [line for line in done.stdout.splitlines() if line.startswith("problem: ")]
    if way == "unbuffered":
        assert (done.returncode, problems) == (0, [])
    else:  # what nginx does where nobody tells it otherwise
        assert done.returncode == 3
        assert [problem[:34] for problem in problems] == ["problem: the proxy speaks HTTP/1.0"]


def test_the_doctor_finds_the_nginx_that_holds_pieces_back(nginx: Mapping[str, str]) -> None:
    done = examine(nginx[HOLDING])
    assert done.returncode == 3
    assert "problem: frames are held back, up to 0." in done.stdout
    assert "4 came all at once" in done.stdout
    assert "proxy_buffering off" in done.stdout


@pytest.mark.parametrize("format", sorted(PATHS))
def test_who_leaves_an_nginx_that_holds_pieces_back_leaves_the_provider(
    gateway: Served, nginx: Mapping[str, str], stage: Stage, format: str
) -> None:
    scene = Scene("flood")
    served = replace(gateway, base_url=nginx[HOLDING])
    assert ask(Curl(format), served, "openai-chat", scene, leave=True).left
    stage.wait_left(scene)


def examine(url: str) -> subprocess.CompletedProcess[str]:
    """What `rxstream doctor` says of what stands at `url`."""
    command = [*rxstream(), "doctor", url, "--frames", "4"]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS)


@every_client()
def test_pieces_pass_compressing_middleware_as_they_are_made(ready: Client, gzipping: Served, stage: Stage) -> None:
    check_held(ready, gzipping, stage)


@pytest.mark.parametrize("format", sorted(PATHS))
def test_a_compressed_stream_lets_each_piece_out(nginx: Mapping[str, str], stage: Stage, format: str) -> None:
    scene = Scene("held")
    first, *more = ANSWERS["text"].text
    url, body = nginx["gzipped"] + PATHS[format], body_of(format, Job("", "openai-chat", scene.prompt))
    with httpx.stream("POST", url, json=body, headers={"accept-encoding": "gzip"}, timeout=TIMEOUT_SECONDS) as response:
        seen = ""
        for text in response.iter_text():
            if first in seen + text and first not in seen:
                assert stage.is_held(scene, "openai-chat")
                stage.release(scene)
            seen += text
    assert all(json.dumps(piece)[1:-1] in seen or piece in seen for piece in more[:1])


@pytest.mark.parametrize("format", sorted(PATHS))
def test_a_client_of_http_1_0_is_served(gateway: Served, stage: Stage, format: str) -> None:
    scene = Scene("held")
    first, *_ = ANSWERS["text"].text
    with BareClient(gateway.port) as client:
        client.post(PATHS[format], body_of(format, Job("", "openai-chat", scene.prompt)), version="1.0")
        head = client.read_until(b"\r\n\r\n").lower()
        client.read_until(first.encode())
        assert stage.is_held(scene, "openai-chat")
        stage.release(scene)
        rest = client.read_all()
    assert b" 200 " in head
    assert b"transfer-encoding" not in head
    assert "\u201cthird\u201d".encode() in rest
    assert not rest.rstrip().endswith(b"0")


@pytest.mark.parametrize("format", sorted(PATHS))
def test_a_client_of_http_1_0_that_leaves_ends_its_answer(gateway: Served, stage: Stage, format: str) -> None:
    scene = Scene("endless")
    with BareClient(gateway.port) as client:
        client.post(PATHS[format], body_of(format, Job("", "openai-chat", scene.prompt)), version="1.0")
        client.read_until(b"The first piece")
    stage.wait_left(scene)
