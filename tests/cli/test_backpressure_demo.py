"""The show: short here, and everything in it real."""

from __future__ import annotations

import re

from .conftest import CommandLine


def test_the_reader_stops_and_the_provider_is_paused_and_nothing_is_lost(rxstream: CommandLine) -> None:
    done = rxstream("demo", "backpressure", "--seconds", "5")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"the reader has stopped +provider paused at +[\d,]+ KiB", done.stdout)
    assert "0 events lost or out of order" in done.stdout
    assert re.search(r"cut in mid-word: indeterminate, last event ([\d,]+) of \1", done.stdout)
    assert "ops.bounded_buffer(" in done.stdout
