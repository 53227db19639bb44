"""Content that is a list of typed parts, as Mistral, Databricks and gateways in front of others send it.

Each part becomes pieces with a kind of ours. A part that nobody knows is kept whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import JsonValue

from rxstream.providers.fields import JsonObject, WrongTypeError, string_field

__all__ = ("ContentPiece", "read_content", "read_data_url")

PieceKind = Literal["text", "reasoning", "signature", "refusal", "annotation", "media", "unknown"]


@dataclass(slots=True)
class ContentPiece:
    """A piece of an answer's content.

    Args:
        kind: what it is.
        text: its text, signature or base64 data.
        label: the sort of signature, annotation, media or unknown part.
        raw: the wire's own object, where it is kept.
    """

    kind: PieceKind
    text: str = ""
    label: str = ""
    raw: JsonValue = None


def read_content(content: JsonValue) -> Iterator[ContentPiece]:
    """Read content that is not a plain string: a list of parts, or one part.

    Raises:
        WrongTypeError: it is neither.
    """
    parts = [content] if isinstance(content, dict) else content
    if not isinstance(parts, list):
        raise WrongTypeError("content", content)
    for part in parts:
        if isinstance(part, str):
            yield ContentPiece("text", part)
        elif isinstance(part, dict):
            yield from _read_part(part)
        elif part is not None:
            raise WrongTypeError("content", part)


def read_data_url(url: str) -> ContentPiece | None:
    """The media inside a `data:` URL; None where it is another URL, or not base64."""
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return None
    return ContentPiece("media", data, head.removeprefix("data:").removesuffix(";base64"))


def _read_part(part: JsonObject) -> Iterator[ContentPiece]:
    kind = part.get("type")
    if kind is None and "text" in part:
        kind = "text"
    reader = _READERS.get(kind, _unknown) if isinstance(kind, str) else _unknown
    return reader(part)


def _text(part: JsonObject) -> Iterator[ContentPiece]:
    yield ContentPiece("text", string_field(part, "text"))
    for key in ("citations", "annotations"):
        entries = part.get(key)
        if not isinstance(entries, list):
            continue
        for entry in entries:
            yield ContentPiece("annotation", label=key[:-1], raw=entry)


def _reasoning(part: JsonObject) -> Iterator[ContentPiece]:
    """`thinking` and `reasoning`: their text stands under a key of four, as a string or as a list of parts."""
    for key in ("thinking", "text", "summary", "content"):
        inner = part.get(key)
        if isinstance(inner, str):
            yield ContentPiece("reasoning", inner)
        elif inner is not None:
            yield from _reasoning_list(inner)
    yield from _signature(part)


def _reasoning_list(inner: JsonValue) -> Iterator[ContentPiece]:
    for entry in inner if isinstance(inner, list) else [inner]:
        if isinstance(entry, str):
            yield ContentPiece("reasoning", entry)
        elif isinstance(entry, dict) and "text" in entry:
            yield ContentPiece("reasoning", string_field(entry, "text"))
            yield from _signature(entry)
        elif isinstance(entry, dict):
            yield from _read_part(entry)


def _signature(part: JsonObject) -> Iterator[ContentPiece]:
    if signature := string_field(part, "signature"):
        yield ContentPiece("signature", signature, "signature")


def _redacted(part: JsonObject) -> Iterator[ContentPiece]:
    yield ContentPiece("signature", string_field(part, "data"), "redacted")


def _refusal(part: JsonObject) -> Iterator[ContentPiece]:
    yield ContentPiece("refusal", string_field(part, "refusal"))


def _image(part: JsonObject) -> Iterator[ContentPiece]:
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else image
    media = read_data_url(url) if isinstance(url, str) else None
    yield media or ContentPiece("annotation", label="image_url", raw=part)


def _audio(part: JsonObject) -> Iterator[ContentPiece]:
    audio = part.get("input_audio", part.get("audio"))
    if isinstance(audio, dict) and isinstance(audio.get("data"), str):
        yield ContentPiece("media", string_field(audio, "data"), f"audio/{string_field(audio, 'format') or 'pcm'}")
    else:
        yield from _unknown(part)


def _annotation(part: JsonObject) -> Iterator[ContentPiece]:
    yield ContentPiece("annotation", label=string_field(part, "type"), raw=part)


def _unknown(part: JsonObject) -> Iterator[ContentPiece]:
    kind = part.get("type")
    yield ContentPiece("unknown", label=kind if isinstance(kind, str) and kind else "content_part", raw=part)


_READERS: Final[dict[str, Callable[[JsonObject], Iterator[ContentPiece]]]] = {
    "text": _text,
    "output_text": _text,
    "thinking": _reasoning,
    "reasoning": _reasoning,
    "redacted_thinking": _redacted,
    "refusal": _refusal,
    "image_url": _image,
    "input_audio": _audio,
    "audio": _audio,
    "reference": _annotation,
    "citation": _annotation,
    "url_citation": _annotation,
}
