"""How a transport may cut the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rxstream.testing import cut, cut_at, json_token_offsets, line_end_offsets, utf8_offsets

Chunking = Callable[[Sequence[bytes]], list[bytes]]
"""From the frames of a stream to its chunks."""


def whole(frames: Sequence[bytes]) -> list[bytes]:
    return [b"".join(frames)]


def one_by_one(frames: Sequence[bytes]) -> list[bytes]:
    return cut(b"".join(frames), 1)


def inside_characters(frames: Sequence[bytes]) -> list[bytes]:
    data = b"".join(frames)
    return cut_at(data, utf8_offsets(data))


def inside_json(frames: Sequence[bytes]) -> list[bytes]:
    data = b"".join(frames)
    return cut_at(data, json_token_offsets(data))


def inside_line_ends(frames: Sequence[bytes]) -> list[bytes]:
    data = b"".join(frames)
    return cut_at(data, line_end_offsets(data))


def one_frame_a_chunk(frames: Sequence[bytes]) -> list[bytes]:
    return list(frames)


def several_frames_a_chunk(frames: Sequence[bytes]) -> list[bytes]:
    return [b"".join(frames[start : start + 3]) for start in range(0, len(frames), 3)]


CHUNKINGS: dict[str, Chunking] = {
    "whole": whole,
    "byte by byte": one_by_one,
    "inside characters": inside_characters,
    "inside json": inside_json,
    "inside line ends": inside_line_ends,
    "a frame a chunk": one_frame_a_chunk,
    "several frames a chunk": several_frames_a_chunk,
}
