"""A recording, looked at."""

from __future__ import annotations

import os
from pathlib import Path

from rxstream.inspect.facts import Facts
from rxstream.inspect.gathering import gather
from rxstream.inspect.material import Material
from rxstream.inspect.reader import Reader
from rxstream.inspect.simulation import simulate

__all__ = ("inspect_recording",)


def inspect_recording(path: str | os.PathLike[str], reader: Reader | None = None, *, wire: str | None = None) -> Facts:
    """Read a recording and give all that is known of it. Runs loops of its own: not for a coroutine.

    Args:
        path: a recording, or a body as it was.
        reader: the reader that is simulated; None simulates none.
        wire: the wire of its bytes; None is the one that the recording names.

    Raises:
        OSError: it cannot be read.
        DecodeError: it begins as a recording and is none.
        ValueError: its wire is not known.
    """
    material = Material.of(Path(path), wire)
    facts = gather(material)
    if reader is not None and facts.events.count:
        facts.queue = simulate(material, reader, facts.seconds if facts.has_times else 0.0)
    return facts
