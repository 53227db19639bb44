"""Gemini's Interactions API: payloads to events.

    interaction.created, interaction.status_update, (step.start, step.delta*, step.stop)*, interaction.completed, [DONE]

What a payload is, its `event_type` says. A step is a thought, output of the model, a call of the client's or of the
provider's own tool, or the result of one. Its deltas have types of their own; a delta that nobody knows is kept raw.
`interaction.completed` is the end signal: its status is the finish, held until the stream has ended behind it.

Earlier revisions call the events `interaction.start`, `content.*` and `interaction.complete`, and a step `content`.

Source: Google's published types of the Interactions API, and its documentation of streaming.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NoReturn

from pydantic import JsonValue
from pydantic_core import to_json

from rxstream.errors import LimitError, TruncatedStreamError
from rxstream.events import (
    Annotation,
    Event,
    Finish,
    FinishReason,
    MediaDelta,
    ProviderEvent,
    ReasoningDelta,
    ReasoningSignature,
    ResponseStart,
    ServerToolCall,
    ServerToolResult,
    TextDelta,
    Usage,
    UsageUpdate,
)
from rxstream.framing.frames import Payload
from rxstream.limits import DEFAULT_LIMITS, Limits
from rxstream.providers.fields import (
    JsonObject,
    WrongTypeError,
    object_field,
    objects_in,
    string_field,
    whole_number,
)
from rxstream.providers.finish import FINISH_REASONS, normalize_finish, reconcile_finish
from rxstream.providers.http_errors import error_from_object, is_error_object
from rxstream.providers.indexed_calls import IndexedCalls
from rxstream.providers.part_tracker import PartTracker
from rxstream.providers.payloads import (
    event_name,
    guarded,
    is_end_marker,
    is_keep_alive,
    payload_data,
    read_loosely,
    read_object,
)

__all__ = ("GeminiInteractionsDecoder",)


REASONS: Final[Mapping[str, FinishReason]] = MappingProxyType({**FINISH_REASONS, "requires_action": "tool_calls"})
"""The status of an interaction. `incomplete` and `cancelled` do not say why: `other`, and no completed answer."""

CALL: Final = "function_call"
TOOL_ENDINGS: Final = ("_call", "_result")
"""How the types of steps end that are tools: those of the provider come without notice."""


class GeminiInteractionsDecoder:
    """Decode one stream of the wire `gemini-interactions`.

    Args:
        limits: `max_arguments_bytes`, `max_tool_calls` and `max_json_depth` bound what is kept.
    """

    __slots__ = ("_calls", "_finish", "_has_ended", "_has_started", "_limits", "_parts", "_steps", "_usage_raw", "done")

    def __init__(self, *, limits: Limits | None = None) -> None:
        self.done = False
        self._limits = limits or DEFAULT_LIMITS
        self._parts = PartTracker(0)
        self._calls = IndexedCalls(self._limits, self._parts)
        self._steps: dict[int | None, JsonObject] = {}  # the open ones; bounded: max_tool_calls
        self._usage_raw: JsonValue = None
        self._finish: Finish | None = None
        self._has_started = False
        self._has_ended = False

    def decode(self, payload: Payload, out: list[Event]) -> None:
        if self._has_ended:
            return  # nothing counts behind the last word
        if is_end_marker(payload):
            self.done = True
            self._conclude(out)
        elif event_name(payload) == "error":
            self._fail(read_loosely(payload), payload, out)
        elif not is_keep_alive(payload):
            event = read_object(payload, self._limits.max_json_depth)
            guarded(payload, WrongTypeError, self._dispatch, event, payload, out)

    def close(self, out: list[Event]) -> None:
        if not self._has_ended:
            self._conclude(out)

    def abort(self, out: list[Event]) -> None:
        self._give_up(out, "the stream failed before this call was closed")

    def _dispatch(self, event: JsonObject, payload: Payload, out: list[Event]) -> None:
        kind = string_field(event, "event_type")
        if kind == "error" or is_error_object(event):
            self._fail(event, payload, out)
        self._take_usage(object_field(event, "metadata").get("usage"), out)
        handler = _HANDLERS.get(kind)
        if handler is None:
            out.append(ProviderEvent(kind, event))
        else:
            handler(self, event, out)

    # -------------------------------------------------------------- the interaction

    def _created(self, event: JsonObject, out: list[Event]) -> None:
        interaction = object_field(event, "interaction")
        if not self._has_started:
            self._has_started = True
            response_id = string_field(interaction, "id") or None
            self._calls.begin_message(response_id)
            out.append(ResponseStart(response_id, string_field(interaction, "model") or None))

    def _ignore(self, event: JsonObject, out: list[Event]) -> None:
        """A status on the way: it says nothing that the end does not say again."""

    def _completed(self, event: JsonObject, out: list[Event]) -> None:
        self._created(event, out)
        interaction = object_field(event, "interaction")
        self._take_usage(interaction.get("usage"), out)
        raw = string_field(interaction, "status")
        reason = normalize_finish(raw, REASONS)
        if reason is not None:
            self._finish = Finish(reason, raw)

    def _take_usage(self, raw: JsonValue, out: list[Event]) -> None:
        if isinstance(raw, dict) and raw and raw != self._usage_raw:
            self._usage_raw = raw
            out.append(UsageUpdate(_usage(raw)))

    # -------------------------------------------------------------- steps

    def _step_start(self, event: JsonObject, out: list[Event]) -> None:
        self._created({}, out)
        index = whole_number(event.get("index"))
        step = object_field(event, "step") or object_field(event, "content")
        limit = self._limits.max_tool_calls
        if index not in self._steps and len(self._steps) >= limit:
            raise LimitError("steps open at once", limit=limit, value=limit + 1, setting="max_tool_calls")
        self._steps[index] = step
        self._parts.pass_call()
        kind = string_field(step, "type")
        if kind == CALL:
            call = self._calls.start(index, string_field(step, "id"), string_field(step, "name"), out)
            self._sign(step, call.part_id, out)
        elif kind in _STARTS:
            _STARTS[kind](self, index, step, out)
        elif not kind.endswith(TOOL_ENDINGS):
            out.append(ProviderEvent(kind, step))

    def _step_delta(self, event: JsonObject, out: list[Event]) -> None:
        self._created({}, out)
        index, delta = whole_number(event.get("index")), object_field(event, "delta")
        kind = string_field(delta, "type")
        if kind in _DELTAS:
            _DELTAS[kind](self, index, delta, out)
        elif kind.endswith(TOOL_ENDINGS) and index in self._steps:
            self._steps[index] = {**self._steps[index], **delta}  # told whole when the step stops
        else:
            out.append(ProviderEvent(kind, delta))

    def _step_stop(self, event: JsonObject, out: list[Event]) -> None:
        index = whole_number(event.get("index"))
        step = self._steps.pop(index, {})
        kind = string_field(step, "type")
        if kind == CALL:
            call = self._calls.find(index)
            if call is not None and not call.has_arguments:
                call.append(_compact(step.get("arguments")), out)
            self._calls.close(index, out)
        elif kind.endswith("_call"):
            self._server_call(kind.removesuffix("_call"), step, out)
        elif kind.endswith("_result"):
            part_id, name = self._parts.enter_call(), kind.removesuffix("_result")
            out.append(ServerToolResult(string_field(step, "call_id"), name, step.get("result"), part_id))
            self._sign(step, part_id, out)
        self._parts.pass_call()

    def _server_call(self, name: str, step: JsonObject, out: list[Event]) -> None:
        part_id = self._parts.enter_call()
        arguments = step.get("arguments")
        text = None if arguments is None else _compact(arguments)
        call_id = string_field(step, "id") or self._calls.ids.new()
        out.append(ServerToolCall(call_id, name, text, part_id, raw=step))
        self._sign(step, part_id, out)

    def _sign(self, source: JsonObject, part_id: str, out: list[Event]) -> None:
        if signature := string_field(source, "signature"):
            out.append(ReasoningSignature(signature, part_id))

    # -------------------------------------------------------------- content

    def _thought(self, index: int | None, step: JsonObject, out: list[Event]) -> None:
        for item in objects_in(step.get("summary"), "summary"):
            self._summary(index, {"content": item}, out)
        self._signature(index, step, out)

    def _text(self, index: int | None, delta: JsonObject, out: list[Event]) -> None:
        if text := string_field(delta, "text"):
            out.append(TextDelta(text, self._parts.enter("text", index)))
        self._annotations(index, delta, out)

    def _annotations(self, index: int | None, delta: JsonObject, out: list[Event]) -> None:
        part_id = self._parts.part_id if self._parts.kind == "text" else ""
        for entry in objects_in(delta.get("annotations"), "annotations"):
            out.append(Annotation(string_field(entry, "type") or "annotation", entry, part_id))

    def _summary(self, index: int | None, delta: JsonObject, out: list[Event]) -> None:
        content = object_field(delta, "content")
        if text := string_field(content, "text"):
            out.append(ReasoningDelta(text, self._parts.enter("reasoning", index)))
        elif content:
            out.append(ProviderEvent("thought_summary", content))

    def _signature(self, index: int | None, delta: JsonObject, out: list[Event]) -> None:
        if string_field(delta, "signature"):
            self._sign(delta, self._parts.enter("reasoning", index), out)

    def _arguments(self, index: int | None, delta: JsonObject, out: list[Event]) -> None:
        call = self._calls.find(index)
        piece = delta.get("arguments", delta.get("partial_arguments"))
        if call is None:
            out.append(ProviderEvent("arguments_delta", delta))
        elif piece is not None:
            call.append(_compact(piece), out)

    def _media(self, index: int | None, delta: JsonObject, out: list[Event]) -> None:
        media_type, data = string_field(delta, "mime_type"), string_field(delta, "data")
        if data:
            out.append(MediaDelta(media_type, data, self._parts.enter(media_type, index)))
        elif "uri" in delta:
            out.append(ProviderEvent(string_field(delta, "type"), delta))

    # -------------------------------------------------------------- the end

    def _conclude(self, out: list[Event]) -> None:
        if self._finish is None:
            self._give_up(out, "the stream ended before this call was closed")
            said = "no interaction.completed came" if self._has_started else "the answer was empty"
            raise TruncatedStreamError(f"the stream ended without its end signal: {said}")
        self._has_ended = True
        self._calls.abandon("the interaction ended before this call did", out)
        self._calls.tell_faults(self._finish.finish_reason, out)
        self._send_finish(out)

    def _give_up(self, out: list[Event], why: str) -> None:
        """What must not be lost: calls that will never close, as such, and a finish that was seen."""
        if not self._has_ended:
            self._has_ended = True
            self._calls.abandon(why, out)
            self._send_finish(out)

    def _send_finish(self, out: list[Event]) -> None:
        if (finish := self._finish) is not None:
            reason = reconcile_finish(finish.finish_reason, has_calls=self._calls.count > 0)
            out.append(Finish(reason, finish.finish_reason_raw))

    def _fail(self, error: JsonValue, payload: Payload, out: list[Event]) -> NoReturn:
        self._give_up(out, "the provider failed before this call was closed")
        raise error_from_object(error, detail=payload_data(payload))


def _compact(value: JsonValue) -> str:
    """A value as JSON without blanks; a text is taken as JSON already."""
    return value if isinstance(value, str) else to_json({} if value is None else value).decode()


def _usage(raw: JsonObject) -> Usage:
    """Thoughts and what tools put into the prompt are counted beside output and input, not inside."""
    counts = {
        name: whole_number(raw.get(f"total_{name}_tokens")) for name in ("input", "tool_use", "output", "thought")
    }
    return Usage(
        input_tokens=_sum(counts["input"], counts["tool_use"]),
        output_tokens=_sum(counts["output"], counts["thought"]),
        total_tokens=whole_number(raw.get("total_tokens")),
        cached_input_tokens=whole_number(raw.get("total_cached_tokens")),
        reasoning_tokens=counts["thought"],
        raw=raw,
    )


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None and second is None else (first or 0) + (second or 0)


_HANDLERS: Final[Mapping[str, Callable[[GeminiInteractionsDecoder, JsonObject, list[Event]], None]]] = {
    "interaction.created": GeminiInteractionsDecoder._created,
    "interaction.start": GeminiInteractionsDecoder._created,
    "interaction.status_update": GeminiInteractionsDecoder._ignore,
    "interaction.completed": GeminiInteractionsDecoder._completed,
    "interaction.complete": GeminiInteractionsDecoder._completed,
    "step.start": GeminiInteractionsDecoder._step_start,
    "content.start": GeminiInteractionsDecoder._step_start,
    "step.delta": GeminiInteractionsDecoder._step_delta,
    "content.delta": GeminiInteractionsDecoder._step_delta,
    "step.stop": GeminiInteractionsDecoder._step_stop,
    "content.stop": GeminiInteractionsDecoder._step_stop,
}

_Reader = Callable[[GeminiInteractionsDecoder, int | None, JsonObject, list[Event]], None]

_DELTAS: Final[Mapping[str, _Reader]] = {
    "text": GeminiInteractionsDecoder._text,
    "text_annotation": GeminiInteractionsDecoder._annotations,
    "text_annotation_delta": GeminiInteractionsDecoder._annotations,
    "thought_summary": GeminiInteractionsDecoder._summary,
    "thought_signature": GeminiInteractionsDecoder._signature,
    "arguments": GeminiInteractionsDecoder._arguments,
    "arguments_delta": GeminiInteractionsDecoder._arguments,
    "image": GeminiInteractionsDecoder._media,
    "audio": GeminiInteractionsDecoder._media,
}

_STARTS: Final[Mapping[str, _Reader]] = {
    "thought": GeminiInteractionsDecoder._thought,
    "model_output": GeminiInteractionsDecoder._text,
    "text": GeminiInteractionsDecoder._text,
    "image": GeminiInteractionsDecoder._media,
    "audio": GeminiInteractionsDecoder._media,
}
"""What a step begins with may stand in its start already."""
