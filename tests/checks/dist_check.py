"""The built wheel and sdist hold the package once and nothing that is not ours to give away.

Run it as ``python -m tests.checks.dist_check dist``. Build backends follow the root link ``operators`` in ways that
lose ``rxstream/operators`` without a warning (docs/decisions/001-operators-link.md), so the archives themselves are
asked. The wheel is then unpacked in a folder of its own and imported from there, away from the checkout.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.shared_data import SHARED

PACKAGE = Path(__file__).resolve().parents[2] / "rxstream"

IMPORT_ALL = """
import sys
sys.path.insert(0, sys.argv[1])
import rxstream, rxstream.operators
assert rxstream.__file__.startswith(sys.argv[1]), rxstream.__file__
for module in (rxstream, rxstream.operators):
    for name in getattr(module, "__all__", ()):
        getattr(module, name)
"""

Members = dict[str, bytes]


def read_wheel(path: Path) -> Members:
    """Return each file of a wheel with its bytes."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in _unique(archive.namelist()) if not name.endswith("/")}


def read_sdist(path: Path) -> Members:
    """Return each file of an sdist with its bytes, named from below the archive's one top folder; links are empty."""
    with tarfile.open(path) as archive:
        members = {member.name: member for member in archive.getmembers() if not member.isdir()}
        _unique([member.name for member in archive.getmembers()])
        return {
            name.partition("/")[2]: file.read() if (file := archive.extractfile(member)) else b""
            for name, member in members.items()
            if member.isfile() or member.issym()
        }


def _unique(names: list[str]) -> list[str]:
    if repeated := {name for name in names if names.count(name) > 1}:
        raise SystemExit(f"held twice: {sorted(repeated)}")
    return names


def faults(members: Members, package: frozenset[str], foreign: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield a sentence for everything that is wrong with an archive's files.

    Args:
        members: the archive's files.
        package: the names of the package's files, of which none may be missing.
        foreign: SHA-256 digests of files that must not be given away.
    """
    for name in sorted(package - members.keys()):
        yield f"{name} is missing"
    for name, content in sorted(members.items()):
        if name == "operators" or name.startswith("operators/"):
            yield f"{name} is a second copy of rxstream/{name}"
        if ".." in name.split("/") or name.startswith("/"):
            yield f"{name} points out of the archive"
        if name.endswith((".pyc", ".pyo")):
            yield f"{name} is compiled"
        if hashlib.sha256(content).hexdigest() in foreign:
            yield f"{name} is a copy of a file in ../shared"


def package_files(folder: Path = PACKAGE) -> frozenset[str]:
    """Return the names of the package's files in the checkout, as an archive should name them."""
    files = (path.relative_to(folder.parent) for path in folder.rglob("*") if path.is_file())
    kept = (path for path in files if "__pycache__" not in path.parts and not path.name.startswith("."))
    return frozenset(path.as_posix() for path in kept)


def shared_digests(folder: Path = SHARED) -> frozenset[str]:
    """Return the digest of each file in ``folder`` that is long enough not to be equal by chance."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.stat().st_size >= 64)
    return frozenset(hashlib.sha256(path.read_bytes()).hexdigest() for path in files)


def import_fault(wheel: Path) -> str | None:
    """Import the wheel's package and every name it exports from a folder of its own; return what failed."""
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        where = os.path.realpath(folder)
        run = subprocess.run([sys.executable, "-c", IMPORT_ALL, where], cwd=where, capture_output=True, text=True)
    return run.stderr.strip().splitlines()[-1] if run.returncode else None


def main(arguments: Sequence[str]) -> int:
    """Look into a folder's one wheel and one sdist; return 0 when both are right, 1 when not, 2 on wrong use."""
    folder = Path(arguments[0] if arguments else "dist")
    wheels, sdists = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    if len(wheels) != 1 or len(sdists) != 1:
        print(f"{folder}: expected one wheel and one sdist, found {len(wheels)} and {len(sdists)}", file=sys.stderr)
        return 2
    package, foreign = package_files(), shared_digests()
    found = [f"{wheels[0].name}: {fault}" for fault in faults(read_wheel(wheels[0]), package, foreign)]
    found += [f"{sdists[0].name}: {fault}" for fault in faults(read_sdist(sdists[0]), package, foreign)]
    if fault := import_fault(wheels[0]):
        found.append(f"{wheels[0].name}: does not import by itself: {fault}")
    print("\n".join(found) or f"dist check: {wheels[0].name} and {sdists[0].name} are whole")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
