"""`rxstream inspect`: a page and a picture of a recording, and nothing that is not its own replaced."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from rxstream.events import Finish, ResponseStart, TextDelta
from rxstream.recording.endings import Ending
from tests.inspect.kit import CHAT, recording

from .conftest import CommandLine

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def answer(tmp_path: Path) -> Path:
    items: list[Any] = [(0.25, TextDelta("Hel")), (0.5, TextDelta("lo")), (0.75, Finish("stop"))]
    return recording(tmp_path / "answer.jsonl", items, Ending("completed", 1.0))


def test_the_page_is_named_after_the_recording_and_for_its_owner_only(
    rxstream: CommandLine, answer: Path, tmp_path: Path
) -> None:
    (tmp_path / "here").mkdir()
    done = rxstream("inspect", str(answer), cwd=tmp_path / "here")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines() == [
        "completed, a recording of events, 3 events, first token 250 ms, 1 s in all",
        "answer.html",
    ]
    made = tmp_path / "here" / "answer.html"
    assert made.read_text().startswith("<!doctype html>")
    assert stat.S_IMODE(made.stat().st_mode) == 0o600


def test_a_page_of_its_own_is_replaced_and_nothing_else_is(rxstream: CommandLine, answer: Path, tmp_path: Path) -> None:
    assert rxstream("inspect", "answer.jsonl").returncode == 0
    (tmp_path / "answer.html").chmod(0o644)
    assert rxstream("inspect", "answer.jsonl", "--reader-rate", "1").returncode == 0
    assert stat.S_IMODE((tmp_path / "answer.html").stat().st_mode) == 0o600
    assert "a reader takes 1 events a second" in (tmp_path / "answer.html").read_text()
    (tmp_path / "mine.html").write_text("<!doctype html><p>mine")
    for out in ("mine.html", "answer.jsonl"):
        before = (tmp_path / out).read_bytes()
        done = rxstream("inspect", "answer.jsonl", "--out", out)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"'{out}' is there and is no page of this command: name another file" in done.stderr
        assert (tmp_path / out).read_bytes() == before


def test_what_a_recording_calls_its_model_moves_no_cursor(rxstream: CommandLine, tmp_path: Path) -> None:
    items: list[Any] = [(0.25, ResponseStart("r", "a\x1b]0;owned\x07\x1b[2J\0b")), (0.5, Finish("stop"))]
    recording(tmp_path / "answer.jsonl", items, Ending("completed", 1.0))
    done = rxstream("inspect", "answer.jsonl")
    assert "a recording of events · ab, 2 events" in done.stderr.splitlines()[0]


def test_a_picture_alone_and_both(rxstream: CommandLine, answer: Path, tmp_path: Path) -> None:
    pytest.importorskip("resvg_py")
    assert rxstream("inspect", "answer.jsonl", "--png", "answer.png", "--png-width", "400").returncode == 0
    assert (tmp_path / "answer.png").read_bytes()[:20] == PNG + b"\x00\x00\x00\rIHDR" + (400).to_bytes(4, "big")
    assert not (tmp_path / "answer.html").exists()
    done = rxstream("inspect", "answer.jsonl", "--png", "answer.png", "--out", "page.html")
    assert done.stderr.splitlines()[1:] == ["page.html", "answer.png"]


def test_a_picture_without_its_extra_says_what_to_install(rxstream: CommandLine, answer: Path, tmp_path: Path) -> None:
    (tmp_path / "resvg_py.py").write_text("raise ModuleNotFoundError('resvg_py', name='resvg_py')")
    done = rxstream("inspect", "answer.jsonl", "--png", "a.png", env={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 2
    assert 'pip install "rxstream[inspect]"' in done.stderr
    assert not (tmp_path / "a.png").exists()


def test_a_body_needs_its_wire(rxstream: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "body.sse").write_bytes(b"".join(CHAT))
    done = rxstream("inspect", "body.sse")
    assert done.returncode == 2
    assert "which wire is it?" in done.stderr
    assert rxstream("inspect", "body.sse", "--wire", "openai-chat").returncode == 0
    assert "Hello" in (tmp_path / "body.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("nowhere.jsonl",), "cannot read 'nowhere.jsonl': No such file"),
        (("answer.jsonl", "--reader-rate", "0"), "--reader-rate must be positive"),
        (("answer.jsonl", "--reader-rate", "nan"), "--reader-rate must be positive"),
        (("answer.jsonl", "--out", "nowhere/a.html"), "there is no folder 'nowhere'"),
        (("broken.jsonl",), "cannot read 'broken.jsonl': the recording has a version"),
    ],
)
def test_wrong_use_is_told_in_a_sentence(
    rxstream: CommandLine, answer: Path, tmp_path: Path, arguments: tuple[str, ...], problem: str
) -> None:
    (tmp_path / "broken.jsonl").write_bytes(b'{"rxstream_recording":9}\n')
    done = rxstream("inspect", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert problem in done.stderr
    assert "Traceback" not in done.stderr
