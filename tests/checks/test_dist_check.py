"""The check of the built archives passes what the project builds, and finds what has gone wrong in such builds."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.checks import dist_check
from tests.checks.dist_check import PACKAGE, faults, main, package_files, shared_digests

ROOT = PACKAGE.parent
BESIDE_THE_PACKAGE = ("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "Makefile")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of what the archives are built from, with the root link."""
    copy = tmp_path / "project"
    shutil.copytree(PACKAGE, copy / "rxstream", ignore=shutil.ignore_patterns("__pycache__"))
    for name in BESIDE_THE_PACKAGE:
        shutil.copy(ROOT / name, copy / name)
    (copy / "operators").symlink_to("rxstream/operators")
    return copy


@pytest.fixture
def of_the_copy(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare the archives with the copy: the checkout may change meanwhile."""
    monkeypatch.setattr(dist_check, "package_files", lambda: package_files(project / "rxstream"))


def build(project: Path) -> str:
    subprocess.run([sys.executable, "-m", "hatchling", "build"], cwd=project, check=True, capture_output=True)
    return str(project / "dist")


def rewrite_sdist_settings(project: Path, settings: str) -> None:
    """Replace the sdist table of the copy's pyproject.toml."""
    path = project / "pyproject.toml"
    table = r"(?ms)^\[tool\.hatch\.build\.targets\.sdist\]\n.*?^\]\n"
    text, replaced = re.subn(table, settings, path.read_text(encoding="utf-8"))
    assert replaced == 1
    path.write_text(text, encoding="utf-8")


@pytest.mark.usefixtures("of_the_copy")
def test_what_the_project_builds_is_whole(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([build(project)]) == 0, capsys.readouterr().out


@pytest.mark.usefixtures("of_the_copy")
@pytest.mark.parametrize(
    "settings",
    [
        pytest.param("", id="no settings"),
        pytest.param("[tool.hatch.build.targets.sdist]\nexclude = ['/operators']\n", id="exclude"),
        pytest.param("[tool.hatch.build.targets.sdist]\ninclude = ['rxstream', 'tests']\n", id="include"),
    ],
)
def test_an_sdist_that_lost_the_operators_fails(
    project: Path, settings: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rewrite_sdist_settings(project, settings)
    assert main([build(project)]) == 1
    assert "rxstream-0.1.0.tar.gz: rxstream/operators/__init__.py is missing" in capsys.readouterr().out


@pytest.mark.usefixtures("of_the_copy")
def test_a_wheel_whose_package_does_not_import_fails(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    face = project / "rxstream" / "__init__.py"
    face.write_text(face.read_text(encoding="utf-8") + "\nfrom rxstream.nowhere import something\n", encoding="utf-8")
    assert main([build(project)]) == 1
    assert (
        "does not import by itself: ModuleNotFoundError: No module named 'rxstream.nowhere'" in capsys.readouterr().out
    )


def test_a_folder_without_archives_is_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert "expected one wheel and one sdist, found 0 and 0" in capsys.readouterr().err


def test_a_file_held_twice_is_found(tmp_path: Path) -> None:
    wheel, sdist = tmp_path / "a.whl", tmp_path / "a.tar.gz"
    with zipfile.ZipFile(wheel, "w") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("rxstream/operators/__init__.py", "")
        archive.writestr("rxstream/operators/__init__.py", "")
    with tarfile.open(sdist, "w:gz") as archive:
        for _ in range(2):
            archive.add(PACKAGE / "py.typed", "rxstream-0.1.0/rxstream/py.typed")
    with pytest.raises(SystemExit, match="held twice"):
        dist_check.read_wheel(wheel)
    with pytest.raises(SystemExit, match="held twice"):
        dist_check.read_sdist(sdist)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("operators/batch_text.py", "operators/batch_text.py is a second copy of rxstream/operators/batch_text.py"),
        ("operators", "operators is a second copy of rxstream/operators"),
        ("tests/../../key", "tests/../../key points out of the archive"),
        ("rxstream/flow.pyc", "rxstream/flow.pyc is compiled"),
    ],
)
def test_a_file_that_does_not_belong_is_found(name: str, fault: str) -> None:
    assert list(faults({name: b""}, frozenset())) == [fault]


def test_a_copy_of_a_shared_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "stream.sse").write_bytes(b"data: {}\n\n" * 20)
    (tmp_path / "empty").write_bytes(b"")
    members = {"tests/fixtures/mine.sse": b"data: {}\n\n" * 20, "tests/fixtures/none.sse": b""}
    assert list(faults(members, frozenset(), shared_digests(tmp_path))) == [
        "tests/fixtures/mine.sse is a copy of a file in ../shared"
    ]
