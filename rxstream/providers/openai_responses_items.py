"""The items of a Responses stream that are the model's own: messages, reasoning, and calls of the client's tools.

An item lives from `output_item.added` to `output_item.done`. `begin` reads its first object, its deltas add to it, and
`end` reads its last object, which repeats all of it: only what no delta brought is taken from there. `abandon` says
that the last object never came. An item whose type nobody knows is kept raw.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from pydantic import JsonValue
from pydantic_core import from_json, to_json

from rxstream.errors import LimitError
from rxstream.events import (
    Annotation,
    Event,
    MediaDelta,
    ProviderEvent,
    ReasoningSignature,
    TextDelta,
    ToolKind,
    Violation,
)
from rxstream.limits import Limits
from rxstream.providers.fields import JsonObject, leftovers, object_field, string_field
from rxstream.providers.openai_responses_speech import TEXT, Speech, spoken_text
from rxstream.providers.sealed_reasoning import unseal
from rxstream.providers.tool_assembly import CallIds, OpenCall

__all__ = (
    "ArgumentItem",
    "CallItem",
    "Item",
    "ItemContext",
    "MessageItem",
    "ReasoningItem",
    "SpeakingItem",
    "arguments_of",
    "compact_json",
    "objects_in",
)

CUT_STATUSES: Final = frozenset({"incomplete", "failed", "cancelled", "canceled"})
"""Statuses of an item that say that it is not whole, although it was closed."""

AUDIO_TYPE: Final = "audio/pcm"
"""The wire does not say what its audio is; PCM is what OpenAI streams unless asked for another."""


class ItemContext:
    """What the items of one stream share.

    Args:
        limits: the bounds.

    Attributes:
        ids: makes an id for a call that came without one.
        call_names: the names of the client's calls in the open message by id.
        message_calls: the calls of the client's tools in the open message.
        said: the kinds of text that the open message has said something of.
        faults: why calls of the open message cannot run although they were closed.
    """

    __slots__ = ("_part_count", "call_names", "faults", "ids", "limits", "message_calls", "said")

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.ids = CallIds()
        self.call_names: dict[str, str] = {}  # bounded: max_tool_calls
        self.message_calls = 0
        self.said: set[str] = set()
        self.faults: list[str] = []  # bounded: max_tool_calls
        self._part_count = 0

    def begin_message(self, response_id: str | None) -> None:
        """Count anew; ids that are made hang on the message's id."""
        self.ids.seed = response_id or ""
        self.message_calls = 0
        self.call_names.clear()
        self.said.clear()
        self.faults.clear()
        self._part_count = 0

    def count_call(self) -> None:
        """Count a call of a client's tool.

        Raises:
            LimitError: it is one more than `max_tool_calls` in this message.
        """
        self.message_calls += 1
        self._check("tool calls of one response", self.message_calls, "max_tool_calls", self.limits.max_tool_calls)

    def count_part(self) -> None:
        """Count an item, or a part of one.

        Raises:
            LimitError: it is one more than `max_kept_events` in this message.
        """
        self._part_count += 1
        self._check("parts of one response", self._part_count, "max_kept_events", self.limits.max_kept_events)

    def _check(self, what: str, value: int, setting: str, limit: int) -> None:
        if value > limit:
            raise LimitError(what, limit=limit, value=value, setting=setting)


class Item:
    """An item of a type that has no class of its own: kept raw when it ends.

    Args:
        kind: its wire type.
        base: its name in part ids.
        context: what the items of the stream share.

    Attributes:
        wire_id: its id, as the wire names it; empty where it does not.
        output_index: its number; None where the wire gives none.
        is_done: its last object was read, or it was abandoned.
    """

    known: ClassVar[frozenset[str]] = frozenset()
    """The keys of its last object that its events hold."""

    __slots__ = ("base", "context", "is_done", "kind", "output_index", "wire_id")

    def __init__(self, kind: str, base: str, context: ItemContext) -> None:
        self.kind = kind
        self.base = base
        self.context = context
        self.wire_id = ""
        self.output_index: int | None = None
        self.is_done = False

    def begin(self, item: JsonObject, out: list[Event]) -> None:
        """Read its first object."""

    def end(self, item: JsonObject, out: list[Event], *, is_closed: bool = True) -> None:
        """Read its last object; `is_closed` tells whether the wire says that it is whole."""
        out.append(ProviderEvent(self.kind or "output_item", item, self.base))

    def settle(self, item: JsonObject, out: list[Event]) -> None:
        """Read its object in the final response: its own last object never came."""
        self.end(item, out)

    def abandon(self, reason: str, out: list[Event]) -> None:
        """It will never end, for the reason given."""

    def keep_leftovers(self, item: JsonObject, out: list[Event]) -> None:
        """Keep what its last object says beyond what its events hold."""
        if rest := leftovers(item, self.known):
            out.append(ProviderEvent(self.kind, rest, self.base))


class SpeakingItem(Item):
    """An item that is made of text."""

    __slots__ = ("_latest", "_parts")

    def __init__(self, kind: str, base: str, context: ItemContext) -> None:
        super().__init__(kind, base, context)
        self._parts: dict[tuple[str, int], str] = {}  # bounded: max_kept_events
        self._latest = ""

    def say(
        self, speech: Speech, index: int, text: str, out: list[Event], logprobs: list[JsonValue] | None = None
    ) -> str:
        """Add a piece to part number `index` of one kind; return the part's id."""
        part_id = self._parts.get((speech.name, index)) or self._new_part(speech, index)
        self._latest = part_id
        if logprobs and speech is TEXT:
            out.append(TextDelta(text, part_id, logprobs=logprobs))
        else:
            out.append(speech.piece(text, part_id))
        return part_id

    def complete(self, speech: Speech, index: int, text: str, out: list[Event]) -> None:
        """Add the whole text of a part where no piece of it came."""
        if text and (speech.name, index) not in self._parts:
            self.say(speech, index, text, out)

    def part_id(self, speech: Speech, index: int) -> str:
        """The part number `index` of one kind; else the latest; empty where nothing was said."""
        return self._parts.get((speech.name, index), self._latest)

    def say_rest(self, parts: JsonValue, out: list[Event]) -> None:
        """Add what the parts of its last object say in kinds that it has not spoken in yet.

        Servers number the parts of one item differently in its deltas and in its list, so a kind that was streamed is
        not compared part by part.
        """
        before = {name for name, _ in self._parts}
        for index, part in enumerate(objects_in(parts)):
            spoken = spoken_text(part)
            if spoken is None:
                out.append(ProviderEvent(string_field(part, "type") or "content_part", part, self._latest))
            elif spoken[0].name not in before:
                self.complete(spoken[0], index, spoken[1], out)

    def _new_part(self, speech: Speech, index: int) -> str:
        self.context.count_part()
        self.context.said.add(speech.name)
        part_id = f"{self.base}:{speech.mark}{index}"
        self._parts[speech.name, index] = part_id
        return part_id


class MessageItem(SpeakingItem):
    """What the model says to the user: text with its annotations, refusals, audio."""

    known = frozenset({"type", "id", "status", "role", "content"})

    __slots__ = ("_annotation_count", "_has_audio")

    def __init__(self, kind: str, base: str, context: ItemContext) -> None:
        super().__init__(kind, base, context)
        self._annotation_count = 0
        self._has_audio = False

    def annotate(self, annotation: JsonValue, index: int, out: list[Event]) -> None:
        """Add an annotation of text part number `index`."""
        self._annotation_count += 1
        kind = annotation.get("type") if isinstance(annotation, dict) else None
        kind = kind if isinstance(kind, str) else "annotation"
        out.append(Annotation(kind, annotation, self.part_id(TEXT, index)))

    def sound(self, data: str, out: list[Event]) -> None:
        """Add a piece of audio."""
        self._has_audio = True
        out.append(MediaDelta(AUDIO_TYPE, data, f"{self.base}:audio"))

    def end(self, item: JsonObject, out: list[Event], *, is_closed: bool = True) -> None:
        has_audio, count = self._has_audio, self._annotation_count
        self.say_rest(item.get("content"), out)
        for index, part in enumerate(objects_in(item.get("content"))):
            annotations = part.get("annotations")
            for annotation in annotations if isinstance(annotations, list) else ():
                count -= 1
                if count < 0:
                    self.annotate(annotation, index, out)
            if part.get("type") == "output_audio" and not has_audio and (data := string_field(part, "data")):
                self.sound(data, out)
        self.keep_leftovers(item, out)


class ReasoningItem(SpeakingItem):
    """What the model thinks: in text, in a summary, or encrypted for the provider alone."""

    known = frozenset({"type", "id", "status", "content", "summary", "encrypted_content"})

    __slots__ = ("_encrypted",)

    def __init__(self, kind: str, base: str, context: ItemContext) -> None:
        super().__init__(kind, base, context)
        self._encrypted = ""

    def begin(self, item: JsonObject, out: list[Event]) -> None:
        # The first object has one that is not the last: it counts where the last has none.
        self._encrypted = string_field(item, "encrypted_content")

    def end(self, item: JsonObject, out: list[Event], *, is_closed: bool = True) -> None:
        self.say_rest(item.get("content"), out)
        self.say_rest(item.get("summary"), out)
        if encrypted := string_field(item, "encrypted_content") or self._encrypted:
            kind, data = unseal(encrypted)
            out.append(ReasoningSignature(data, self._latest or self.base, kind=kind))
        self.keep_leftovers(item, out)


class ArgumentItem(Item):
    """An item with arguments, which come in pieces."""

    __slots__ = ()

    def append(self, piece: str, out: list[Event]) -> None:
        """Add a piece of the arguments."""

    def complete(self, whole: JsonObject, arguments: str, out: list[Event]) -> None:
        """Read the wire's word that these are all arguments; `whole` may say the name as well."""


class CallItem(ArgumentItem):
    """A call of the client's tool: `function_call`, or `custom_tool_call` with free text as its input."""

    known = frozenset({"type", "id", "status", "call_id", "name", "arguments", "input", "extra_content"})

    __slots__ = ("_placeholder", "call")

    def __init__(self, kind: str, base: str, context: ItemContext) -> None:
        super().__init__(kind, base, context)
        context.count_call()
        self.call = self._new_call()
        self._placeholder = ""

    def begin(self, item: JsonObject, out: list[Event]) -> None:
        self._placeholder = arguments_of(item)
        self._identify(item)
        if self.call.name and self.call.call_id:  # else its last object has what is missing
            self._start(out)

    def append(self, piece: str, out: list[Event]) -> None:
        self.call.append(piece, out)

    def complete(self, whole: JsonObject, arguments: str, out: list[Event]) -> None:
        self._identify(whole)
        self._add_rest(arguments, out)

    def end(self, item: JsonObject, out: list[Event], *, is_closed: bool = True) -> None:
        self._identify(item)
        agrees = self._add_rest(arguments_of(item) or self._placeholder, out)
        self._start(out)
        cut = None
        if not is_closed or item.get("status") in CUT_STATUSES:
            cut = "the wire ended this call before it was whole"
        elif not agrees:
            cut = "the wire closed this call with other arguments than it streamed"
            out.append(Violation("arguments_mismatch", cut))
        fault = self.call.decide(out, cut=cut)
        if fault and cut is None:
            self.context.faults.append(fault)
        self._keep_beside(item, out)
        self.keep_leftovers(item, out)

    def _keep_beside(self, item: JsonObject, out: list[Event]) -> None:
        """A gateway in front of Gemini puts the signature that must go back with a call where the chat wire has it."""
        if not (extra := object_field(item, "extra_content")):
            return
        if signature := string_field(object_field(extra, "google"), "thought_signature"):
            out.append(ReasoningSignature(signature, self.base))
        else:
            out.append(ProviderEvent(self.kind, {"extra_content": extra}, self.base))

    def abandon(self, reason: str, out: list[Event]) -> None:
        self._start(out)
        self.call.decide(out, cut=reason)

    def _new_call(self) -> OpenCall:
        kind: ToolKind = "custom" if self.kind == "custom_tool_call" else "function"
        return OpenCall(self.context.ids, self.context.limits, part_id=self.base, kind=kind)

    def _identify(self, item: JsonObject) -> None:
        if not self.call.is_started:
            self.call.call_id = self.call.call_id or string_field(item, "call_id")
            self.call.name = self.call.name or string_field(item, "name")

    def _start(self, out: list[Event]) -> None:
        call = self.call
        if not call.is_started:
            call.call_id = call.call_id or self.wire_id
            call.start(out)
            self.context.call_names[call.call_id] = call.name

    def _add_rest(self, arguments: str, out: list[Event]) -> bool:
        """Add what is missing of all arguments; tell whether they go on from what was streamed."""
        streamed = self.call.text
        if not arguments.startswith(streamed):
            if self.call.is_started or not arguments:
                return not arguments or _is_same_json(arguments, streamed)
            # Nothing was sent on: the stream began inside the call, and here is all of it.
            call, self.call = self.call, self._new_call()
            self.call.call_id, self.call.name, streamed = call.call_id, call.name, ""
        self.call.append(arguments[len(streamed) :], out)
        return True


def objects_in(value: JsonValue) -> Iterator[JsonObject]:
    """The objects of a list; nothing where it is none."""
    return (entry for entry in value if isinstance(entry, dict)) if isinstance(value, list) else iter(())


def compact_json(value: JsonValue) -> str:
    """A value as JSON without blanks; a text is taken as it is, null as nothing."""
    return "" if value is None else value if isinstance(value, str) else to_json(value).decode()


def arguments_of(item: JsonObject) -> str:
    """The arguments of a call in its whole object: JSON for a function, free text for a custom tool."""
    return compact_json(item.get("arguments")) or compact_json(item.get("input"))


def _is_same_json(one: str, other: str) -> bool:
    try:
        return bool(from_json(one) == from_json(other))
    except ValueError:
        return False
