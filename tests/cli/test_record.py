"""`rxstream record`: over real HTTP, and `rxstream replay` of what it wrote."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
from pathlib import Path

import pytest

from rxstream.events import TextDelta
from rxstream.recording import Ending, Header, Item, read_recording
from rxstream.recording.lines import write_ending, write_header, write_item
from rxstream.testing import Cut, Reply, ScriptedProvider, Send, Stall, answer, error_reply

from .conftest import CommandLine, command, environment

SECRET = "sk-planted-secret-1234567890"


def test_an_answer_of_a_provider_is_recorded_and_replayed(rxstream: CommandLine, tmp_path: Path) -> None:
    reply = answer("Hello", " you", wire="openai-chat")
    with ScriptedProvider.run_in_thread(reply) as provider:
        asked = ("--provider", "openai-chat", "--base-url", provider.base_url, "--prompt", "hi", "--out", "r.jsonl")
        done = rxstream("record", *asked, env={"OPENAI_API_KEY": SECRET})
    assert (done.returncode, done.stdout) == (0, "Hello you\n")
    assert done.stderr.startswith("r.jsonl: ")
    recording = read_recording(tmp_path / "r.jsonl")
    assert (recording.header.wire, recording.header.status) == ("openai-chat", 200)
    assert SECRET not in (tmp_path / "r.jsonl").read_text()
    assert stat.S_IMODE((tmp_path / "r.jsonl").stat().st_mode) == 0o600
    for more in ((), ("--cut", "1"), ("--speed", "1000"), ("--wire", "openai-chat")):
        again = rxstream("replay", "r.jsonl", *more)
        assert (again.returncode, again.stdout, again.stderr) == (0, "Hello you\n", "")


def test_a_server_alone_is_asked_as_chat_asks_it(rxstream: CommandLine) -> None:
    with ScriptedProvider.run_in_thread(answer("Hello")) as provider:
        done = rxstream("record", "--base-url", provider.base_url, "--prompt", "hi", "--out", "r.jsonl")
    assert (done.returncode, done.stdout) == (0, "Hello\n")


def test_a_url_is_recorded_with_headers_from_the_environment(rxstream: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "body.json").write_text('{"a":1}')
    with ScriptedProvider.run_in_thread(Reply([Send(b"any"), Send(b"thing")])) as provider:
        header = "Authorization: Bearer $MY_KEY"
        done = rxstream(
            "record", f"{provider.base_url}/x", "--out", "r.jsonl", "--header", header, "--data", "@body.json",
            env={"MY_KEY": SECRET},
        )  # fmt: skip
        request = provider.requests[0]
        assert (request.method, request.path, request.json()) == ("POST", "/x", {"a": 1})
        assert request.headers["authorization"] == f"Bearer {SECRET}"
    assert (done.returncode, done.stdout) == (0, "")
    assert "8 bytes" in done.stderr
    assert SECRET not in done.stderr + (tmp_path / "r.jsonl").read_text()
    recording = read_recording(tmp_path / "r.jsonl")
    assert b"".join(item.value for item in recording.items if isinstance(item.value, bytes)) == b"anything"
    assert recording.ending is not None
    assert recording.ending.kind == "completed"


@pytest.mark.parametrize(
    ("reply", "kind"), [(Reply([*answer("a").steps[:2], Cut()]), "TransportError"), (error_reply(401), "ProviderError")]
)
def test_a_failure_is_recorded_and_is_exit_code_three_each_time(
    rxstream: CommandLine, tmp_path: Path, reply: Reply, kind: str
) -> None:
    with ScriptedProvider.run_in_thread(reply) as provider:
        for wire in ((), ("--wire", "openai-chat")):
            done = rxstream("record", provider.base_url, "--out", "r.jsonl", *wire)
            assert done.returncode == 3
            assert "failed" in done.stderr
    ending = read_recording(tmp_path / "r.jsonl").ending
    assert ending is not None
    assert (ending.error or {})["type"] == kind
    again = rxstream("replay", "r.jsonl", "--as", "response")
    assert again.returncode == 3
    assert json.loads(again.stdout)["outcome"] == "failed"


def test_ctrl_c_ends_the_recording_and_is_a_cancellation(tmp_path: Path) -> None:
    with ScriptedProvider.run_in_thread(Reply([*answer("first").steps[:2], Stall()])) as provider:
        process = subprocess.Popen(
            command("record", provider.base_url, "--wire", "openai-chat", "--out", str(tmp_path / "r.jsonl")),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        assert process.stdout is not None
        assert os.read(process.stdout.fileno(), 100) == b"first"
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=20)
    assert process.returncode == 130
    assert b"Traceback" not in stderr
    recording = read_recording(tmp_path / "r.jsonl")
    assert recording.ending is not None
    assert (recording.ending.kind, recording.ending.cause) == ("cancelled", "user_stop")


# Replaying -----------------------------------------------------------------------------------------------------------

CHUNKS = write_header(Header("bytes", "openai-chat")) + write_item(Item(0, b'data: {"choices":[{"index":0,"delta":'))
EVENTS = write_header(Header("events")) + write_item(Item(0, TextDelta("a"))) + write_ending(Ending("completed", 0))


def test_a_recording_of_events_needs_no_wire(rxstream: CommandLine) -> None:
    done = rxstream("replay", "-", "--as", "events", input=EVENTS.decode())
    assert json.loads(done.stdout.splitlines()[0])["text"] == "a"


def test_a_recording_that_was_cut_is_told_from_an_answer(rxstream: CommandLine) -> None:
    done = rxstream("replay", "-", "--as", "response", input=CHUNKS.decode())
    assert done.returncode == 3
    assert "recording was cut" in json.loads(done.stdout)["error"]["message"]


def test_a_body_is_still_a_body(rxstream: CommandLine) -> None:
    done = rxstream("replay", "-", "--wire", "openai-chat", "--as", "response", input='{"error":{"message":"m"}}')
    assert json.loads(done.stdout)["outcome"] == "failed"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("record",), "--provider"),
        (("record", "http://127.0.0.1:9", "--provider", "openai"), "--provider"),
        (("record", "ftp://x", "--out", "r.jsonl"), "http://"),
        (("record", "http://127.0.0.1:9", "--out", "mine.txt"), "no recording"),
        (("record", "http://127.0.0.1:9", "--out", "none/r.jsonl"), "cannot write"),
        (("record", "http://127.0.0.1:9", "--wire", "nobody"), "rxstream providers"),
        (("record", "http://127.0.0.1:9", "--header", "x"), "Name: value"),
        (("record", "http://127.0.0.1:9", "--header", "x: $NO_SUCH_VARIABLE"), "NO_SUCH_VARIABLE"),
        (("record", "http://127.0.0.1:9", "--header", "x: $"), "$$"),
        (("record", "http://127.0.0.1:9", "--data", "@none.json"), "none.json"),
        (("replay", "bytes.jsonl", "--speed", "0"), "--speed"),
        (("replay", "mine.txt", "--wire", "openai-chat", "--speed", "1"), "--speed"),
        (("replay", "events.jsonl", "--cut", "1"), "--cut"),
        (("replay", "mine.txt"), "--wire"),
        (("replay", "future.jsonl"), "version"),
    ],
)
def test_wrong_use_says_what_to_do(
    rxstream: CommandLine, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "bytes.jsonl").write_bytes(CHUNKS)
    (tmp_path / "events.jsonl").write_bytes(EVENTS)
    (tmp_path / "future.jsonl").write_bytes(b'{"rxstream_recording":99}\n')
    done = rxstream(*arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "mine.txt").read_text() == "mine"
