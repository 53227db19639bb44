"""The items that a Responses stream is made of, on their way out: each is added, filled and done, and then kept whole.

This wire says everything again: a text when its part is done, once more when its item is, and once more in the final
response. So what was sent is kept, in pieces, under the encoder's limits.

Messages and reasoning are made of parts; what a part is called in each of its events is a row of a table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from pydantic import JsonValue

from rxstream.encoders.frames import json_bytes
from rxstream.encoders.openai_chat_parts import call_signature
from rxstream.encoders.openai_responses_frames import NumberedFrames
from rxstream.encoders.outgoing_call import OutgoingCall
from rxstream.events import SignatureKind
from rxstream.providers.sealed_reasoning import seal
from rxstream.response.pieces import Budget, Pieces

__all__ = (
    "REFUSAL",
    "SUMMARY",
    "TEXT",
    "CallItem",
    "Item",
    "ItemStatus",
    "MessageItem",
    "ReasoningItem",
    "SpeakingItem",
    "Speech",
)

ItemStatus = Literal["completed", "incomplete"]


@dataclass(frozen=True, slots=True)
class Speech:
    """One kind of text.

    Args:
        part_event: what the events of its parts begin with.
        text_event: what the events of its text begin with.
        number: the key that numbers its parts within an item.
        part: the type of its part.
        key: the key of its text, there and where it is done.
        has_logprobs: whether it has fields for log probabilities, and for annotations.
    """

    part_event: str
    text_event: str
    number: str
    part: str
    key: str = "text"
    has_logprobs: bool = False


TEXT: Final = Speech("response.content_part", "response.output_text", "content_index", "output_text", has_logprobs=True)
REFUSAL: Final = Speech("response.content_part", "response.refusal", "content_index", "refusal", "refusal")
SUMMARY: Final = Speech(
    "response.reasoning_summary_part", "response.reasoning_summary_text", "summary_index", "summary_text"
)


class Item:
    """One item.

    Args:
        frames: where its events go.
        item_id: its id.
        index: its place in the response's output.
    """

    __slots__ = ("_frames", "index", "item_id")

    def __init__(self, frames: NumberedFrames, item_id: str, index: int) -> None:
        self._frames = frames
        self.item_id = item_id
        self.index = index

    def whole(self, status: str) -> dict[str, JsonValue]:
        """The item, as far as it has come."""
        raise NotImplementedError

    def begin(self) -> None:
        """Add it. Nothing is in it yet."""
        self._frames.write("response.output_item.added", output_index=self.index, item=self.whole("in_progress"))

    def end(self, status: ItemStatus) -> dict[str, JsonValue]:
        """It is done. Returns it, as the final response repeats it."""
        item = self.whole(status)
        self._frames.write("response.output_item.done", output_index=self.index, item=item)
        return item

    @property
    def _place(self) -> dict[str, JsonValue]:
        return {"item_id": self.item_id, "output_index": self.index}


class _Part:
    """One part of an item."""

    __slots__ = ("annotations", "part_id", "pieces", "speech")

    def __init__(self, speech: Speech, part_id: str) -> None:
        self.speech = speech
        self.part_id = part_id
        self.pieces = Pieces()
        self.annotations: list[JsonValue] = []  # bounded by the encoder: max_kept_events

    def whole(self) -> dict[str, JsonValue]:
        part: dict[str, JsonValue] = {"type": self.speech.part, self.speech.key: self.pieces.text}
        if self.speech.has_logprobs:
            return part | {"annotations": [*self.annotations], "logprobs": []}
        return part


class SpeakingItem(Item):
    """An item that is made of text. One part of it is open at a time."""

    __slots__ = ("_delta", "_head", "_tail", "open", "parts")

    def __init__(self, frames: NumberedFrames, item_id: str, index: int) -> None:
        super().__init__(frames, item_id, index)
        self.parts: list[_Part] = []  # bounded by the encoder: max_kept_events
        self.open: _Part | None = None
        self._delta = self._head = self._tail = b""

    def is_at(self, speech: Speech, part_id: str) -> bool:
        """Whether a piece goes on in the part that is open."""
        part = self.open
        return part is not None and part.part_id == part_id and part.speech is speech

    def enter(self, speech: Speech, part_id: str) -> None:
        """Open a new part."""
        self.leave()
        self.open = _Part(speech, part_id)
        self.parts.append(self.open)
        self._frames.write(f"{speech.part_event}.added", **self._part_place, part=self.open.whole())
        # What every piece of this part has in common is written once.
        self._delta = f"{speech.text_event}.delta".encode()
        self._head = json_bytes(self._part_place)[1:-1]
        self._tail = b',"logprobs":[]' if speech.has_logprobs else b""

    def say(self, text: str, budget: Budget, logprobs: list[JsonValue] | None = None) -> None:
        """Add a piece to the open part.

        Raises:
            LimitError: the budget is used up.
        """
        assert self.open is not None
        budget.add(self.open.pieces, text)
        tail = b',"logprobs":%b' % json_bytes(logprobs) if logprobs and self._tail else self._tail
        self._frames.write_delta(self._delta, self._head, text, tail)

    def leave(self) -> None:
        """The open part is done."""
        part, place = self.open, self._part_place
        if part is None:
            return
        self.open = None
        speech, text = part.speech, part.pieces.text
        more: dict[str, JsonValue] = {"logprobs": []} if speech.has_logprobs else {}
        self._frames.write(f"{speech.text_event}.done", **place, **{speech.key: text}, **more)
        self._frames.write(f"{speech.part_event}.done", **place, part=part.whole())

    def end(self, status: ItemStatus) -> dict[str, JsonValue]:
        self.leave()
        return super().end(status)

    @property
    def _part_place(self) -> dict[str, JsonValue]:
        number = self.parts[-1].speech.number if self.parts else TEXT.number
        return {**self._place, number: len(self.parts) - 1}


class MessageItem(SpeakingItem):
    """What the model says to the user. Its audio goes out piece by piece and is not repeated."""

    __slots__ = ("_has_audio",)

    def __init__(self, frames: NumberedFrames, item_id: str, index: int) -> None:
        super().__init__(frames, item_id, index)
        self._has_audio = False

    def sound(self, data: str) -> None:
        """Add a piece of audio, as base64."""
        self._has_audio = True
        self._frames.write("response.audio.delta", **self._place, delta=data)

    def end(self, status: ItemStatus) -> dict[str, JsonValue]:
        if self._has_audio:
            self._frames.write("response.audio.done", **self._place)
        return super().end(status)

    def annotate(self, annotation: JsonValue) -> None:
        """Add an annotation of the open part, which is one of text."""
        assert self.open is not None
        number = len(self.open.annotations)
        self.open.annotations.append(annotation)
        self._frames.write(
            "response.output_text.annotation.added",
            **self._part_place,
            annotation_index=number,
            annotation=annotation,
        )

    def whole(self, status: str) -> dict[str, JsonValue]:
        return {
            "type": "message",
            "id": self.item_id,
            "status": status,
            "role": "assistant",
            "content": [part.whole() for part in self.parts],
        }


class ReasoningItem(SpeakingItem):
    """What the model thinks, as the summary that every client of this wire shows; and what must go back with it.

    Attributes:
        kind: of what must go back; None while nothing must. An item has place for one, and it is that item's own.
        part_id: the part that it was signed for.
    """

    __slots__ = ("_signature", "kind", "part_id")

    def __init__(self, frames: NumberedFrames, item_id: str, index: int) -> None:
        super().__init__(frames, item_id, index)
        self.kind: SignatureKind | None = None
        self.part_id: str | None = None
        self._signature = Pieces()

    def may_be_signed(self, kind: SignatureKind, part_id: str) -> bool:
        """Whether a piece of what must go back belongs here: to a part of this item, or to what is signed already."""
        if self.kind is not None:
            return (self.kind, self.part_id) == (kind, part_id)
        return any(part.part_id == part_id for part in self.parts)

    def sign(self, kind: SignatureKind, part_id: str, data: str, budget: Budget) -> None:
        """Add to what must go back.

        Raises:
            LimitError: the budget is used up.
        """
        self.kind, self.part_id = kind, part_id
        budget.add(self._signature, data)

    def whole(self, status: str) -> dict[str, JsonValue]:
        item: dict[str, JsonValue] = {
            "type": "reasoning",
            "id": self.item_id,
            "status": status,
            "summary": [part.whole() for part in self.parts],
        }
        return item if self.kind is None else item | {"encrypted_content": seal(self.kind, self._signature.text)}


class CallItem(Item):
    """A call of the client's tool."""

    __slots__ = ("_head", "_key", "_kind", "_pieces", "_signature", "call", "is_closed")

    def __init__(self, frames: NumberedFrames, item_id: str, index: int, call: OutgoingCall) -> None:
        super().__init__(frames, item_id, index)
        self.call = call
        self.is_closed = False
        is_custom = call.kind == "custom"
        self._key = "input" if is_custom else "arguments"
        self._kind = "custom_tool_call_input" if is_custom else "function_call_arguments"
        self._head = json_bytes(self._place)[1:-1]
        self._pieces = Pieces()
        self._signature = ""

    def add(self, text: str, budget: Budget) -> None:
        """Add a piece of the arguments.

        Raises:
            LimitError: the budget is used up.
        """
        if text:
            budget.add(self._pieces, text)
            self._frames.write_delta(f"response.{self._kind}.delta".encode(), self._head, text)

    def close(self) -> None:
        """There are no more arguments. The item itself ends when it is known that nothing goes with it any more."""
        self.is_closed = True
        name: dict[str, JsonValue] = {} if self._key == "input" else {"name": self.call.name}
        self._frames.write(f"response.{self._kind}.done", **self._place, **name, **{self._key: self._pieces.text})

    def sign(self, data: str) -> None:
        """Keep what must go back with the call."""
        self._signature += data

    def whole(self, status: str) -> dict[str, JsonValue]:
        item: dict[str, JsonValue] = {
            "type": "custom_tool_call" if self._key == "input" else "function_call",
            "id": self.item_id,
            "status": status,
            "call_id": self.call.call_id,
            "name": self.call.name,
            self._key: self._pieces.text,
        }
        return item | call_signature(self._signature) if self._signature else item
