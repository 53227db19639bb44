"""A body comes out whole, in pieces of a bounded size, however it was compressed and cut."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxstream.errors import TransportError
from rxstream.sources.body import open_body
from rxstream.testing import cut

TEXT = b"".join(b"data: %d\n\n" % number for number in range(500))


def raw_deflate(data: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush()


ENCODED = {
    "plain": ("", TEXT),
    "identity": ("Identity", TEXT),
    "gzip": ("gzip", gzip.compress(TEXT)),
    "x-gzip": ("X-Gzip, identity", gzip.compress(TEXT)),
    "members": ("gzip", gzip.compress(TEXT[:100]) + gzip.compress(b"") + gzip.compress(TEXT[100:])),
    "deflate": ("deflate", zlib.compress(TEXT)),
    "raw deflate": ("deflate", raw_deflate(TEXT)),
    "behind deflate": ("deflate", zlib.compress(TEXT) + b"\n"),
    "stored": ("deflate", zlib.compress(TEXT, level=0)),
}
every_encoding = pytest.mark.parametrize(("encoding", "data"), ENCODED.values(), ids=ENCODED.keys())


def pieces(encoding: str, chunks: Iterator[bytes] | list[bytes], size: int) -> Iterator[bytes]:
    """What a reader makes of the chunks."""
    body = open_body(encoding, size)
    for chunk in chunks:
        if piece := body.feed(chunk):
            yield piece
        while body.has_more:
            if piece := body.take():
                yield piece
    body.close()


@every_encoding
@pytest.mark.parametrize("size", [1, 7, 4096, 1 << 16])
@pytest.mark.parametrize("chunk_bytes", [1, 2, 3, 1000, 1 << 20])
def test_every_encoding_comes_out_whole_in_bounded_pieces(
    encoding: str, data: bytes, size: int, chunk_bytes: int
) -> None:
    found = list(pieces(encoding, list(cut(data, chunk_bytes)), size))
    assert b"".join(found) == TEXT
    assert max(map(len, found)) <= size
    assert all(found)


@given(data=st.binary(max_size=300), size=st.integers(1, 400), chunk_bytes=st.integers(1, 400))
def test_any_bytes_survive_any_encoding_and_cut(data: bytes, size: int, chunk_bytes: int) -> None:
    for encoding, encoded in (
        ("", data),
        ("gzip", gzip.compress(data)),
        ("deflate", zlib.compress(data)),
        ("deflate", raw_deflate(data)),
    ):
        assert b"".join(pieces(encoding, list(cut(encoded, chunk_bytes)), size)) == data


@every_encoding
def test_a_body_without_a_byte_is_empty(encoding: str, data: bytes) -> None:
    assert list(pieces(encoding, [], 10)) == []


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
@pytest.mark.parametrize("kept", [1, 2, 15, -1])
def test_a_compressed_body_that_ends_early_is_an_error(encoding: str, kept: int) -> None:
    data = (gzip.compress(TEXT) if encoding == "gzip" else zlib.compress(TEXT))[:kept]
    with pytest.raises(TransportError, match="ended before its end"):
        list(pieces(encoding, [data], 100))


@pytest.mark.parametrize(
    ("encoding", "data"),
    [("gzip", b"data: 1\n\n"), ("deflate", b"data: 1\n\n"), ("gzip", gzip.compress(TEXT) + b"garbage, not a member")],
    ids=["gzip", "deflate", "behind gzip"],
)
def test_a_damaged_body_is_an_error(encoding: str, data: bytes) -> None:
    with pytest.raises(TransportError, match="damaged") as caught:
        list(pieces(encoding, [data], 100))
    assert isinstance(caught.value.take_detail(), zlib.error)
    assert caught.value.__context__ is None


def test_chunks_before_the_damaged_one_come_first() -> None:
    compressor = zlib.compressobj(wbits=31)
    good = compressor.compress(b"good") + compressor.flush(zlib.Z_SYNC_FLUSH)
    body = open_body("gzip", 100)
    assert body.feed(good) == b"good"
    assert body.take() == b""
    with pytest.raises(TransportError):
        body.feed(b"\xff\xff\xff\xff")
    assert not body.has_more


@pytest.mark.parametrize("encoding", ["br", "zstd", "compress", "gzip, gzip", "br, gzip", "secret-word"])
def test_an_encoding_that_is_not_read_is_a_clear_error(encoding: str) -> None:
    with pytest.raises(TransportError, match="is not read here; gzip and deflate are") as caught:
        open_body(encoding, 100)
    assert not caught.value.public.retry.retryable
    assert "secret" not in str(caught.value)


def test_a_bomb_is_inflated_one_piece_at_a_time() -> None:
    bomb = gzip.compress(bytes(64 << 20))
    body = open_body("gzip", 4096)
    tracemalloc.start()
    try:
        assert len(body.feed(bomb)) == 4096
        for _ in range(10):
            assert len(body.take()) == 4096
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 128 * 1024
