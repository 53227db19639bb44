"""The open content blocks of an Anthropic message: which block a start, a delta or a stop means.

Blocks go by `index`. Servers number them from 1, leave the number out, use one twice or forget a start: each of these
is understood, and told as a `Violation` where it breaks a rule. What belongs to no block is kept raw.
"""

from __future__ import annotations

from typing import Final

from rxstream.errors import LimitError
from rxstream.events import Event, ProviderEvent, ReasoningDelta, TextDelta, Violation
from rxstream.providers.anthropic_blocks import (
    DELTA_BLOCKS,
    DELTA_FIELDS,
    Block,
    BlockContext,
    TextBlock,
    ThinkingBlock,
    ToolBlock,
    make_block,
)
from rxstream.providers.fields import JsonObject, object_field, string_field, whole_number

__all__ = ("OpenBlocks",)

NO_HEAD: Final[tuple[bytes, ...]] = ()
"""No payload begins with one of none."""

COMPACT: Final = b'{"type":"content_block_delta","index":%d,"delta":{"type":"%b","%b":'
SPACED: Final = b'{"type": "content_block_delta", "index": %d, "delta": {"type": "%b", "%b":'
"""How the provider writes a delta, and how the gateways do that are written in Python."""


class OpenBlocks:
    """The blocks that were started and not yet stopped.

    Args:
        context: what the blocks of the stream share.

    Attributes:
        open: the blocks by index.
        head: how a payload begins that adds to the latest block, up to the JSON string it adds.
        piece: the event of such a payload, which holds that string and the part; None where it is a call's input.
        part_id: the part.
    """

    __slots__ = (
        "_context",
        "_latest",
        "_message_number",
        "_shape",
        "_top_index",
        "_used_parts",
        "head",
        "open",
        "part_id",
        "piece",
    )

    def __init__(self, context: BlockContext) -> None:
        self._context = context
        self._latest: ToolBlock | None = None
        self._shape = COMPACT
        self.head: bytes | tuple[bytes, ...] = NO_HEAD
        self.open: dict[int, Block] = {}  # bounded: max_tool_calls
        self.piece: type[TextDelta] | type[ReasoningDelta] | None = None
        self.begin_message(0)

    def __len__(self) -> int:
        return len(self.open)

    def begin_message(self, number: int) -> None:
        """Start anew: indexes count from 0 again in each message."""
        self._message_number = number
        # The highest index that was started: an index up to it that is not open was stopped.
        self._top_index = -1
        self._used_parts = 0
        self._cool()

    def start(self, event: JsonObject, out: list[Event]) -> None:
        """Read `content_block_start`."""
        content = object_field(event, "content_block")
        kind = string_field(content, "type")
        index = whole_number(event.get("index"))
        if index is None:
            index = self._top_index + 1
        if index <= self._top_index:
            self._reuse(index, out)
        if kind:
            self._open(index, kind, content, out)
        else:
            # Its deltas will tell what it is.
            out.append(Violation("block_without_type", f"content block {index} was started without a type"))
            out.append(ProviderEvent("content_block_start", event))

    def delta(self, event: JsonObject, out: list[Event]) -> None:
        """Read `content_block_delta`."""
        delta = object_field(event, "delta")
        kind = _delta_kind(delta)
        index = self._index(event)
        block = self.open.get(index)
        if block is None:
            block = self._start_lost(index, kind, out)
        if block is None:
            out.append(ProviderEvent("content_block_delta", event))
        elif not block.take(kind, delta, out):
            self._misplaced(index, block, kind, delta, out)

    def stop(self, event: JsonObject, out: list[Event]) -> None:
        """Read `content_block_stop`."""
        index = self._index(event)
        block = self.open.pop(index, None)
        if block is None:
            out.append(Violation("stop_without_block", f"content block {index} was stopped and is not open"))
            return
        self._cool()
        block.end(out)

    def take_input(self, text: str, out: list[Event]) -> None:
        """Add a string that stood behind `head` to the input of the latest call."""
        if self._latest is not None:
            self._latest.append(text, out)

    def learn_shape(self, payload: bytes) -> None:
        """Expect the next delta in the shape of this one, which `head` did not match."""
        shape = SPACED if payload.startswith(SPACED[:16]) else COMPACT
        if shape is not self._shape:
            self._shape = shape
            self._warm(*next(reversed(self.open.items())))

    def abandon(self, reason: str, out: list[Event]) -> None:
        """None of the open blocks will be stopped."""
        blocks = list(self.open.values())
        self.open.clear()
        self._cool()
        for block in blocks:
            block.abandon(reason, out)

    def _open(self, index: int, kind: str, content: JsonObject, out: list[Event]) -> Block:
        limit = self._context.limits.max_tool_calls
        if index not in self.open and len(self.open) >= limit:
            raise LimitError("content blocks open at once", limit=limit, value=limit + 1, setting="max_tool_calls")
        block = make_block(kind, self._new_part_id(index), self._context)
        self._top_index = max(self._top_index, index)
        block.begin(content, out)
        self.open[index] = block
        self._warm(index, block)
        return block

    def _new_part_id(self, index: int) -> str:
        self._used_parts += 1
        part_id = f"m{self._message_number}.b{index}"
        # An index that was used before names another part already.
        return part_id if index > self._top_index else f"{part_id}.{self._used_parts}"

    def _reuse(self, index: int, out: list[Event]) -> None:
        out.append(Violation("block_index", f"content block {index} was started after block {self._top_index}"))
        self._cool()
        if (block := self.open.pop(index, None)) is not None:
            block.abandon("another block took its place", out)

    def _index(self, event: JsonObject) -> int:
        index = whole_number(event.get("index"))
        if index is not None:
            return index
        return next(reversed(self.open), self._top_index + 1)

    def _start_lost(self, index: int, kind: str, out: list[Event]) -> Block | None:
        """Begin the block whose start never came, by what its first delta is; None where that is no block's."""
        if index <= self._top_index:
            out.append(Violation("delta_after_stop", f"content block {index} went on after its stop"))
            return None
        if kind not in DELTA_BLOCKS:
            return None
        out.append(Violation("block_not_started", f"content block {index} was never started"))
        return self._open(index, DELTA_BLOCKS[kind], {}, out)

    def _misplaced(self, index: int, block: Block, kind: str, delta: JsonObject, out: list[Event]) -> None:
        """Read a delta that its block does not have: text and reasoning begin a part of their own, the rest is kept."""
        if kind not in DELTA_BLOCKS:
            block.keep(kind, delta, out)
            return
        out.append(Violation("delta_kind", f"{kind} in content block {index}, which is of another kind"))
        if isinstance(block, (TextBlock, ThinkingBlock)) and kind != "input_json_delta":
            self._open(index, DELTA_BLOCKS[kind], {}, out).take(kind, delta, out)
        else:
            block.keep(kind, delta, out)

    def _warm(self, index: int, block: Block) -> None:
        """Make the way short for the deltas that are to come."""
        self._latest = block if isinstance(block, ToolBlock) else None
        if not block.usual_delta:
            self._cool()
            return
        kind, field = block.usual_delta, DELTA_FIELDS[block.usual_delta]
        self.head = self._shape % (index, kind.encode(), field.encode())
        self.piece = block.piece
        self.part_id = block.part_id

    def _cool(self) -> None:
        self.head = NO_HEAD
        self.part_id = ""
        self._latest = None


def _delta_kind(delta: JsonObject) -> str:
    kind = delta.get("type")
    if isinstance(kind, str):
        return kind
    return next((name for name, field in DELTA_FIELDS.items() if delta.get(field) is not None), "")
