"""The short way for a Converse delta that is one string of an open block and nothing else.

    {"contentBlockIndex":0,"delta":{"text":"Hi"},"p":"abcd"}

A message that is these bytes up to the string, one JSON string, and these bytes behind it says nothing but that string,
so only the string is read. The padding is letters and digits, so what stands before the last `"p":"` is all there is.
Whatever is not exactly so is read as any other message.

Measured on such a message: 1.25 times what `from_json` and an event take; looking up what `from_json` gave, 1.5 times.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from rxstream.events import ReasoningDelta, TextDelta
from rxstream.providers.bedrock_blocks import ContentBlock
from rxstream.providers.fields import JsonObject
from rxstream.providers.tool_assembly import OpenCall

__all__ = ("PlainDelta",)


NO_HEAD: Final[tuple[bytes, ...]] = ()
"""No message begins with one of none."""


class _Shape(NamedTuple):
    """What stands around the string under one key of a delta, and its event; None where it is a call's input."""

    head: bytes
    tail: bytes
    piece: type[TextDelta] | type[ReasoningDelta] | None


SHAPES: Final[Mapping[str, _Shape]] = {
    "text": _Shape(b'{"contentBlockIndex":%d,"delta":{"text":', b'},"p":"', TextDelta),
    "reasoningContent": _Shape(
        b'{"contentBlockIndex":%d,"delta":{"reasoningContent":{"text":', b'}},"p":"', ReasoningDelta
    ),
    "toolUse": _Shape(b'{"contentBlockIndex":%d,"delta":{"toolUse":{"input":', b'}},"p":"', None),
}


class PlainDelta:
    """The delta that is expected next; who decodes does the reading, for a call costs as much as the reading.

    Attributes:
        head: what stands before its string.
        skip: the length of `head`.
        tail: what stands between its string and the padding.
        piece: the event of it; None where it is a call's input.
        part_id: the part of its block.
        call: the call of its block.
    """

    __slots__ = ("call", "head", "part_id", "piece", "skip", "tail")

    def __init__(self) -> None:
        self.tail = b""
        self.skip = 0
        self.piece: type[TextDelta] | type[ReasoningDelta] | None = None
        self.part_id = ""
        self.forget()

    def forget(self) -> None:
        """Expect none."""
        self.head: bytes | tuple[bytes, ...] = NO_HEAD
        self.call: OpenCall | None = None

    def expect(self, index: int, delta: JsonObject, block: ContentBlock) -> None:
        """Expect another like `delta`, which block `index` has taken."""
        shape = SHAPES.get(next(iter(delta), ""))
        if shape is None:
            self.forget()
            return
        head = shape.head % index
        self.head, self.skip, self.tail, self.piece = head, len(head), shape.tail, shape.piece
        self.part_id, self.call = block.part_id, block.call
