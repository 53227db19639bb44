"""`rxstream chat`: against a scripted provider over real HTTP, and against the local model."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rxstream.events import Usage
from rxstream.testing import Reply, ScriptedProvider, Send, Stall, answer, error_reply

from .conftest import CommandLine, command, environment, needs_local_model

USAGE = Usage(input_tokens=7, output_tokens=3, total_tokens=10)
KEYS = {"openai-chat": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
SECRET = "sk-planted-secret-1234567890"


@pytest.mark.parametrize("wire", KEYS)
def test_an_answer_streams_to_standard_output_and_the_summary_beside_it(rxstream: CommandLine, wire: str) -> None:
    reply = answer("Hello", " you", wire=wire, usage=USAGE)
    with ScriptedProvider.run_in_thread(reply) as provider:
        done = rxstream("chat", "hi", "--provider", wire, "--base-url", provider.base_url, env={KEYS[wire]: SECRET})
        request = provider.requests[0].request
    assert (done.returncode, done.stdout) == (0, "Hello you\n")
    assert re.search(r"completed · tokens: 7 in, 3 out · first token after [\d.]+ s · peak buffer: \d+ ev", done.stderr)
    assert SECRET in str(request.headers)
    assert SECRET not in request.path + done.stdout + done.stderr


def test_the_first_text_is_seen_before_the_second_exists() -> None:
    with ScriptedProvider.run_in_thread(Reply([*answer("first").steps[:2], Stall()])) as provider:
        process = subprocess.Popen(
            command("chat", "hi", "--base-url", provider.base_url), stdout=subprocess.PIPE, env=environment()
        )
        assert process.stdout is not None
        assert os.read(process.stdout.fileno(), 100) == b"first"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)


def test_ctrl_c_stops_the_provider_at_once_and_says_cancelled() -> None:
    with ScriptedProvider.run_in_thread(Reply([*answer("first").steps[:2], Stall()])) as provider:
        process = subprocess.Popen(
            command("chat", "hi", "--base-url", provider.base_url),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
            text=True,
        )
        assert process.stdout is not None
        assert os.read(process.stdout.fileno(), 100) == b"first"
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=20)
        provider.wait_until(lambda it: it.requests[0].disconnected.is_set())
    assert process.returncode == 130
    assert stderr.startswith("cancelled")
    assert "Traceback" not in stderr


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (error_reply(401, "bad key"), "401"),
        (error_reply(429, "slow down"), "429"),
        (Reply(answer("half").steps[:2]), "indeterminate"),
        (Reply([Send(b"<html>sorry</html>")], content_type="text/html"), "failed"),
    ],
)
def test_a_failure_is_a_sentence_and_exit_code_three(rxstream: CommandLine, reply: Reply, says: str) -> None:
    with ScriptedProvider.run_in_thread(reply) as provider:
        done = rxstream("chat", "hi", "--base-url", provider.base_url, env={"OPENAI_API_KEY": SECRET})
    assert done.returncode == 3
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert SECRET not in done.stderr


def test_a_server_that_is_not_there_is_a_sentence_too(rxstream: CommandLine) -> None:
    with ScriptedProvider.run_in_thread(Reply()) as provider:
        gone = provider.base_url
    done = rxstream("chat", "hi", "--base-url", gone)
    assert done.returncode == 3
    assert "Traceback" not in done.stderr


def test_the_question_comes_from_standard_input_too(rxstream: CommandLine) -> None:
    with ScriptedProvider.run_in_thread(answer("yes")) as provider:
        done = rxstream("chat", "--base-url", provider.base_url, input="Is it?\n")
        assert b"Is it?" in provider.requests[0].request.body
    assert done.stdout == "yes\n"
    assert rxstream("chat", "--base-url", "http://127.0.0.1:9", input=" \n").returncode == 2


def test_an_empty_question_is_wrong_use(rxstream: CommandLine) -> None:
    done = rxstream("chat", " ", "--base-url", "http://127.0.0.1:9")
    assert done.returncode == 2
    assert "there is no question" in done.stderr


def test_an_unknown_provider_is_wrong_use(rxstream: CommandLine) -> None:
    done = rxstream("chat", "hi", "--provider", "nobody", "--base-url", "http://127.0.0.1:9")
    assert done.returncode == 2
    assert "`rxstream providers` lists them" in done.stderr


@pytest.mark.local_model
@needs_local_model
def test_both_wires_of_the_local_model_give_the_same_text(rxstream: CommandLine) -> None:
    ask = ("chat", "Name three colours.", "--temperature", "0", "--max-tokens", "12")
    said = {wire: rxstream(*ask, "--provider", wire) for wire in KEYS}
    assert {done.returncode for done in said.values()} == {0}
    texts = {done.stdout for done in said.values()}
    assert len(texts) == 1
    assert len(texts.pop()) > 5


@pytest.mark.local_model
@needs_local_model
def test_ctrl_c_ends_the_demo_and_its_model(tmp_path: Path) -> None:
    process = subprocess.Popen(
        command("demo", "--prompt", "Tell me a long story."),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        cwd=tmp_path,
        start_new_session=True,
    )
    assert process.stdout is not None
    seen = b""
    while len(seen) < 60:
        seen += os.read(process.stdout.fileno(), 100)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    rest, stderr = process.communicate(timeout=20)
    assert process.returncode == 130
    assert b"cancelled" in rest
    assert b"Traceback" not in stderr
    assert time.monotonic() - began < 15
    if sys.platform == "linux":
        assert not [pid for pid in Path("/proc").glob("[0-9]*/stat") if in_session(pid, process.pid)]


def in_session(stat: Path, session: int) -> bool:
    try:
        return stat.read_text().rsplit(")", 1)[1].split()[3] == str(session)
    except (FileNotFoundError, ProcessLookupError):
        return False
