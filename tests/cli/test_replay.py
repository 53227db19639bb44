"""`rxstream replay`: a recorded body through the pipeline, cut anywhere, written in three ways."""

from __future__ import annotations

import json
import subprocess
from importlib import metadata
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from rxstream.events import EVENT_ADAPTER, Finish, TextDelta, ToolCall, Usage
from rxstream.testing import Answer, anthropic_sse, openai_chat_sse

from .conftest import CommandLine, command, environment

ANSWER = Answer(
    text=["Hel", "lo 你\n"],
    reasoning=["hm"],
    tool_calls=[ToolCall("call_1", "f", '{"a":1}')],
    usage=Usage(input_tokens=3, output_tokens=5, total_tokens=8),
)
CHAT = b"".join(openai_chat_sse(ANSWER))


@pytest.fixture
def body(tmp_path: Path) -> Path:
    path = tmp_path / "body.sse"
    path.write_bytes(CHAT)
    return path


@pytest.mark.parametrize("cut", [(), ("--cut", "1"), ("--cut", "7")])
def test_the_response_is_one_json_object_wherever_it_was_cut(
    rxstream: CommandLine, body: Path, cut: tuple[str, ...]
) -> None:
    done = rxstream("replay", str(body), "--wire", "openai-chat", "--as", "response", *cut)
    assert (done.returncode, done.stderr) == (0, "")
    response = json.loads(done.stdout)
    assert response["outcome"] == "completed"
    assert response["text"] == "Hello 你\n"
    assert response["reasoning"] == "hm"
    assert response["tool_calls"] == [{"call_id": "call_1", "name": "f", "arguments": '{"a":1}', "valid": True}]
    assert (response["finish_reason"], response["finish_reason_raw"]) == ("tool_calls", "tool_calls")
    assert response["usage"] == {
        "input_tokens": 3,
        "output_tokens": 5,
        "total_tokens": 8,
        "cached_input_tokens": 0,
        "cache_write_tokens": None,
        "reasoning_tokens": 0,
    }
    assert response["violations"] == []
    assert response["error"] is None


def test_events_are_one_json_line_each(rxstream: CommandLine, body: Path) -> None:
    done = rxstream("replay", str(body), "--wire", "openai-chat", "--as", "events")
    assert (done.returncode, done.stderr) == (0, "")
    events = [EVENT_ADAPTER.validate_json(line) for line in done.stdout.splitlines()]
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Hello 你\n"
    assert isinstance(events[-1], Finish)


def test_a_failure_is_the_last_line_of_events(rxstream: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "cut.sse").write_bytes(CHAT[: len(CHAT) // 2])
    done = rxstream("replay", "cut.sse", "--wire", "openai-chat", "--as", "events")
    assert done.returncode == 3
    last = json.loads(done.stdout.splitlines()[-1])
    assert last["type"] == "error"
    assert last["error"]["category"] == "truncated"
    assert last["error"]["retryable"]


def test_text_goes_to_standard_output_and_the_outcome_beside_it(rxstream: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "whole.sse").write_bytes(b"".join(anthropic_sse(Answer(text=["a\x1b[2J", "b"]))))
    done = rxstream("replay", "whole.sse", "--wire", "anthropic")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ab\n", "")
    (tmp_path / "half.sse").write_bytes(b"".join(anthropic_sse(Answer(text=["a", "b"]))[:-2]))
    done = rxstream("replay", "half.sse", "--wire", "anthropic", "--cut", "3")
    assert done.returncode == 3
    assert done.stdout == "ab\n"
    assert "indeterminate" in done.stderr


def test_a_body_comes_from_standard_input_too(rxstream: CommandLine) -> None:
    done = rxstream("replay", "-", "--wire", "openai-chat", "--as", "response", input=CHAT.decode())
    assert json.loads(done.stdout)["outcome"] == "completed"


def test_a_reader_that_has_seen_enough_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "long.sse").write_bytes(b"".join(openai_chat_sse(Answer(text=["word "] * 5000))))
    arguments = command("replay", "long.sse", "--wire", "openai-chat", "--as", "events")
    with subprocess.Popen(arguments, env=environment(), cwd=tmp_path, stdout=PIPE, stderr=PIPE) as replay:
        assert replay.stdout is not None
        assert replay.stderr is not None
        assert b"response_start" in replay.stdout.readline()
        replay.stdout.close()  # as `| head -1` does
        assert replay.stderr.read() == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize("output", ["events", "text", "response"])
def test_an_output_that_cannot_be_written_is_said(rxstream: CommandLine, body: Path, output: str) -> None:
    with Path("/dev/full").open("w") as full:
        options: dict[str, Any] = {"capture_output": False, "stdout": full, "stderr": PIPE}
        done = rxstream("replay", str(body), "--wire", "openai-chat", "--as", output, **options)
    assert done.returncode == 3
    assert done.stderr.startswith("rxstream: cannot write")


def test_the_provider_failed_is_exit_code_three(rxstream: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "error.sse").write_bytes(b'data: {"error":{"message":"m","type":"server_error","code":500}}\n\n')
    done = rxstream("replay", "error.sse", "--wire", "openai-chat", "--as", "response")
    assert done.returncode == 3
    assert json.loads(done.stdout)["outcome"] == "failed"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("replay", "none.sse", "--wire", "openai-chat"), "none.sse"),
        (("replay", "body.sse", "--wire", "nobody"), "rxstream providers"),
        (("replay", "body.sse"), "--wire"),
        (("replay", "body.sse", "--wire", "openai-chat", "--cut", "0"), "--cut"),
        (("replay", "body.sse", "--wire", "openai-chat", "--as", "music"), "response"),
        (("sing",), "sing"),
    ],
)
def test_wrong_use_says_what_to_do(rxstream: CommandLine, body: Path, arguments: tuple[str, ...], says: str) -> None:
    done = rxstream(*arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_help_teaches(rxstream: CommandLine) -> None:
    for arguments in (("--help",), ("chat", "--help"), ("replay", "--help"), ("demo", "--help")):
        done = rxstream(*arguments)
        assert done.returncode == 0
        assert "Usage" in done.stdout
    assert "OPENAI_API_KEY" in rxstream("chat", "--help").stdout


def test_the_version_is_said(rxstream: CommandLine) -> None:
    done = rxstream("--version")
    assert (done.returncode, done.stdout) == (0, f"rxstream {metadata.version('rxstream')}\n")


def test_providers_are_listed(rxstream: CommandLine) -> None:
    done = rxstream("providers")
    assert done.returncode == 0
    assert "openai-chat" in done.stdout
    assert "anthropic" in done.stdout
