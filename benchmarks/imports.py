"""What `import rxstream` costs, against the import of its two dependencies."""

from __future__ import annotations

import subprocess
import sys
import time
from statistics import median

__all__ = ("import_ratio",)


def import_ratio(rounds: int = 5) -> float:
    """The median import time against that of `import reactivex, pydantic`, in turn."""
    ours, theirs = [], []
    for _ in range(rounds):
        theirs.append(_seconds("import reactivex, pydantic"))
        ours.append(_seconds("import rxstream"))
    bare = min(_seconds("pass") for _ in range(3))
    return (median(ours) - bare) / (median(theirs) - bare)


def _seconds(program: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True)
    return time.perf_counter() - began
