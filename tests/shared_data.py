"""Where the shared samples are: recordings and conformance cases in the folder ``../shared`` beside the checkout.

They are no part of the repository, and a checkout without them is whole: a test that reads them skips.
"""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[1].parent / "shared"

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="no folder ../shared beside the checkout")


def shared_path(relative: str) -> Path:
    """Return the path of a shared file or folder; skip the test (or the module) where it is absent."""
    path = SHARED / relative
    if not path.exists():
        pytest.skip(f"../shared/{relative} is not there", allow_module_level=True)
    return path


def shared_files(pattern: str) -> list[Path]:
    """List the shared files that match a glob ``pattern``, sorted, for parametrizing; empty where there are none."""
    return sorted(path for path in SHARED.glob(pattern) if path.is_file())
