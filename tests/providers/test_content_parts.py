"""Typed parts of content, and fields that have no member."""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.events import Event, ProviderEvent
from rxstream.providers.content_parts import ContentPiece, read_content, read_data_url
from rxstream.providers.extras import MAX_CHANGES, MAX_FIELDS, Extras
from rxstream.providers.fields import WrongTypeError

TEXT = ("text", "a", "")
REASONING = ("reasoning", "a", "")


@pytest.mark.parametrize(
    ("content", "pieces"),
    [
        (["a", None], [TEXT]),
        ({"type": "text", "text": "a"}, [TEXT]),
        ({"text": "a"}, [TEXT]),
        ([{"type": "output_text", "text": "a", "annotations": [{}]}], [TEXT, ("annotation", "", "annotation")]),
        ([{"type": "text", "text": "a", "citations": [{}]}], [TEXT, ("annotation", "", "citation")]),
        ([{"type": "thinking", "thinking": "a", "signature": "s"}], [REASONING, ("signature", "s", "signature")]),
        ([{"type": "thinking", "thinking": ["a", {"type": "new"}]}], [REASONING, ("unknown", "", "new")]),
        ([{"type": "reasoning", "text": "a"}], [REASONING]),
        ([{"type": "reasoning", "content": [{"type": "reasoning_text", "text": "a"}]}], [REASONING]),
        ([{"type": "redacted_thinking", "data": "s"}], [("signature", "s", "redacted")]),
        ([{"type": "refusal", "refusal": "no"}], [("refusal", "no", "")]),
        ([{"type": "image_url", "image_url": "data:image/png;base64,AA=="}], [("media", "AA==", "image/png")]),
        ([{"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}}], [("media", "AA", "audio/wav")]),
        ([{"type": "audio", "audio": "x"}], [("unknown", "", "audio")]),
        ([{"type": "reference", "reference_ids": [1]}], [("annotation", "", "reference")]),
        ([{"type": 5}], [("unknown", "", "content_part")]),
    ],
)
def test_content_is_read_part_by_part(content: Any, pieces: list[tuple[str, str, str]]) -> None:
    assert [(piece.kind, piece.text, piece.label) for piece in read_content(content)] == pieces


@pytest.mark.parametrize("content", ["a", 5, [5], [{"type": "text", "text": ["a"]}]])
def test_content_that_is_no_part_is_an_error(content: Any) -> None:
    with pytest.raises(WrongTypeError):
        list(read_content(content))


@pytest.mark.parametrize("url", ["https://a.example/1.png", "data:text/plain,hi", "data:image/png;base64", ""])
def test_another_url_is_no_media(url: str) -> None:
    assert read_data_url(url) is None


def test_a_data_url_keeps_its_media_type() -> None:
    assert read_data_url("data:image/webp;base64,QQ==") == ContentPiece("media", "QQ==", "image/webp")


def test_a_field_is_sent_on_as_it_changes_and_once_more_at_the_end() -> None:
    extras, out = Extras(), list[Event]()
    for value in [1, 1, None, 2, *range(100), 100]:
        extras.offer(ProviderEvent("x", value), out)
    extras.offer(ProviderEvent("x", 7, choice=1), out)
    assert len(out) == MAX_CHANGES + 1
    extras.flush(out)
    extras.flush(out)
    assert out[MAX_CHANGES + 1 :] == [ProviderEvent("x", 100)]


def test_fields_beyond_the_remembered_ones_are_sent_on_each_time() -> None:
    extras, out = Extras(), list[Event]()
    for _ in range(2):
        for number in range(MAX_FIELDS + 1):
            extras.offer(ProviderEvent(f"x{number}", "same"), out)
    assert len(out) == MAX_FIELDS + 2
