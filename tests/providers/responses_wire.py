"""Events of the Responses wire, written as tests say them, and whole items with their lifecycle.

An event is a dict until `wire` numbers it and writes it as the server does. An item is built as the events that bring
it and the object that the final response repeats: `Part(events, item)`; `answer` puts parts between a start and an end.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rxstream.errors import StreamError
from rxstream.events import Event, Finish, ResponseFinal, TextDelta, Violation
from rxstream.providers.openai_responses import OpenAIResponsesDecoder
from rxstream.response import Accumulator, Response
from tests.providers.decoding import Outcome, decode_sse

JsonEvent = dict[str, Any]
EventT = TypeVar("EventT")

DONE = b"data: [DONE]\n\n"
USAGE = {
    "input_tokens": 20,
    "input_tokens_details": {"cached_tokens": 4},
    "output_tokens": 9,
    "output_tokens_details": {"reasoning_tokens": 2},
    "total_tokens": 29,
}


@dataclass
class Part:
    """An item: the events that bring it, and its object in the final response."""

    events: list[JsonEvent]
    item: JsonEvent = field(default_factory=dict)


@dataclass
class Run(Outcome):
    """An outcome, with the shortcuts that tests of this wire want."""

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TextDelta))

    @property
    def finish(self) -> Finish:
        (finish,) = self.all_of(Finish)
        return finish

    @property
    def final(self) -> ResponseFinal:
        (final,) = self.all_of(ResponseFinal)
        return final

    @property
    def violations(self) -> list[str]:
        return [violation.code for violation in self.all_of(Violation)]

    @property
    def failure(self) -> StreamError:
        assert self.error is not None
        return self.error

    @property
    def response(self) -> Response:
        """The events reduced, with the checks that they agree with the final response."""
        accumulator = Accumulator()
        for event in self.events:
            accumulator.apply(event)
        return accumulator.end(self.error)

    def all_of(self, kind: type[EventT]) -> list[EventT]:
        """The events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]

    def without(self, *kinds: type[Event]) -> list[Event]:
        """The events of all other kinds."""
        return [event for event in self.events if not isinstance(event, kinds)]


def event(kind: str, **fields: Any) -> JsonEvent:
    """One event; `response.` stands before its type."""
    return {"type": f"response.{kind}", **fields}


def response(status: str | None, **fields: Any) -> JsonEvent:
    """The response inside an event."""
    return {"id": "resp_1", "object": "response", "model": "sample", "status": status, "output": [], **fields}


def created(**fields: Any) -> JsonEvent:
    return event("created", response=response("in_progress", **fields))


def ended(kind: str = "completed", output: Iterable[JsonEvent] = (), **fields: Any) -> JsonEvent:
    """The terminal event, with the response of that status."""
    body = {"error": None, "incomplete_details": None, "usage": USAGE, "output": list(output), **fields}
    return event(
        kind, response=response(fields.get("status", kind), **{k: v for k, v in body.items() if k != "status"})
    )


def added(index: int | None, item: JsonEvent) -> JsonEvent:
    return event("output_item.added", output_index=index, item=item)


def item_done(index: int | None, item: JsonEvent) -> JsonEvent:
    return event("output_item.done", output_index=index, item=item)


def delta(kind: str, index: int | None, item_id: str | None, piece: Any, **fields: Any) -> JsonEvent:
    """A delta of some kind, such as `output_text`."""
    return event(f"{kind}.delta", item_id=item_id, output_index=index, delta=piece, **fields)


def text_delta(index: int | None, item_id: str | None, piece: str, **fields: Any) -> JsonEvent:
    return delta("output_text", index, item_id, piece, **{"content_index": 0, "logprobs": [], **fields})


def message(index: int, *pieces: str, item_id: str | None = None, **fields: Any) -> Part:
    """A message of one text."""
    item_id = item_id or f"msg_{index}"
    whole, place = "".join(pieces), {"item_id": item_id, "output_index": index, "content_index": 0}
    part = {"type": "output_text", "text": whole, "annotations": []}
    item = {"type": "message", "id": item_id, "role": "assistant", "status": "completed", "content": [part], **fields}
    return Part(
        [
            added(index, {**item, "status": "in_progress", "content": []}),
            event("content_part.added", part={**part, "text": ""}, **place),
            *(text_delta(index, item_id, piece) for piece in pieces),
            event("output_text.done", text=whole, **place),
            event("content_part.done", part=part, **place),
            item_done(index, item),
        ],
        item,
    )


def reasoning(index: int, *summaries: str, encrypted: str | None = None) -> Part:
    """A reasoning item of some summary parts, each in two pieces."""
    item_id = f"rs_{index}"
    item = {
        "type": "reasoning",
        "id": item_id,
        "summary": [{"type": "summary_text", "text": text} for text in summaries],
        "encrypted_content": encrypted,
    }
    events = [added(index, {**item, "summary": []})]
    for number, text in enumerate(summaries):
        place = {"item_id": item_id, "output_index": index, "summary_index": number}
        events.append(event("reasoning_summary_part.added", part={"type": "summary_text", "text": ""}, **place))
        half = len(text) // 2
        events += [event("reasoning_summary_text.delta", delta=piece, **place) for piece in (text[:half], text[half:])]
        events.append(event("reasoning_summary_text.done", text=text, **place))
        events.append(event("reasoning_summary_part.done", part={"type": "summary_text", "text": text}, **place))
    return Part([*events, item_done(index, item)], item)


def call(index: int, call_id: str, *pieces: str, name: str = "f", **fields: Any) -> Part:
    """A function call."""
    item_id, whole = f"fc_{index}", "".join(pieces)
    item = {
        "type": "function_call",
        "id": item_id,
        "status": "completed",
        "call_id": call_id,
        "name": name,
        "arguments": whole,
        **fields,
    }
    return Part(
        [
            added(index, {**item, "status": "in_progress", "arguments": ""}),
            *(delta("function_call_arguments", index, item_id, piece) for piece in pieces),
            event("function_call_arguments.done", item_id=item_id, output_index=index, arguments=whole),
            item_done(index, item),
        ],
        item,
    )


def custom(index: int, call_id: str, *pieces: str, name: str = "g") -> Part:
    """A custom tool call."""
    item_id, whole = f"ctc_{index}", "".join(pieces)
    item = {"type": "custom_tool_call", "id": item_id, "call_id": call_id, "name": name, "input": whole}
    return Part(
        [
            added(index, {**item, "input": ""}),
            *(delta("custom_tool_call_input", index, item_id, piece) for piece in pieces),
            event("custom_tool_call_input.done", item_id=item_id, output_index=index, input=whole),
            item_done(index, item),
        ],
        item,
    )


def whole(index: int, item: JsonEvent, *between: JsonEvent) -> Part:
    """An item that is added in progress and done with all its fields, with events in between."""
    start = {"type": item["type"], "id": item.get("id"), "status": "in_progress"}
    return Part([added(index, start), *between, item_done(index, item)], item)


def events_of(*parts: Part) -> list[JsonEvent]:
    return [event for part in parts for event in part.events]


def items_of(*parts: Part) -> list[JsonEvent]:
    return [part.item for part in parts]


def answer(*parts: Part, **fields: Any) -> list[JsonEvent]:
    """The events of a whole answer of these parts."""
    return [created(), event("in_progress", response=response("in_progress")), *answered(*parts, **fields)]


def answered(*parts: Part, **fields: Any) -> list[JsonEvent]:
    """The same without its start."""
    return [*events_of(*parts), ended(**{"output": items_of(*parts), **fields})]


def wire(events: Iterable[JsonEvent], first: int = 0) -> list[bytes]:
    """Number the events and write them."""
    return [
        _frame(event if "sequence_number" in event else {**event, "sequence_number": number})
        for number, event in enumerate(events, first)
    ]


def _frame(event: JsonEvent) -> bytes:
    data = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    return f"event: {event['type']}\ndata: {data}\n\n".encode()


def read(*frames: bytes, **options: Any) -> Run:
    """Decode frames as one stream."""
    outcome = decode_sse(lambda: OpenAIResponsesDecoder(**options), frames)
    return Run(outcome.events, outcome.error)


def run(events: Iterable[JsonEvent], *tail: bytes, first: int = 0, **options: Any) -> Run:
    """Decode events as one stream, and what may stand behind them."""
    return read(*wire(events, first), *tail, **options)
