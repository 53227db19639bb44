"""The helper that finds the shared samples."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import shared_data


def test_an_absent_shared_file_skips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_data, "SHARED", tmp_path)
    with pytest.raises(pytest.skip.Exception, match=r"\.\./shared/recordings/none is not there"):
        shared_data.shared_path("recordings/none")


def test_a_shared_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_data, "SHARED", tmp_path)
    (tmp_path / "case.json").write_text("[]")
    assert shared_data.shared_path("case.json") == tmp_path / "case.json"


def test_shared_files_are_listed_in_order_and_without_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_data, "SHARED", tmp_path)
    for name in ("b.sse", "a.sse", "c.txt"):
        (tmp_path / name).write_text("")
    (tmp_path / "folder.sse").mkdir()
    assert shared_data.shared_files("*.sse") == [tmp_path / "a.sse", tmp_path / "b.sse"]


def test_no_shared_folder_lists_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_data, "SHARED", tmp_path / "absent")
    assert shared_data.shared_files("**/*") == []
