"""A body that is one frame."""

from __future__ import annotations

import pytest

from rxstream.errors import FrameTooLargeError
from rxstream.framing.whole import WholeBody
from rxstream.limits import Limits
from rxstream.testing import cut

BODY = b'{"text": "one\n\ntwo"}'


@pytest.mark.parametrize("size", [1, 2, 3, 7, len(BODY)])
def test_a_body_is_one_frame_at_its_end_however_it_was_cut(size: int) -> None:
    framing, fused = WholeBody(), WholeBody()
    for chunk in cut(BODY, size):
        assert list(framing.feed(chunk)) == []
        assert fused.feed_payloads(chunk) == []
    assert list(framing.close()) == fused.close_payloads() == [BODY]


def test_an_empty_body_is_no_frame() -> None:
    assert WholeBody().close_payloads() == []
    assert list(WholeBody().close()) == []


@pytest.mark.parametrize("size", [1, 4, 5])
def test_a_body_over_its_bound_is_an_error_whole_or_in_pieces(size: int) -> None:
    framing, fused = WholeBody(limits=Limits(max_frame_bytes=4)), WholeBody(limits=Limits(max_frame_bytes=4))
    with pytest.raises(FrameTooLargeError) as caught:
        for chunk in cut(b"12345", size):
            framing.feed(chunk)
    assert (caught.value.setting, caught.value.limit, caught.value.value) == ("max_frame_bytes", 4, 5)
    for chunk in cut(b"12345678", size):
        fused.feed_payloads(chunk)
    assert isinstance(fused.error, FrameTooLargeError)
    assert fused.close_payloads() == []
    with pytest.raises(FrameTooLargeError):
        fused.close()


def test_a_body_at_its_bound_is_no_error() -> None:
    framing = WholeBody(limits=Limits(max_frame_bytes=4))
    framing.feed(b"1234")
    assert list(framing.close()) == [b"1234"]
