"""The Responses stream, OpenAI's and Open Responses': payloads to events.

    created, in_progress, (output_item.added, ..., output_item.done)*, completed | incomplete | failed, [DONE]?

What a payload is, its JSON `type` says; the event name of its frame counts only where that is missing. What the events
of the content do is a table in `openai_responses_events`, which item each means in `_table`, what the items are in
`_items` and `_server`, how it ends in `_terminal`; here is the order of messages:

- A stream may hold several, one after the other. Content that stands outside of one is kept raw, never added.
- Only a terminal event ends a message; `[DONE]`, which OpenAI does not send, only ends the stream.
- A call becomes a `ToolCall` where its item is done, or where the terminal event repeats it as completed.
- A stream that a client asked for again (`starting_after`) begins in the middle: what was told before is not repeated.

Sources: OpenAI's published schema of `ResponseStreamEvent`; openresponses.org; docs/decisions/002.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rxstream.errors import DecodeError, TruncatedStreamError
from rxstream.events import Event, FinishReason, ProviderEvent, ResponseFinal, ResponseStart, Violation
from rxstream.framing.frames import Payload
from rxstream.limits import DEFAULT_LIMITS, Limits
from rxstream.providers.fields import JsonObject, WrongTypeError, leftovers, object_field, string_field, whole_number
from rxstream.providers.http_errors import error_from_object, is_error_object
from rxstream.providers.openai_responses_events import CONTENT_HANDLERS
from rxstream.providers.openai_responses_items import ItemContext
from rxstream.providers.openai_responses_table import ItemTable
from rxstream.providers.openai_responses_terminal import TERMINALS, final_of, finish_of, status_of, take_usage
from rxstream.providers.payloads import (
    event_name,
    guarded,
    is_end_marker,
    is_keep_alive,
    payload_data,
    payload_text,
    read_object,
)

__all__ = ("OpenAIResponsesDecoder",)


STARTS: Final = frozenset({"response.created", "response.queued", "response.in_progress"})
"""Events that hold the response before it has content."""

ERROR_STATUSES: Final[Mapping[str, int]] = {
    "invalid_request": 400,
    "not_found": 404,
    "too_many_requests": 429,
    "server_error": 500,
    "model_error": 500,
}
"""The status that each error type of Open Responses has where it is sent as a response."""

TERMINAL_KEYS: Final = frozenset({"type", "response", "sequence_number"})

NO_START: Final = "the first response has no start"

SIGNS_OF_LIFE: Final = frozenset({"keepalive", "ping", "heartbeat"})


class _WrongOrderError(Exception):
    """A payload that cannot stand where it stands."""


class OpenAIResponsesDecoder:
    """Decode one stream of the wire `openai-responses`.

    Args:
        limits: `max_arguments_bytes` bounds the arguments of a call, `max_tool_calls` their number, `max_kept_events`
            the items of a message and their parts, `max_json_depth` the nesting of a payload.
    """

    __slots__ = (
        "_context",
        "_has_model",
        "_is_broken",
        "_is_open",
        "_items",
        "_limits",
        "_message_count",
        "_response_id",
        "done",
    )

    def __init__(self, *, limits: Limits | None = None) -> None:
        self.done = False
        self._limits = limits or DEFAULT_LIMITS
        self._context = ItemContext(self._limits)
        self._items = ItemTable(self._context)
        self._is_open = False  # a message began and has not ended
        self._is_broken = False  # a message was left without its end
        self._message_count = 0
        self._response_id: str | None = None
        self._has_model = False

    def decode(self, payload: Payload, out: list[Event]) -> None:
        """Append to `out` what `payload` means; see `Decoder`."""
        items = self._items
        lane = items.lane
        if lane is not None:
            try:
                delta = lane.read(payload)
                goes_on = (
                    delta.get("item_id") == lane.item_id
                    and delta.get("output_index") == lane.output_index
                    and delta.get(lane.index_key) == lane.index
                )
            except ValueError:
                goes_on = False
            if goes_on:
                if (piece := lane.piece) is not None:
                    out.append(piece(delta["delta"], lane.part_id))
                elif lane.call is not None:
                    lane.call.append(delta["delta"], out)
                return
            items.lane = None
        self._decode_any(payload, out)

    def close(self, out: list[Event]) -> None:
        """The bytes ended; see `Decoder`."""
        self.abort(out)
        if self._is_broken:
            raise TruncatedStreamError()
        if not self._message_count:
            raise TruncatedStreamError("the stream ended without its end signal: the answer was empty")

    def abort(self, out: list[Event]) -> None:
        """The stream fails from outside; see `Decoder`."""
        if self._is_open:
            self._break_off("the stream ended before the call did", out)

    # ------------------------------------------------------------------ any payload

    def _decode_any(self, payload: Payload, out: list[Event]) -> None:
        if (event := self._read(payload)) is not None:
            guarded(payload, (WrongTypeError, _WrongOrderError), self._dispatch, event, payload, out)

    def _read(self, payload: Payload) -> JsonObject | None:
        """A payload's object; None where it is a sign of life or the end marker."""
        try:
            return read_object(payload, self._limits.max_json_depth)
        except DecodeError as error:
            problem: DecodeError = error
        if is_end_marker(payload):
            self.done = True
        elif event_name(payload) == "error":
            return {"type": "error", "message": payload_text(payload)}
        elif not is_keep_alive(payload):
            raise problem
        return None

    def _dispatch(self, event: JsonObject, payload: Payload, out: list[Event]) -> None:
        kind = event.get("type")
        if not isinstance(kind, str) or not kind:
            kind, event = _name_untyped(event, payload)
        content = CONTENT_HANDLERS.get(kind)
        if content is not None:
            if self._is_open or self._may_open(kind, event, out):
                content(self._items, event, out)
        elif kind in STARTS:
            self._start(kind, event, out)
        elif kind in TERMINALS:
            self._end(kind, event, payload, out)
        elif _tells_error(kind, event):
            self.abort(out)
            raise error_from_object(event, status=_error_status(event), detail=payload_data(payload))
        elif kind not in SIGNS_OF_LIFE:
            out.append(ProviderEvent(kind or "event", event))

    # ------------------------------------------------------------------ messages

    def _start(self, kind: str, event: JsonObject, out: list[Event]) -> None:
        response = object_field(event, "response")
        response_id = string_field(response, "id") or None
        if not self._is_open:
            is_late = kind != "response.created" and bool(self._message_count) and response_id == self._response_id
            if not is_late:  # else it tells once more of a response that has ended
                self._open(response, out)
            return
        if kind == "response.created" and None not in (response_id, self._response_id):
            self._check_same(response_id, out)
        self._name(response, out)

    def _check_same(self, response_id: str | None, out: list[Event]) -> None:
        if response_id != self._response_id:
            self._break_off("another response began before the call ended", out)
            raise _WrongOrderError("a response began while another one was open")

    def _name(self, response: JsonObject, out: list[Event]) -> None:
        """Tell whose the open message is, where that was not said at its start."""
        response_id, model = string_field(response, "id") or None, string_field(response, "model") or None
        says_more = (self._response_id is None and response_id is not None) or (
            not self._has_model and model is not None
        )
        if says_more:
            self._response_id = self._response_id or response_id
            self._has_model = self._has_model or model is not None
            out.append(ResponseStart(self._response_id, model))

    def _open(self, response: JsonObject, out: list[Event]) -> None:
        self._response_id = string_field(response, "id") or None
        self._has_model = bool(string_field(response, "model"))
        self._context.begin_message(self._response_id)
        self._items.begin_message(self._message_count)
        self._is_open = True
        self._message_count += 1
        out.append(_start_event(response))

    def _may_open(self, kind: str, event: JsonObject, out: list[Event]) -> bool:
        """Whether content may begin a message. The first may lack its start; later, what stands outside is kept raw."""
        if self._message_count:
            self._keep_outside(kind, event, out)
            return False
        number = whole_number(event.get("sequence_number")) or 0
        told = f"the stream begins at event {number} of its response" if number > 0 else NO_START
        out.append(Violation("response_not_started", told))
        self._open({}, out)
        self._items.is_resumed = number > 0
        return True

    def _end(self, kind: str, event: JsonObject, payload: Payload, out: list[Event]) -> None:
        """Read a terminal event: it repeats the answer, and it alone tells of usage and finish."""
        response = object_field(event, "response")
        if not self._is_open:
            if self._message_count:
                self._keep_outside(kind, event, out)
                return
            out.append(Violation("response_not_started", NO_START))
            self._open(response, out)
        self._name(response, out)
        has_failed = status_of(kind, response) == "failed"
        final = None if has_failed else self._settle(kind, response, out)
        self._items.abandon("the response failed before the call ended", out)
        self._is_open = False
        take_usage(response, out)
        if rest := leftovers(event, TERMINAL_KEYS):
            out.append(ProviderEvent(kind, rest))
        finish = finish_of(kind, response, self._context)
        self._tell_faults(finish.finish_reason, out)
        out.extend(event for event in (final, finish) if event is not None)
        if has_failed and (error := response.get("error")):
            raise error_from_object({"error": error}, detail=payload_data(payload))

    def _settle(self, kind: str, response: JsonObject, out: list[Event]) -> ResponseFinal | None:
        """Take from the response inside the terminal event what the stream left out."""
        items, output = self._items, response.get("output")
        is_complete = status_of(kind, response) == "completed"
        settled = items.settle(output, out, is_complete=is_complete)
        is_whole = not items.is_resumed and (bool(output) or not items)
        count = items.abandon("the response ended before the call did", out)
        if count and is_complete:
            out.append(Violation("item_not_done", "a response was completed before its items were done", count))
        return final_of(response, settled, is_whole=is_whole)

    def _tell_faults(self, reason: FinishReason, out: list[Event]) -> None:
        faults = self._context.faults
        # A call that is cut at the answer's limit breaks no rule, although its item was done.
        if faults and reason != "length":
            message = f"a finished tool call cannot run: {faults[0]}"
            out.append(Violation("invalid_tool_call", message, len(faults)))

    def _keep_outside(self, kind: str, event: JsonObject, out: list[Event]) -> None:
        out.append(Violation("content_outside_message", f"{kind} outside of a response"))
        out.append(ProviderEvent(kind, event))

    def _break_off(self, reason: str, out: list[Event]) -> None:
        """Leave the open message as it is: its calls are cut."""
        self._is_open = False
        self._is_broken = True
        self._items.abandon(reason, out)


def _start_event(response: JsonObject) -> ResponseStart:
    return ResponseStart(string_field(response, "id") or None, string_field(response, "model") or None)


def _name_untyped(event: JsonObject, payload: Payload) -> tuple[str, JsonObject]:
    """What an object without a type is, and the event that it stands for."""
    name = event_name(payload)
    if not name and event.get("object") == "response":  # a server that does not stream: the answer itself
        name, event = f"response.{string_field(event, 'status')}", {"response": event}
    elif not name and is_error_object(event):
        name = "error"
    return name, {**event, "type": name}


def _tells_error(kind: str, event: JsonObject) -> bool:
    return kind == "error" or (kind.endswith("error") and bool(event.get("error")))


def _error_status(event: JsonObject) -> int | None:
    error = event.get("error")
    kind = error.get("type") if isinstance(error, dict) else None
    return ERROR_STATUSES.get(kind) if isinstance(kind, str) else None
