"""Amazon Bedrock's ConverseStream: messages of an AWS event stream to events.

    messageStart, (contentBlockStart?, contentBlockDelta*, contentBlockStop)*, messageStop, metadata

The stop reason and the metadata together are the end: a stream that has no metadata was cut, whatever its stop reason
said, and `Finish` waits for the end of the bytes. Blocks go by index; text and reasoning need no start. What blocks are
is in `bedrock_blocks`, usage and stop reason in `bedrock_message`, exceptions and errors in `bedrock_frames`.

Source: botocore's `bedrock-runtime` model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from pydantic_core import from_json

from rxstream.errors import DecodeError, LimitError, ProviderError, TruncatedStreamError
from rxstream.events import Event, ProviderEvent, ResponseStart, Violation
from rxstream.framing.frames import EventStreamFrame, Payload
from rxstream.limits import DEFAULT_LIMITS, Limits
from rxstream.providers.bedrock_blocks import ContentBlock, ConverseContext
from rxstream.providers.bedrock_frames import NamedEvent, read_events
from rxstream.providers.bedrock_message import STOP_KEYS, Message
from rxstream.providers.bedrock_plain import PlainDelta
from rxstream.providers.fields import JsonObject, WrongTypeError, leftovers, object_field, whole_number
from rxstream.providers.payloads import payload_data

__all__ = ("ConverseDecoder",)

DELTA: Final = "contentBlockDelta"

KNOWN_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "messageStart": frozenset({"role"}),
    "contentBlockStart": frozenset({"contentBlockIndex", "start"}),
    DELTA: frozenset({"contentBlockIndex", "delta"}),
    "contentBlockStop": frozenset({"contentBlockIndex"}),
    "messageStop": STOP_KEYS,
    "metadata": frozenset({"usage"}),
}
"""The keys of each event that its events hold; the others are kept raw."""


class ConverseDecoder:
    """Decode one stream of the wire `bedrock-converse`.

    Args:
        limits: `max_arguments_bytes` bounds the input of a call, `max_tool_calls` their number and that of the blocks
            open at once, `max_json_depth` the nesting of a message.
        joins_text: text whose block begins where a block of text was just stopped goes on in the part before: Nova
            behind InvokeModel puts each piece of a text into a block of its own.
    """

    __slots__ = (
        "_blocks",
        "_context",
        "_is_open",
        "_joins_text",
        "_limits",
        "_message",
        "_message_count",
        "_plain",
        "_text_run",
        "_top_index",
        "_used_parts",
        "done",
    )

    def __init__(self, *, limits: Limits | None = None, joins_text: bool = False) -> None:
        self.done = False
        self._limits = limits or DEFAULT_LIMITS
        self._joins_text = joins_text
        self._context = ConverseContext(self._limits)
        self._plain = PlainDelta()
        self._message = Message(self._context)
        self._message_count = 0
        self._is_open = False
        self._blocks: dict[int, ContentBlock] = {}  # bounded: max_tool_calls
        self._top_index = -1  # the highest that was seen: an index up to it that is not open was stopped
        self._used_parts = 0
        self._text_run = ""  # the part in which text goes on, if text is what comes next

    def decode(self, payload: Payload, out: list[Event]) -> None:
        """Append to `out` what a message means; see `Decoder`."""
        if type(payload) is EventStreamFrame:
            plain, data, headers = self._plain, payload.payload, payload.headers
            if data.startswith(plain.head) and headers.get(":event-type") == DELTA:
                body, _, padding = data.rpartition(plain.tail)
                if padding[:-2].isalnum() and padding.endswith(b'"}') and headers.get(":message-type") == "event":
                    try:
                        text = from_json(body[plain.skip :])
                    except ValueError:
                        text = None
                    if text and type(text) is str:
                        if plain.piece is not None:
                            out.append(plain.piece(text, plain.part_id))
                            return
                        if plain.call is not None:
                            plain.call.append(text, out)
                            return
        self._decode_any(payload, out)

    def close(self, out: list[Event]) -> None:
        """The bytes ended; see `Decoder`."""
        self.abort(out)
        if not self._message_count:
            raise TruncatedStreamError("the stream ended without its end signal: the answer was empty")
        if self._message.reason is None:
            raise TruncatedStreamError("the stream ended without a stop reason")
        if not self._message.has_metadata:
            raise TruncatedStreamError("the stream ended behind its stop reason, without its metadata")

    def abort(self, out: list[Event]) -> None:
        """The stream fails from outside; see `Decoder`."""
        self._abandon_blocks("the stream ended before the call did", out)
        self._message.send_finish(out)

    # ------------------------------------------------------------------ events

    def _decode_any(self, payload: Payload, out: list[Event]) -> None:
        """The long way. Whatever the short way reads, this reads the same."""
        problem = ""
        for name, event in self._read(payload, out):
            try:
                self._dispatch(name, event, out)
            except WrongTypeError as error:
                problem = str(error)
                break
        if problem:
            self._plain.forget()
            raise DecodeError(problem, detail=payload_data(payload))

    def _read(self, payload: Payload, out: list[Event]) -> list[NamedEvent]:
        try:
            return read_events(payload, self._limits.max_json_depth)
        except ProviderError:
            self.abort(out)
            raise

    def _dispatch(self, name: str, event: JsonObject, out: list[Event]) -> None:
        handler = HANDLERS.get(name)
        if handler is None:
            out.append(ProviderEvent(name, event))
            return
        handler(self, event, out)
        # The reason is told with what stands beside it, by `Finish`.
        if name != "messageStop" and (rest := leftovers(event, KNOWN_KEYS[name])):
            out.append(ProviderEvent(name, rest))

    def _message_start(self, event: JsonObject, out: list[Event]) -> None:
        if self._is_open:
            return  # said twice
        self._abandon_blocks("another message began before the call ended", out)
        self._message.send_finish(out)
        self._open_message(out)

    def _message_stop(self, event: JsonObject, out: list[Event]) -> None:
        self._need_message(out)
        self._plain.forget()
        self._message.take_stop(event)
        if count := len(self._blocks):
            out.append(Violation("block_not_stopped", "a message ended before its content blocks did", count))
            self._abandon_blocks("the message ended before the call did", out)
        self._is_open = False
        self._message.tell_faults(out)

    def _metadata(self, event: JsonObject, out: list[Event]) -> None:
        self._message.take_metadata(event, out)

    def _open_message(self, out: list[Event]) -> None:
        if self._message_count:
            self._message = Message(self._context)
            self._context.begin_message(None)
            self._top_index, self._text_run = -1, ""
        self._is_open = True
        self._message_count += 1
        out.append(ResponseStart())

    def _need_message(self, out: list[Event]) -> None:
        """The first message may lack its start; what comes behind its stop is added to it all the same."""
        if self._is_open:
            return
        if not self._message_count:
            out.append(Violation("message_not_started", "the first message has no messageStart"))
            self._open_message(out)
        elif not self._message.has_late_content:
            self._message.has_late_content = True
            out.append(Violation("content_after_finish", "content came after the stop reason; it was kept"))

    # ------------------------------------------------------------------ blocks

    def _block_start(self, event: JsonObject, out: list[Event]) -> None:
        self._need_message(out)
        self._plain.forget()
        start, index = object_field(event, "start"), self._index(event, is_start=True)
        if (block := self._blocks.pop(index, None)) is not None:
            out.append(Violation("block_index", f"content block {index} was started twice"))
            block.abandon("another block took its place", out)
        self._open_block(index, is_text=False).begin(start, out)

    def _block_delta(self, event: JsonObject, out: list[Event]) -> None:
        self._need_message(out)
        delta, index = object_field(event, "delta"), self._index(event)
        block = self._blocks.get(index)
        if block is None:
            if index <= self._top_index:
                out.append(Violation("delta_after_stop", f"content block {index} went on after its stop"))
            block = self._open_block(index, is_text="text" in delta)
        block.take(delta, out)
        # The first text of a block is read the long way: citations may wait for it.
        if self._is_open and ("text" not in delta or self._context.text_part == block.part_id):
            self._plain.expect(index, delta, block)
        else:
            self._plain.forget()

    def _block_stop(self, event: JsonObject, out: list[Event]) -> None:
        self._need_message(out)
        self._plain.forget()
        index = self._index(event)
        block = self._blocks.pop(index, None)
        if block is not None:
            block.end(out)
            self._text_run = block.part_id if self._joins_text and self._context.text_part == block.part_id else ""
        elif index <= self._top_index:
            out.append(Violation("stop_without_block", f"content block {index} was stopped and is not open"))
        self._top_index = max(self._top_index, index)  # of an empty text nothing but its stop is sent

    def _index(self, event: JsonObject, *, is_start: bool = False) -> int:
        index = whole_number(event.get("contentBlockIndex"))
        if index is not None:
            return index
        return self._top_index + 1 if is_start else next(reversed(self._blocks), self._top_index + 1)

    def _open_block(self, index: int, *, is_text: bool) -> ContentBlock:
        limit = self._limits.max_tool_calls
        if len(self._blocks) >= limit:
            raise LimitError("content blocks open at once", limit=limit, value=limit + 1, setting="max_tool_calls")
        part_id = self._text_run if is_text and self._text_run else self._new_part_id(index)
        self._text_run = ""
        self._top_index = max(self._top_index, index)
        block = self._blocks[index] = ContentBlock(part_id, self._context)
        return block

    def _new_part_id(self, index: int) -> str:
        self._used_parts += 1
        part_id = f"m{self._message_count - 1}.b{index}"
        # An index that was used before names another part already.
        return part_id if index > self._top_index else f"{part_id}.{self._used_parts}"

    def _abandon_blocks(self, reason: str, out: list[Event]) -> None:
        blocks = list(self._blocks.values())
        self._blocks.clear()
        for block in blocks:
            block.abandon(reason, out)


HANDLERS: Final[Mapping[str, Callable[[ConverseDecoder, JsonObject, list[Event]], None]]] = {
    DELTA: ConverseDecoder._block_delta,
    "contentBlockStart": ConverseDecoder._block_start,
    "contentBlockStop": ConverseDecoder._block_stop,
    "messageStart": ConverseDecoder._message_start,
    "messageStop": ConverseDecoder._message_stop,
    "metadata": ConverseDecoder._metadata,
}
