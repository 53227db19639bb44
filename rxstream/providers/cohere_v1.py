"""Cohere's chat API of version 1: payloads to events. A payload is one line of JSON, or one server-sent event.

    stream-start, (text-generation | citation-generation | search-... )*, (tool-calls-chunk*, tool-calls-generation)?,
    stream-end

What a payload is, its `event_type` says. Chunks of a call are a preview: `tool-calls-generation` has every call whole,
and closes those that were streamed where it says the same. `stream-end` is the end signal, and repeats the answer.

Source: Cohere's published types of the v1 stream.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NoReturn

from pydantic import JsonValue
from pydantic_core import from_json, to_json

from rxstream.errors import TruncatedStreamError
from rxstream.events import (
    Annotation,
    Event,
    Finish,
    ProviderEvent,
    ReasoningDelta,
    ResponseFinal,
    ResponseStart,
    TextDelta,
    UsageUpdate,
)
from rxstream.framing.frames import Payload
from rxstream.limits import DEFAULT_LIMITS, Limits
from rxstream.providers.cohere_facts import cohere_finish, cohere_usage, is_cohere_error
from rxstream.providers.fields import (
    JsonObject,
    WrongTypeError,
    leftovers,
    object_field,
    objects_in,
    string_field,
    whole_number,
)
from rxstream.providers.finish import reconcile_finish
from rxstream.providers.http_errors import error_from_object
from rxstream.providers.indexed_calls import IndexedCalls
from rxstream.providers.part_tracker import PartTracker
from rxstream.providers.payloads import event_name, guarded, is_keep_alive, payload_data, read_loosely, read_object

__all__ = ("CohereV1Decoder",)

EVENT_KEYS: Final = frozenset(("event_type", "is_finished", "text"))

OTHER_CALL: Final = "the event that closed the call says another one"
OPEN_CUT: Final = "the answer ended before this call did"


class CohereV1Decoder:
    """Decode one stream of the wire `cohere-v1`.

    Args:
        limits: `max_arguments_bytes`, `max_tool_calls` and `max_json_depth` bound what is kept.
    """

    __slots__ = (
        "_calls",
        "_first_piece",
        "_has_ended",
        "_has_plan",
        "_has_started",
        "_is_text_open",
        "_last_piece",
        "_limits",
        "_parts",
        "_text_id",
        "done",
    )

    def __init__(self, *, limits: Limits | None = None) -> None:
        self.done = False
        self._limits = limits or DEFAULT_LIMITS
        self._parts = PartTracker(0)
        self._calls = IndexedCalls(self._limits, self._parts)
        self._text_id = ""  # the part that the last text went to
        self._is_text_open = False  # a plain piece of text only continues it
        self._first_piece = self._last_piece = ""  # of the text
        self._has_plan = False
        self._has_started = False
        self._has_ended = False

    def decode(self, payload: Payload, out: list[Event]) -> None:
        data = payload if type(payload) is bytes else payload_data(payload)
        try:
            event = from_json(data)
            text = event["text"]
            is_plain = (
                self._is_text_open
                and event["event_type"] == "text-generation"
                and (len(event) == 2 or (len(event) == 3 and "is_finished" in event))
                and type(text) is str
            )
        except (ValueError, KeyError, TypeError):
            is_plain = False
        if is_plain and text:
            self._last_piece = text
            out.append(TextDelta(text, self._text_id))
        else:
            self._decode_any(payload, out)

    def close(self, out: list[Event]) -> None:
        if self._has_ended:
            return
        self._give_up(out, "the stream ended before this call was closed")
        said = "no stream-end came" if self._has_started else "the answer was empty"
        raise TruncatedStreamError(f"the stream ended without its end signal: {said}")

    def abort(self, out: list[Event]) -> None:
        self._give_up(out, "the stream failed before this call was closed")

    # -------------------------------------------------------------- payloads

    def _decode_any(self, payload: Payload, out: list[Event]) -> None:
        if self._has_ended:
            return  # nothing counts behind the last word
        if event_name(payload) == "error":
            self._fail(read_loosely(payload), payload, out)
        elif not is_keep_alive(payload):
            event = read_object(payload, self._limits.max_json_depth)
            guarded(payload, WrongTypeError, self._dispatch, event, payload, out)

    def _dispatch(self, event: JsonObject, payload: Payload, out: list[Event]) -> None:
        kind = string_field(event, "event_type") or event_name(payload)
        handler = _HANDLERS.get(kind)
        if event.get("error") or (handler is None and is_cohere_error(event)):
            self._fail(event, payload, out)
        self._is_text_open = False
        if handler is None:
            out.append(ProviderEvent(kind, event))
            return
        self._start(event, out)
        handler(self, event, out)

    def _start(self, event: JsonObject, out: list[Event]) -> None:
        if not self._has_started:
            self._has_started = True
            response_id = string_field(event, "generation_id") or None
            self._calls.begin_message(response_id)
            out.append(ResponseStart(response_id))

    # -------------------------------------------------------------- content

    def _stream_start(self, event: JsonObject, out: list[Event]) -> None:
        """Read already: whatever comes first begins the answer."""

    def _text(self, event: JsonObject, out: list[Event]) -> None:
        if text := string_field(event, "text"):
            self._text_id = self._parts.enter("text")
            self._first_piece, self._last_piece = self._first_piece or text, text
            self._is_text_open = True
            out.append(TextDelta(text, self._text_id))
        if rest := leftovers(event, EVENT_KEYS):
            out.append(ProviderEvent("text-generation", rest, self._text_id))

    def _plan(self, text: str, out: list[Event]) -> None:
        if text:
            self._has_plan = True
            out.append(ReasoningDelta(text, self._parts.enter("reasoning")))

    def _cite(self, event: JsonObject, out: list[Event]) -> None:
        for citation in objects_in(event.get("citations"), "citations"):
            out.append(Annotation("citation", citation, self._text_id))

    def _keep(self, event: JsonObject, out: list[Event]) -> None:
        out.append(ProviderEvent(string_field(event, "event_type"), event))

    def _ignore(self, event: JsonObject, out: list[Event]) -> None:
        """An event that says nothing of the answer."""

    # -------------------------------------------------------------- calls

    def _call_chunk(self, event: JsonObject, out: list[Event]) -> None:
        """A piece of the plan, or of a call: its name comes first, then its parameters as text."""
        self._plan(string_field(event, "text"), out)
        delta = object_field(event, "tool_call_delta")
        if not delta:
            return
        self._plan(string_field(delta, "text"), out)
        index, name = whole_number(delta.get("index")), string_field(delta, "name")
        call = self._calls.find(index)
        if call is None or (name and call.name and name != call.name):
            call = self._calls.start(index, "", name, out)
        call.append(string_field(delta, "parameters"), out)

    def _calls_whole(self, event: JsonObject, out: list[Event]) -> None:
        if not self._has_plan:
            self._plan(string_field(event, "text"), out)
        for index, entry in enumerate(objects_in(event.get("tool_calls"), "tool_calls")):
            name, parameters = string_field(entry, "name"), entry.get("parameters")
            call = self._calls.find(index)
            if call is not None and not call.name:
                call.name = name
            is_same = call is None or (call.name == name and _says(call.text, parameters))
            if call is None:
                self._calls.start(index, "", name, out).append(_text_of(parameters), out)
            self._calls.close(index, out, cut=None if is_same else OTHER_CALL)

    # -------------------------------------------------------------- the end

    def _stream_end(self, event: JsonObject, out: list[Event]) -> None:
        response = object_field(event, "response")
        if self._calls.find(None) is not None or not self._calls.count:
            self._calls_whole({"tool_calls": response.get("tool_calls"), "text": None}, out)
        usage = object_field(response, "meta")
        if usage:
            out.append(UsageUpdate(cohere_usage(usage)))
        if response:
            out.append(ResponseFinal(response, self._final_text(response)))
        raw = string_field(event, "finish_reason") or string_field(response, "finish_reason")
        self._calls.abandon(OPEN_CUT, out)
        reason = cohere_finish(raw)
        if reason is None:
            return  # an end that does not say why is none
        self._calls.tell_faults(reason, out)
        out.append(Finish(reconcile_finish(reason, has_calls=self._calls.count > 0), raw))
        self._has_ended = self.done = True

    def _final_text(self, response: JsonObject) -> str | None:
        """The whole text, where it is the text that was streamed: not a plan, and not trimmed."""
        text = response.get("text")
        if not isinstance(text, str) or self._calls.count:
            return None
        return None if self._first_piece[:1].isspace() or self._last_piece[-1:].isspace() else text

    def _give_up(self, out: list[Event], why: str) -> None:
        """What must not be lost: calls that will never close, as such."""
        if not self._has_ended:
            self._has_ended = True
            self._is_text_open = False
            self._calls.abandon(why, out)

    def _fail(self, error: JsonValue, payload: Payload, out: list[Event]) -> NoReturn:
        self._give_up(out, "the provider failed before this call was closed")
        raise error_from_object(error, detail=payload_data(payload))


def _text_of(parameters: JsonValue) -> str:
    return parameters if isinstance(parameters, str) else to_json({} if parameters is None else parameters).decode()


def _says(text: str, parameters: JsonValue) -> bool:
    """Whether a call's text is the object that closes it; none at all is an empty one."""
    try:
        return text == parameters or (from_json(text) if text.strip() else {}) == (parameters or {})
    except ValueError:
        return False


_HANDLERS: Final[Mapping[str, Callable[[CohereV1Decoder, JsonObject, list[Event]], None]]] = {
    "stream-start": CohereV1Decoder._stream_start,
    "text-generation": CohereV1Decoder._text,
    "citation-generation": CohereV1Decoder._cite,
    "search-queries-generation": CohereV1Decoder._keep,
    "search-results": CohereV1Decoder._keep,
    "tool-calls-chunk": CohereV1Decoder._call_chunk,
    "tool-calls-generation": CohereV1Decoder._calls_whole,
    "stream-end": CohereV1Decoder._stream_end,
    "debug": CohereV1Decoder._ignore,
}
