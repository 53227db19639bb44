"""The content of messages, as all formats have it: a string or a list of typed parts, images, calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from rxstream.gateway.readers.node import Fields, Node
from rxstream.requests import Content, ImageContent, TextContent

__all__ = ("PartReader", "as_content", "check_unique", "read_image", "read_parts", "read_plain")

PartT = TypeVar("PartT", bound=Content)

PartReader = Callable[[Fields], Content]

WEB: Final = ("http://", "https://")

DATA_URL: Final = re.compile(r"data:image/[a-z0-9.+-]{1,64};base64,", re.IGNORECASE)


def read_parts(node: Node, readers: Mapping[str, PartReader]) -> Iterator[Content]:
    """The parts of content that is a string or a list; an empty string has none.

    Args:
        node: the content.
        readers: how each type of part is read.
    """
    if node.is_text:
        if node.value:
            yield TextContent(text=node.text())
        return
    if not isinstance(node.value, list):
        raise node.refuse("must be a string or a list of parts")
    for entry in node.entries():
        with entry.fields() as fields:
            yield readers[_type(fields, readers)](fields)


def _type(fields: Fields, readers: Mapping[str, PartReader]) -> str:
    kind = fields.need("type")
    if not isinstance(kind.value, str) or kind.value not in readers:
        raise kind.refuse(f"such a part cannot be carried: there are {', '.join(readers)} here")
    return kind.text()


def read_plain(fields: Fields) -> TextContent:
    """A part of text; what caches it and what it quoted is left out."""
    fields.ignore("cache_control", "prompt_cache_breakpoint", "citations", "annotations", "logprobs")
    return TextContent(text=fields.need("text").text())


def read_image(url: Node) -> ImageContent:
    """An image by its address, or by its bytes in a `data:` URL. The address is the provider's to fetch, not ours."""
    text = url.text()
    if not text[:8].lower().startswith(WEB) and not DATA_URL.match(text):
        raise url.refuse("must be an http or https URL, or a data: URL of an image in base64")
    return ImageContent(url=text)


def as_content(parts: Iterable[PartT]) -> str | Sequence[PartT]:
    """Parts as a message has them: one plain text is a string."""
    listed = tuple(parts)
    if not listed:
        return ""
    only = listed[0]
    if len(listed) == 1 and isinstance(only, TextContent) and not only.signatures:
        return only.text
    return listed


def check_unique(node: Node, names: Iterable[str], what: str) -> None:
    """Refuse an id or name that is there twice.

    Args:
        node: where they stand.
        names: the ids or names.
        what: what they are.
    """
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise node.refuse(f"{what} is there twice")
        seen.add(name)
