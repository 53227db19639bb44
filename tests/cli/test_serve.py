"""`rxstream serve`: what it says at the start, and what it refuses to start with."""

from __future__ import annotations

import json
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import httpx
import pytest

from rxstream.testing import ScriptedProvider, answer

from .conftest import CommandLine, command, environment, needs_local_model

SECONDS = 40.0

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="a process there has no signals of this kind")


@contextmanager
def serving(*arguments: str, **variables: str) -> Iterator[str]:
    """A gateway in a process of its own; what it says at its start."""
    process = subprocess.Popen(
        command("serve", "--port", "0", *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(variables),
    )
    assert process.stdout is not None
    try:
        banner = ""
        while "Ctrl-C" not in banner and (line := process.stdout.readline()):
            banner += line
        yield banner
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 0
        process.stdout.close()


def address_in(banner: str) -> str:
    found = re.search(r"http://\S+:\d+", banner)
    assert found is not None, banner
    return found[0]


def curl_in(banner: str) -> tuple[str, dict[str, str], bytes]:
    """The URL, the headers and the body of the line to try, as a shell would hand them to curl."""
    line = next(line for line in banner.splitlines() if line.strip().startswith("curl"))
    words = shlex.split(line)
    said = (value.partition(": ") for flag, value in pairwise(words) if flag == "-H")
    headers = {name: value for name, _, value in said}
    return words[2], headers, words[words.index("-d") + 1].encode()


@posix_only
def test_the_line_to_try_works(tmp_path: Path) -> None:
    with ScriptedProvider.run_in_thread(answer("Hello", " there")) as provider:
        file = tmp_path / "gateway.toml"
        file.write_text(f'[[models]]\nname = "house"\nprovider = "openai-chat"\nbase_url = "{provider.base_url}"\n')
        with serving("--config", str(file), "--token-env", "MY_TOKENS", MY_TOKENS="tok-1,tok-2") as banner:
            url, headers, body = curl_in(banner)
            assert headers["Authorization"] == "Bearer ${MY_TOKENS%%,*}"
            said = httpx.post(url, content=body, headers={**headers, "Authorization": "Bearer tok-1"})
            assert httpx.post(url, content=body, headers={**headers, "Authorization": "Bearer x"}).status_code == 401
    assert "  house\n" in banner
    assert (said.status_code, said.text.count("data: ")) == (200, 5)
    assert said.text.endswith("data: [DONE]\n\n")


@posix_only
@pytest.mark.local_model
@needs_local_model
def test_without_settings_the_local_model_answers() -> None:
    with serving() as banner:
        url, headers, body = curl_in(banner)
        short = {**json.loads(body), "max_tokens": 4}
        said = httpx.post(url, json=short, headers=headers, timeout=SECONDS)
    assert '"finish_reason":"length"' in said.text


@posix_only
def test_without_a_local_model_a_script_answers_and_says_what_it_is(tmp_path: Path) -> None:
    with serving(RXSTREAM_MODEL=str(tmp_path / "none.gguf")) as banner:
        url, headers, body = curl_in(banner)
        said = httpx.post(url, content=body, headers=headers, timeout=SECONDS)
        whole = httpx.post(url, json={**json.loads(body), "stream": False}, headers=headers, timeout=SECONDS).json()
    assert said.text.endswith("data: [DONE]\n\n")
    assert whole["choices"][0]["message"]["content"].startswith("This is not a language model: it is a scripted answer")
    assert whole["usage"]["prompt_tokens"] == 2


def test_models_of_the_command_line_are_served(rxstream: CommandLine) -> None:
    done = rxstream("serve", "--model", "openai/gpt-5-mini")
    assert done.returncode == 2
    told = "rxstream: models[0] (openai/gpt-5-mini): there is no key for 'openai': set OPENAI_API_KEY"
    assert done.stderr.startswith(told)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["--host", "0.0.0.0"],
            "to listen at '0.0.0.0', where other machines reach it, it needs tokens: set RXSTREAM_TO",
        ),
        (["--config", "none.toml"], "none.toml: there is no such file"),
        (["--token-env", "NOT_SET"], "server.tokens_env: the variable NOT_SET is not set"),
        (["--log-level", "loud"], "the command line: log.level: Input should be 'debug', 'info'"),
        (["--model", "opnai/x"], "the command line: models[0].provider: there is no provider 'opnai': did you mean"),
        (["--host", "not a host"], "to listen at 'not a host'"),
    ],
)
def test_what_cannot_be_started_is_one_sentence(rxstream: CommandLine, arguments: list[str], told: str) -> None:
    done = rxstream("serve", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"rxstream: {told}")


def test_a_port_that_is_taken_is_told(rxstream: CommandLine, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = rxstream("serve", "--port", str(port), env={"RXSTREAM_MODEL": str(tmp_path / "none.gguf")})
    assert done.returncode == 2
    assert f"rxstream: cannot listen at 127.0.0.1:{port}: Address already in use; --port takes another" in done.stderr


def test_the_settings_are_shown_as_schema_and_as_page(rxstream: CommandLine) -> None:
    assert "server" in json.loads(rxstream("config", "schema").stdout)["properties"]
    assert rxstream("config", "schema", "--markdown").stdout.startswith("### `[server]`")


@pytest.mark.parametrize("module", ["starlette", "uvicorn", "pydantic_settings", "prometheus_client"])
def test_without_the_extra_one_sentence_says_what_to_install(module: str) -> None:
    hidden = f"import sys; sys.modules[{module!r}] = None; from rxstream.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", hidden, "serve"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f'rxstream: this needs the extra "gateway" ({module} is missing): pip install "rxstream[gateway]"\n'
    )
