"""The short way for a Converse delta that is one string of an open block and nothing else.

    {"contentBlockIndex":0,"delta":{"text":"Hi"},"p":"abcd"}

A message that is these bytes up to the string, one JSON string, and these bytes behind it says nothing but that string,
so only the string is read. The padding is letters and digits, so what stands before the last `"p":"` is all there is.
Whatever is not exactly so is read as any other message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from pydantic_core import from_json

from rxstream.events import ReasoningDelta, TextDelta
from rxstream.providers.bedrock_blocks import ContentBlock
from rxstream.providers.fields import JsonObject

__all__ = ("PlainDelta",)


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
    """The delta that is expected next.

    Attributes:
        block: the block it goes to; None where none is expected.
        part_id: the block's part.
        piece: the event of it; None where it is a call's input.
    """

    __slots__ = ("_head", "_tail", "block", "part_id", "piece")

    def __init__(self) -> None:
        self.block: ContentBlock | None = None
        self.part_id = ""
        self.piece: type[TextDelta] | type[ReasoningDelta] | None = None
        self._head = self._tail = b""

    def forget(self) -> None:
        """Expect none."""
        self.block = None

    def expect(self, index: int, delta: JsonObject, block: ContentBlock) -> None:
        """Expect another like `delta`, which block `index` has taken."""
        shape = SHAPES.get(next(iter(delta), "")) if len(delta) == 1 else None
        if shape is None:
            self.forget()
            return
        self._head, self._tail, self.piece = shape.head % index, shape.tail, shape.piece
        self.block, self.part_id = block, block.part_id

    def match(self, payload: bytes) -> str | None:
        """The string of a message that is as expected; None where it is not, or where the string is empty."""
        if self.block is None or not payload.startswith(self._head):
            return None
        body, _, padding = payload[len(self._head) :].rpartition(self._tail)
        if not (body.startswith(b'"') and padding.endswith(b'"}') and padding[:-2].isalnum()):
            return None
        try:
            text: str = from_json(body)  # what begins with a quote and is JSON is a string
        except ValueError:
            return None
        return text or None
