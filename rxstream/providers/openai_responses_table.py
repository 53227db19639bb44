"""The items of one Responses message: which of them an event means, and what the final response says of each.

Events name their item twice, by `item_id` and by `output_index`, and neither can be trusted alone: gateways make up new
ids in every event, use one id for several items, or number all of them 0. Servers leave out `output_item.added`,
`output_item.done` or the deltas. So an item is found by whatever still points to one of its kind; what was never seen
is taken from the final response, and nothing is taken twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeVar

from pydantic import JsonValue

from rxstream.events import Event, ProviderEvent, Violation
from rxstream.providers.fields import JsonObject, object_field, string_field, whole_number
from rxstream.providers.openai_responses_items import (
    ArgumentItem,
    CallItem,
    Item,
    ItemContext,
    MessageItem,
    ReasoningItem,
)
from rxstream.providers.openai_responses_server import ResultItem, ServerItem, is_result, is_server_call
from rxstream.providers.openai_responses_speech import Lane

__all__ = ("ItemTable", "Settled")

ItemT = TypeVar("ItemT", bound=Item)

Settled = list[tuple[JsonObject, Item | None]]
"""The objects of a final response, each with its item; None where it was not looked at."""

KINDS: Final[Mapping[str, type[Item]]] = MappingProxyType(
    {
        "message": MessageItem,
        "reasoning": ReasoningItem,
        "function_call": CallItem,
        "custom_tool_call": CallItem,
    }
)

FAMILIES: Final[tuple[type[Item], ...]] = (MessageItem, ReasoningItem, ArgumentItem, ServerItem)
"""What deltas ask for."""


class ItemTable:
    """The items of the open message.

    Args:
        context: what the items of the stream share.

    Attributes:
        lane: where the latest delta went; None where the next payload must be looked at.
        is_resumed: the stream goes on in the middle of a message, whose beginning was read elsewhere.
    """

    __slots__ = ("_by_id", "_by_index", "_calls", "_context", "_items", "_latest", "_prefix", "is_resumed", "lane")

    def __init__(self, context: ItemContext) -> None:
        self._context = context
        self.lane: Lane | None = None
        self.begin_message(0)

    def __len__(self) -> int:
        return len(self._items)

    def begin_message(self, number: int) -> None:
        """Start anew: numbers and ids count for one message."""
        self._prefix = f"m{number}." if number else ""
        self._items: list[Item] = []  # bounded: max_kept_events
        self._by_id: dict[str, Item] = {}
        self._by_index: dict[int, Item] = {}
        self._latest: dict[type[Item], Item] = {}
        self._calls: list[CallItem] = []  # bounded: max_tool_calls
        self.lane = None
        self.is_resumed = False

    def add(self, event: JsonObject, out: list[Event]) -> None:
        """Read `output_item.added`."""
        item = object_field(event, "item")
        known = self._by_id.get(string_field(item, "id"))
        if known is not None and not known.is_done and known.output_index == _index(event):
            return  # a proxy sent it twice
        self._open(item, _index(event)).begin(item, out)

    def close(self, event: JsonObject, out: list[Event]) -> None:
        """Read `output_item.done`. An item that was not there before is whole in it."""
        item = object_field(event, "item")
        found = self._closing(item, _index(event))
        if found is None and self.is_resumed and item.get("type") in ("message", "reasoning"):
            out.append(ProviderEvent("response.output_item.done", event))  # its text was read elsewhere
            return
        if found is None:
            found = self._open(item, _index(event))
            found.begin(item, out)
        elif found.is_done:
            out.append(Violation("item_repeated", f"an item of type {found.kind} was done twice"))
            return
        found.end(item, out)
        found.is_done = True

    def find(self, event: JsonObject, wanted: type[ItemT]) -> ItemT | None:
        """The item of one class that an event means; None where none was added."""
        item_id, index = event.get("item_id"), _index(event)
        pointed = [item for item in self._pointed(item_id, index) if isinstance(item, wanted)]
        if pointed:
            return next((item for item in pointed if not item.is_done), pointed[0])
        latest = self._latest.get(wanted) if index is None else None
        return latest if isinstance(latest, wanted) and not latest.is_done else None

    def find_or_open(self, event: JsonObject, wanted: type[ItemT], kind: str, out: list[Event]) -> ItemT:
        """The item that an event means; where it was never added, a new one of the wire type `kind`."""
        found = self.find(event, wanted)
        if found is not None:
            return found
        if not self.is_resumed:
            out.append(Violation("item_not_added", f"an item of type {kind} was never added"))
        item_id = event.get("item_id")
        item = self._open({"type": kind, "id": item_id if isinstance(item_id, str) else None}, _index(event))
        assert isinstance(item, wanted)
        item.begin({}, out)
        return item

    def settle(self, output: JsonValue, out: list[Event], *, is_complete: bool) -> Settled:
        """Read the items of the final response.

        Args:
            output: its list of items.
            out: where to.
            is_complete: whether it says that the answer is whole.

        Returns:
            Each object of the list with its item.
        """
        objects = [entry for entry in output if isinstance(entry, dict)] if isinstance(output, list) else []
        pairs: Settled = []
        for entry, item in zip(objects, self._match(objects), strict=True):
            is_closed = entry.get("status") == "completed" or (is_complete and entry.get("status") is None)
            if item is None and not self.is_resumed:
                item = self._open(entry, None)
                item.begin(entry, out)
                item.end(entry, out, is_closed=is_closed)
                item.is_done = True
            elif item is not None and not item.is_done and is_closed:
                item.settle(entry, out)
                item.is_done = True
            pairs.append((entry, item))
        return pairs

    def abandon(self, reason: str, out: list[Event]) -> int:
        """None of the open items will be done; return how many there were."""
        self.lane = None
        open_items = [item for item in self._items if not item.is_done]
        for item in open_items:
            item.is_done = True
            item.abandon(reason, out)
        return len(open_items)

    def _open(self, item: JsonObject, index: int | None) -> Item:
        self._context.count_part()
        kind, wire_id = string_field(item, "type"), string_field(item, "id")
        base = wire_id or f"item{len(self._items)}"
        if base in self._by_id:  # the id names another item already
            base = f"{base}.{len(self._items)}"
        opened = _class_of(kind)(kind, self._prefix + base, self._context)
        opened.wire_id, opened.output_index = wire_id, index
        self._items.append(opened)
        if wire_id:
            self._by_id[wire_id] = opened
        if index is not None:
            self._by_index[index] = opened
        for family in FAMILIES:
            if isinstance(opened, family):
                self._latest[family] = opened
        if isinstance(opened, CallItem):
            self._calls.append(opened)
        return opened

    def _closing(self, item: JsonObject, index: int | None) -> Item | None:
        """The item that a last object is of: of the same type, and by its id, its number or its call's id."""
        kind, wire_id = string_field(item, "type"), string_field(item, "id")
        for found in self._pointed(wire_id, index):
            # An item of that number which has ended, and had another id, is not this one.
            if found.kind == kind and (not found.is_done or found.wire_id == wire_id):
                return found
        call_id = string_field(item, "call_id")
        if call_id:
            named = (call for call in self._calls if call.kind == kind and call.call.call_id == call_id)
            return next((call for call in named if not call.is_done), None)
        if wire_id or index is not None:
            return None
        return next((item for item in self._latest.values() if item.kind == kind and not item.is_done), None)

    def _pointed(self, item_id: JsonValue, index: int | None) -> list[Item]:
        """The items that an id and a number point to, the likelier first."""
        by_id = self._by_id.get(item_id) if isinstance(item_id, str) else None
        by_index = None if index is None else self._by_index.get(index)
        # An id that stands for an item of another number was probably used twice.
        pair = (by_id, by_index) if by_id is None or by_id.output_index == index else (by_index, by_id)
        return [item for item in pair if item is not None]

    def _match(self, objects: list[JsonObject]) -> list[Item | None]:
        """The item of each object of the final response: by id, else in the order of the items of its type."""
        found: list[Item | None] = []
        taken: set[Item | None] = set()
        for entry in objects:
            item = self._by_id.get(string_field(entry, "id"))
            is_its = item is not None and item.kind == entry.get("type") and item not in taken
            found.append(item if is_its else None)
            taken.update(found[-1:])
        left: defaultdict[str, list[Item]] = defaultdict(list)
        for item in reversed(self._items):
            if item not in taken:
                left[item.kind].append(item)
        for place, entry in enumerate(objects):
            rest = left[string_field(entry, "type")]
            if found[place] is None and rest:
                found[place] = rest.pop()
        return found


def _class_of(kind: str) -> type[Item]:
    found = KINDS.get(kind)
    if found is None:
        found = ServerItem if is_server_call(kind) else ResultItem if is_result(kind) else Item
    return found


def _index(event: JsonObject) -> int | None:
    return whole_number(event.get("output_index"))
