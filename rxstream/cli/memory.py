"""How much memory this process holds."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ("resident_bytes",)


def resident_bytes() -> int:
    """The resident size in bytes; where the system does not say, the peak so far; 0 where it says nothing."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        import os

        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    try:
        import resource
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
