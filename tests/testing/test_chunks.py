"""Cutters lose no byte, and find the places where a careless parser breaks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxstream.testing import (
    cut,
    cut_at,
    every_two_way_cut,
    json_token_offsets,
    line_end_offsets,
    random_cuts,
    utf8_offsets,
)


@given(data=st.binary(max_size=200), size=st.integers(1, 50))
def test_a_cut_is_whole_and_its_chunks_have_the_size(data: bytes, size: int) -> None:
    chunks = cut(data, size)
    assert b"".join(chunks) == data
    assert all(len(chunk) == size for chunk in chunks[:-1])
    assert all(0 < len(chunk) <= size for chunk in chunks)


def test_a_chunk_of_no_bytes_is_refused() -> None:
    with pytest.raises(ValueError):
        cut(b"abc", 0)


@given(data=st.binary(max_size=50), offsets=st.lists(st.integers(-10, 60)))
def test_a_cut_at_offsets_is_whole_and_has_no_empty_chunk(data: bytes, offsets: list[int]) -> None:
    chunks = cut_at(data, offsets)
    assert b"".join(chunks) == data
    assert all(chunks)


def test_a_cut_at_offsets_cuts_there() -> None:
    assert cut_at(b"abcdef", [4, 1, 4, 0, 6, 99]) == [b"a", b"bcd", b"ef"]


def test_every_two_way_cut_is_made() -> None:
    assert list(every_two_way_cut(b"abc")) == [[b"a", b"bc"], [b"ab", b"c"]]
    assert list(every_two_way_cut(b"a")) == []


def test_a_sample_of_two_way_cuts_is_the_same_each_time() -> None:
    data = bytes(range(200))
    sample = list(every_two_way_cut(data, sample=10))
    assert len(sample) == 10
    assert sample == list(every_two_way_cut(data, sample=10))
    assert sample != list(every_two_way_cut(data, sample=10, seed=1))
    assert all(b"".join(pair) == data for pair in sample)
    assert len(list(every_two_way_cut(data, sample=1000))) == 199


@given(data=st.binary(max_size=300), seed=st.integers(0, 5))
def test_random_cuts_are_whole_and_bounded(data: bytes, seed: int) -> None:
    cuts = list(random_cuts(data, times=3, max_size=7, seed=seed))
    assert len(cuts) == 3
    assert all(b"".join(chunks) == data for chunks in cuts)
    assert all(0 < len(chunk) <= 7 for chunks in cuts for chunk in chunks)


@given(text=st.text(max_size=20))
def test_utf8_offsets_are_the_places_where_half_a_character_stands_on_each_side(text: str) -> None:
    data = text.encode()
    inside = set(utf8_offsets(data))
    for place in range(len(data) + 1):
        try:
            data[:place].decode()
        except UnicodeDecodeError:
            assert place in inside
        else:
            assert place not in inside


def test_json_token_offsets_are_inside_tokens_only() -> None:
    data = rb'{"a": -12.5, "b\n": [true, "\ud83d\ude00", ""]}'
    cuts = [(data[:place], data[place:]) for place in json_token_offsets(data)]
    assert (rb'{"a": -1', rb'2.5, "b\n": [true, "\ud83d\ude00", ""]}') in cuts
    assert (rb'{"a": -12.5, "b' + b"\\", rb'n": [true, "\ud83d\ude00", ""]}') in cuts
    assert (rb'{"a": -12.5, "b\n": [tr', rb'ue, "\ud83d\ude00", ""]}') in cuts
    assert (rb'{"a": -12.5, "b\n": [true, "\ud83d', rb'\ude00", ""]}') in cuts
    assert (rb'{"a": -12.5, "b\n": [true, "\ud83d\ude00", "', rb'"]}') in cuts
    assert not {place for place in json_token_offsets(data) if data[place - 1 : place + 1] in (b": ", b", ", b'{"')}


def test_line_end_offsets_are_inside_crlf_and_blank_lines() -> None:
    data = b"a: 1\r\n\r\nb\n\nc\n"
    assert [data[:place] for place in line_end_offsets(data)] == [
        b"a: 1\r",
        b"a: 1\r\n",
        b"a: 1\r\n\r",
        b"a: 1\r\n\r\nb\n",
    ]
