"""Recorded streams of wires that are known and not read: the error says why, and their frames can be had."""

from __future__ import annotations

import pytest

import rxstream as rxs
from rxstream import operators as ops
from rxstream.providers.registry import UNREAD_WIRES, wire_names
from rxstream.testing import cut, run
from tests.recordings.harness import Recording, recordings


@pytest.mark.parametrize("name", UNREAD_WIRES)
def test_the_error_says_why_it_is_not_read_and_what_to_do(name: str) -> None:
    with pytest.raises(ValueError, match=r"not read \(.*frame_sse.*register_wire"):
        ops.parse(name)
    assert name not in wire_names()


@pytest.mark.parametrize(
    "recording",
    [recording for name in UNREAD_WIRES for recording in recordings(f"sse:{name}")],
    ids=lambda recording: recording.name,
)
def test_its_frames_can_be_had_wherever_they_were_cut(recording: Recording) -> None:
    body = recording.path.read_bytes()

    async def main() -> None:
        async def frames(size: int) -> list[object]:
            framed = rxs.from_chunks(cut(body, size)).pipe(ops.frame_sse(end_marker=None, at_eof="strict"))
            return [frame async for frame in rxs.iterate(framed)]

        whole = await frames(len(body))
        assert whole
        assert await frames(7) == await frames(1024) == whole

    run(main())
