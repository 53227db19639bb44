"""The stores: bounded, readable by their owner only, whole after a crash."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rxstream.diagnostics import Diagnostics, FileDiagnostics, RedactionPolicy
from rxstream.errors import DecodeError, StreamError, TransportError

SMALL: dict[str, Any] = {"max_detail_bytes": 100, "max_bytes": 5000}


def errors(count: int) -> list[StreamError]:
    return [DecodeError(f"bad {number}", detail=b"x" * 50) for number in range(count)]


def keep_all(store: Diagnostics, kept: list[StreamError]) -> None:
    for error in kept:
        store.keep(error)


Make = Callable[..., Diagnostics]


@pytest.fixture(params=["memory", "file"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    if request.param == "memory":
        return Diagnostics
    return lambda **options: FileDiagnostics(tmp_path / "d.jsonl", **options)


def test_a_record_is_found_by_its_correlation_id(make: Make) -> None:
    store, error = make(), TransportError("broken", phase="mid_stream", detail="api_key=abc and é")
    store.keep(error)
    record = store.get(error.public.correlation_id)
    assert record is not None
    assert (record.category, record.phase, record.detail) == ("transport", "mid_stream", "api_key=[redacted] and é")
    assert error.take_detail() is None
    assert store.get("another") is None
    assert (len(store), [each.error for each in store.records()]) == (1, [repr(error)])


def test_a_phase_that_is_known_later_is_kept_and_the_detail_stays(make: Make) -> None:
    store, error = make(), TransportError("broken", detail="what")
    store.keep(error)
    error.phase = "before_content"
    store.keep(error)
    (record,) = store.records()
    assert (record.phase, record.detail) == ("before_content", "what")


def test_a_long_detail_is_cut_and_says_so(make: Make) -> None:
    store, error = make(max_detail_bytes=10), DecodeError("bad", detail="é" * 100)
    store.keep(error)
    (record,) = store.records()
    assert (record.detail, record.is_cut) == ("é" * 5, True)


def test_no_half_of_a_secret_is_left_by_the_cut(make: Make) -> None:
    store = make(max_detail_bytes=16)
    store.keep(DecodeError("bad", detail="0123456789 sk-" + "k" * 40))
    (record,) = store.records()
    assert "kk" not in (record.detail or "")


def test_a_policy_of_the_application_decides_what_is_kept(make: Make) -> None:
    store = make(redact=RedactionPolicy(values=["my-own-key"], prompts=True))
    store.keep(DecodeError("bad", detail='{"prompt": "p", "x": "my-own-key"}'))
    (record,) = store.records()
    assert record.detail == '{"prompt": "p", "x": "[redacted]"}'


def test_the_ring_holds_the_last_records() -> None:
    store, kept = Diagnostics(max_records=3), errors(5)
    keep_all(store, kept)
    assert [record.error for record in store.records()] == [repr(error) for error in kept[2:]]


# The file ------------------------------------------------------------------------------------------------------------


def test_a_file_is_for_its_owner_only_whatever_the_umask(tmp_path: Path) -> None:
    (tmp_path / "old.jsonl").touch(mode=0o666)
    before = os.umask(0)
    try:
        for name in ("new.jsonl", "old.jsonl"):
            FileDiagnostics(tmp_path / name)
            assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    finally:
        os.umask(before)


def test_a_file_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("root:x:0:0\n")
    mine.chmod(0o644)
    with pytest.raises(FileExistsError, match="holds something else"):
        FileDiagnostics(mine)
    assert (mine.read_text(), stat.S_IMODE(mine.stat().st_mode)) == ("root:x:0:0\n", 0o644)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_what_is_no_plain_file_is_left_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o644)
    with pytest.raises(FileExistsError, match="no plain file"):
        FileDiagnostics(tmp_path / "pipe")
    assert stat.S_IMODE((tmp_path / "pipe").stat().st_mode) == 0o644


def test_a_file_that_somebody_replaced_is_left_alone_and_the_record_stays(tmp_path: Path) -> None:
    store, error = FileDiagnostics(tmp_path / "d.jsonl"), TransportError("broken")
    (tmp_path / "d.jsonl").write_text("mine\n")
    store.keep(error)
    assert isinstance(store.write_error, FileExistsError)
    assert store.get(error.public.correlation_id) is not None
    assert (tmp_path / "d.jsonl").read_text() == "mine\n"


def test_another_process_finds_the_records(tmp_path: Path) -> None:
    kept = errors(3)
    keep_all(FileDiagnostics(tmp_path / "d.jsonl"), kept)
    again = FileDiagnostics(tmp_path / "d.jsonl")
    record = again.get(kept[1].public.correlation_id)
    assert record is not None
    assert record.error == repr(kept[1])
    assert [each.error for each in again.records()] == [repr(error) for error in kept]


def test_a_full_file_is_set_aside_and_the_oldest_is_dropped(tmp_path: Path) -> None:
    store = FileDiagnostics(tmp_path / "d.jsonl", keep=2, max_records=1, **SMALL)
    kept = errors(100)
    keep_all(store, kept)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.jsonl", "d.jsonl.1", "d.jsonl.2"]
    assert all(path.stat().st_size <= SMALL["max_bytes"] for path in tmp_path.iterdir())
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
    shown = [record.error for record in store.records()]
    assert shown == [repr(error) for error in kept[-len(shown) :]]
    assert 20 < len(shown) < 80


def test_without_older_files_a_full_one_begins_anew(tmp_path: Path) -> None:
    store = FileDiagnostics(tmp_path / "d.jsonl", keep=0, **SMALL)
    keep_all(store, errors(100))
    assert [path.name for path in tmp_path.iterdir()] == ["d.jsonl"]
    assert (tmp_path / "d.jsonl").stat().st_size <= SMALL["max_bytes"]


@pytest.mark.parametrize("torn", [b'{"correlation_id": "ab', b"\xff\xfe", b"{}\n[1]\nnull"])
def test_a_line_that_a_crash_cut_spoils_no_other(tmp_path: Path, torn: bytes) -> None:
    first, second = errors(2)
    FileDiagnostics(tmp_path / "d.jsonl").keep(first)
    with (tmp_path / "d.jsonl").open("ab") as file:
        file.write(torn)
    store = FileDiagnostics(tmp_path / "d.jsonl")
    store.keep(second)
    assert [record.error for record in FileDiagnostics(tmp_path / "d.jsonl").records()] == [repr(first), repr(second)]


def test_a_disk_that_fails_makes_no_second_error_and_memory_still_has_the_record(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    store = FileDiagnostics(folder / "d.jsonl")
    (folder / "d.jsonl").unlink()
    folder.rmdir()
    (error,) = errors(1)
    store.keep(error)
    assert isinstance(store.write_error, FileNotFoundError)
    assert store.get(error.public.correlation_id) is not None
    assert len(store.records()) == 1
    folder.mkdir()
    keep_all(store, errors(1))
    assert store.write_error is None


def test_a_place_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        FileDiagnostics(tmp_path / "none" / "d.jsonl")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError):
        FileDiagnostics(tmp_path / "link")


@pytest.mark.parametrize("wrong", [{"max_bytes": 100}, {"keep": -1}, {"max_records": 0}, {"max_detail_bytes": 0}])
def test_a_bound_out_of_range_is_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        FileDiagnostics(tmp_path / "d.jsonl", **wrong)


def test_a_line_is_one_json_object(tmp_path: Path) -> None:
    keep_all(FileDiagnostics(tmp_path / "d.jsonl"), errors(2))
    lines = (tmp_path / "d.jsonl").read_text().splitlines()
    assert [json.loads(line)["category"] for line in lines] == ["protocol", "protocol"]
