"""Where the model lies, and what is said when it does not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rxstream.local import LocalModelError, default_cache_dir, model_path
from rxstream.local.model_file import SMOLLM2


@pytest.fixture(autouse=True)
def _no_chosen_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RXSTREAM_MODEL", raising=False)


def put_model(cache: Path, size: int) -> Path:
    path = SMOLLM2.file_in(cache)
    path.parent.mkdir(parents=True)
    path.touch()
    os.truncate(path, size)  # a hole: takes no room
    return path


def test_the_installed_file_is_found(tmp_path: Path) -> None:
    path = put_model(tmp_path, SMOLLM2.size_bytes)

    assert model_path(cache_dir=tmp_path) == path


def test_without_a_model_the_error_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(LocalModelError, match="`rxstream local install`") as caught:
        model_path(cache_dir=tmp_path)
    assert caught.value.category == "not_found"


def test_a_part_of_the_model_is_no_model(tmp_path: Path) -> None:
    put_model(tmp_path, SMOLLM2.size_bytes - 1)

    with pytest.raises(LocalModelError, match="no whole file"):
        model_path(cache_dir=tmp_path)


def test_the_variable_chooses_another_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_model(tmp_path, SMOLLM2.size_bytes)
    mine = tmp_path / "mine.gguf"
    mine.touch()
    monkeypatch.setenv("RXSTREAM_MODEL", str(mine))

    assert model_path(cache_dir=tmp_path) == mine


def test_the_variable_may_start_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.gguf").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("RXSTREAM_MODEL", "~/mine.gguf")

    assert model_path() == tmp_path / "mine.gguf"


def test_a_chosen_model_that_is_missing_is_not_replaced_by_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_model(tmp_path, SMOLLM2.size_bytes)
    monkeypatch.setenv("RXSTREAM_MODEL", str(tmp_path / "gone.gguf"))

    with pytest.raises(LocalModelError, match=r"RXSTREAM_MODEL names .*gone\.gguf") as caught:
        model_path(cache_dir=tmp_path)
    assert caught.value.category == "not_found"


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {}, Path.home() / ".cache" / "rxstream"),
        ("linux", {"XDG_CACHE_HOME": "/elsewhere"}, Path("/elsewhere/rxstream")),
        ("linux", {"XDG_CACHE_HOME": "relative"}, Path.home() / ".cache" / "rxstream"),
        ("darwin", {"XDG_CACHE_HOME": "/elsewhere"}, Path.home() / "Library" / "Caches" / "rxstream"),
        ("win32", {"LOCALAPPDATA": "/users/me/local"}, Path("/users/me/local/rxstream/Cache")),
        ("win32", {}, Path.home() / "AppData" / "Local" / "rxstream" / "Cache"),
    ],
)
def test_the_cache_is_where_the_platform_keeps_caches(
    platform: str, environment: dict[str, str], expected: Path
) -> None:
    assert default_cache_dir(environment, platform) == expected
