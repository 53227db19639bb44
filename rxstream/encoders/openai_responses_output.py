"""The output of one response as it grows: which item is open, what each is numbered, and what is kept of it.

What is closed may still get something that goes with it: the signature of a call, what a tool gave. So such an item
waits, and is done when the next event is not about it.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Final, TypeVar

from pydantic import JsonValue

from rxstream.encoders.openai_responses_frames import NumberedFrames
from rxstream.encoders.openai_responses_items import (
    SUMMARY,
    TEXT,
    CallItem,
    Item,
    ItemStatus,
    MessageItem,
    ReasoningItem,
    SpeakingItem,
    Speech,
)
from rxstream.encoders.openai_responses_tool_items import ServerItem, WholeItem, raw_item
from rxstream.encoders.outgoing_call import OutgoingCall
from rxstream.errors import LimitError
from rxstream.events import Event, MediaDelta, ReasoningSignature, ServerToolCall, ServerToolResult, SignatureKind
from rxstream.limits import Limits
from rxstream.response.pieces import Budget

__all__ = ("ResponseOutput",)

SpeakingT = TypeVar("SpeakingT", bound=SpeakingItem)
ItemT = TypeVar("ItemT", bound=Item)

PREFIXES: Final[dict[type[Item], str]] = {MessageItem: "msg", ReasoningItem: "rs", CallItem: "fc"}


class ResponseOutput:
    """Everything that was sent of one response.

    Args:
        frames: where the events of its items go.
        begin: called before each item; tells the response's own start, once.
        limits: `max_text_bytes` bounds text, reasoning and refusal each, `max_arguments_bytes` each call,
            `max_kept_events` the items, their parts and annotations.
    """

    __slots__ = (
        "_begin",
        "_budgets",
        "_calls",
        "_count",
        "_frames",
        "_limits",
        "_open",
        "_slots",
        "_token",
        "_unfinished",
        "_waiting",
        "has_text",
    )

    def __init__(self, frames: NumberedFrames, begin: Callable[[], None], limits: Limits) -> None:
        self._frames = frames
        self._begin = begin
        self._limits = limits
        self._token = uuid.uuid4().hex
        self._budgets = {
            name: Budget(f"{name} of one response", limits.max_text_bytes, "max_text_bytes")
            for name in ("output_text", "refusal", "summary_text", "signatures")
        }
        self._slots: list[dict[str, JsonValue] | None] = []  # bounded: max_kept_events
        self._unfinished: dict[int, Item] = {}  # likewise
        self._calls: dict[str, tuple[CallItem, Budget]] = {}  # likewise
        self._open: SpeakingItem | None = None
        self._waiting: CallItem | ServerItem | None = None
        self._count = 0
        self.has_text = False

    def __len__(self) -> int:
        return len(self._slots)

    # -------------------------------------------------------------- text

    def say(self, speech: Speech, part_id: str, text: str, logprobs: list[JsonValue] | None = None) -> None:
        """Add a piece of text."""
        self.has_text = self.has_text or (speech is TEXT and bool(text))
        item = self._message() if speech is not SUMMARY else self._reasoning(part_id)
        self._enter(item, speech, part_id)
        item.say(text, self._budgets[speech.part], logprobs)

    def annotate(self, part_id: str, annotation: JsonValue) -> None:
        """Add an annotation of the text that is open; where none is, of an empty one."""
        item = self._message()
        if item.open is None or item.open.speech is not TEXT:
            self._enter(item, TEXT, part_id)
        self._count_part()
        item.annotate(annotation)

    def sound(self, data: str) -> None:
        """Add a piece of audio to the message."""
        self._message().sound(data)

    def sign(self, kind: SignatureKind, part_id: str, data: str) -> None:
        """Add to what must go back with reasoning."""
        item = self._open
        if not isinstance(item, ReasoningItem) or not item.may_be_signed(kind, part_id):
            item = self._open_new(ReasoningItem)
        item.sign(kind, part_id, data, self._budgets["signatures"])

    def _message(self) -> MessageItem:
        return self._open if isinstance(self._open, MessageItem) else self._open_new(MessageItem)

    def _reasoning(self, part_id: str) -> ReasoningItem:
        """The reasoning that is open; once it is signed, nothing else belongs into it."""
        item = self._open
        if isinstance(item, ReasoningItem) and (item.kind is None or item.is_at(SUMMARY, part_id)):
            return item
        return self._open_new(ReasoningItem)

    def _enter(self, item: SpeakingItem, speech: Speech, part_id: str) -> None:
        if not item.is_at(speech, part_id):
            self._count_part()
            item.enter(speech, part_id)

    # -------------------------------------------------------------- calls and whole items

    def begin_call(self, call: OutgoingCall) -> None:
        """A call of the client's tool begins; others may be open beside it."""
        self.close_open()
        limit = self._limits.max_arguments_bytes
        budget = Budget("the arguments of one tool call", limit, "max_arguments_bytes")
        self._calls[call.call_id] = self._add(lambda item_id, i: CallItem(self._frames, item_id, i, call), "fc"), budget

    def argue(self, call_id: str, text: str) -> None:
        """Add a piece of a call's arguments."""
        item, budget = self._calls[call_id]
        item.add(text, budget)

    def sign_call(self, call_id: str, data: str) -> None:
        """Add to what must go back with a call; nothing where the call was told long ago."""
        item, _ = self._calls[call_id]
        if item.index in self._unfinished:
            self._budgets["signatures"].charge(len(data))
            item.sign(data)

    def close_call(self, call: OutgoingCall) -> None:
        """A call is closed. One that is not whole stays open to the end, where it is incomplete."""
        item, _ = self._calls[call.call_id]
        if call.is_valid:
            item.close()
            self._waiting = item

    def show_tool(self, event: ServerToolCall) -> None:
        """A tool that OpenAI ran itself. What it gave comes next, if it comes."""
        raw = raw_item(event)
        if raw is not None:
            self.close_open()
            given = raw.get("id")
            item_id = given if isinstance(given, str) and given else self._new_id("st")
            self._waiting = self._place(ServerItem(self._frames, item_id, len(self._slots), raw, event))

    def take_result(self, output: JsonValue) -> bool:
        """What the tool that waits gave back; False where none waits."""
        item = self._waiting
        if not isinstance(item, ServerItem):
            return False
        item.take_result(output)
        return True

    def add_whole(self, prefix: str, item: dict[str, JsonValue]) -> None:
        """An item that is all said at once."""
        self.close_open()
        self._finish(self._add(lambda item_id, i: WholeItem(self._frames, item_id, i, item), prefix), "completed")

    # -------------------------------------------------------------- ends

    def flush(self, event: Event) -> None:
        """End the item that waits, unless `event` is about it."""
        if self._waiting is not None and not _belongs(event, self._waiting):
            self._end_waiting()

    def close_open(self, status: ItemStatus = "completed") -> None:
        """The text or reasoning that is open is done."""
        self._end_waiting()
        item, self._open = self._open, None
        if item is not None:
            self._finish(item, status)

    def close_all(self, status: ItemStatus) -> bool:
        """The response ends: what is open is done, and a call that nobody closed is incomplete.

        Returns:
            Whether there was such a call.
        """
        self.close_open(status)
        left = [*self._unfinished.values()]
        for item in left:
            self._finish(item, "incomplete")
        return bool(left)

    def has_open_calls(self) -> bool:
        """Whether a call was not closed, or is not whole."""
        self._end_waiting()
        return any(isinstance(item, CallItem) for item in self._unfinished.values())

    def items(self) -> list[JsonValue]:
        """Every item in its order; one that is not done is incomplete."""
        return [
            self._unfinished[index].whole("incomplete") if slot is None else slot
            for index, slot in enumerate(self._slots)
        ]

    # -------------------------------------------------------------- items

    def _open_new(self, kind: type[SpeakingT]) -> SpeakingT:
        self.close_open()
        item = self._add(lambda item_id, index: kind(self._frames, item_id, index), PREFIXES[kind])
        self._open = item
        return item

    def _add(self, make: Callable[[str, int], ItemT], prefix: str) -> ItemT:
        return self._place(make(self._new_id(prefix), len(self._slots)))

    def _new_id(self, prefix: str) -> str:
        return f"{prefix}_{self._token}{len(self._slots):04x}"

    def _place(self, item: ItemT) -> ItemT:
        self._count_part()
        self._begin()
        self._slots.append(None)
        self._unfinished[item.index] = item
        item.begin()
        return item

    def _finish(self, item: Item, status: ItemStatus) -> None:
        del self._unfinished[item.index]
        self._slots[item.index] = item.end(status)

    def _end_waiting(self) -> None:
        item, self._waiting = self._waiting, None
        if item is not None:
            self._finish(item, "completed")

    def _count_part(self) -> None:
        self._count += 1
        limit = self._limits.max_kept_events
        if self._count > limit:
            what = "items, parts and annotations of one response"
            raise LimitError(what, limit=limit, value=self._count, setting="max_kept_events")


def _belongs(event: Event, item: CallItem | ServerItem) -> bool:
    if isinstance(item, CallItem):
        return isinstance(event, ReasoningSignature) and event.part_id != "" and event.part_id == item.call.part_id
    if isinstance(event, ServerToolResult):
        return event.call_id == item.call_id
    return isinstance(event, MediaDelta) and item.kind == "image_generation_call"
