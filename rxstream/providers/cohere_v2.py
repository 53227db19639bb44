"""Cohere's chat API of version 2: payloads to events.

    message-start, (content-start, content-delta*, content-end | tool-plan-delta | tool-call-start, tool-call-delta*,
    tool-call-end | citation-start, citation-end)*, message-end, [DONE]

What a payload is, its JSON `type` says; the event name of its frame counts only where that is missing. A delta of
content has no type: which key it has tells text from thinking. `message-end` is the end signal, and its finish is held
until the stream has ended behind it: `[DONE]` may be missing.

Source: Cohere's published types of the v2 stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NoReturn

from pydantic import JsonValue
from pydantic_core import from_json

from rxstream.errors import TruncatedStreamError
from rxstream.events import (
    Annotation,
    Event,
    Finish,
    ProviderEvent,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    UsageUpdate,
    Violation,
)
from rxstream.framing.frames import Payload
from rxstream.limits import DEFAULT_LIMITS, Limits
from rxstream.providers.cohere_facts import cohere_finish, cohere_usage, is_cohere_error
from rxstream.providers.extras import Extras
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
from rxstream.providers.payloads import (
    event_name,
    guarded,
    is_end_marker,
    is_keep_alive,
    payload_data,
    read_loosely,
    read_object,
)

__all__ = ("CohereV2Decoder",)

START: Final = "message-start"

DEBUG: Final = "debug"
"""An event that repeats the prompt: it says nothing of the answer, and must not be shown with it."""

CONTENT_KEYS: Final = frozenset(("type", "text", "thinking"))
EVENT_KEYS: Final = frozenset(("type", "index", "delta", "id", "logprobs", "error"))
DELTA_KEYS: Final = frozenset(("message", "finish_reason", "usage", "error"))

PLAN: Final = "plan"
"""The key of the part that a tool plan is: content is numbered, a plan is not."""

PLAIN_EVENT_SIZE: Final = 3
"""`type`, `index` and `delta`."""

MAX_BLOCKS: Final = 1024
"""So many content blocks are remembered for the citations that name them."""

OPEN_CUT: Final = "the message ended before this call did"


class _WrongOrderError(Exception):
    """A payload that cannot stand where it stands."""


class CohereV2Decoder:
    """Decode one stream of the wire `cohere-v2`.

    Args:
        limits: `max_arguments_bytes`, `max_tool_calls` and `max_json_depth` bound what is kept.
    """

    __slots__ = (
        "_blocks",
        "_calls",
        "_extras",
        "_finish",
        "_has_ended",
        "_is_open",
        "_limits",
        "_parts",
        "_plain",
        "_response_id",
        "_text_id",
        "done",
    )

    def __init__(self, *, limits: Limits | None = None) -> None:
        self.done = False
        self._limits = limits or DEFAULT_LIMITS
        self._parts = PartTracker(0)
        self._calls = IndexedCalls(self._limits, self._parts)
        self._extras = Extras()
        self._blocks: dict[int, str] = {}  # the part of each content block; bounded: MAX_BLOCKS
        self._text_id = ""  # the part that the last text went to
        self._plain: tuple[object, str] = (None, "")  # the block that plain deltas go on, and its key
        self._response_id: str | None = None
        self._is_open = False  # a message was started and did not end
        self._finish: Finish | None = None  # of the message that ended
        self._has_ended = False

    def decode(self, payload: Payload, out: list[Event]) -> None:
        data = payload if type(payload) is bytes else payload_data(payload)
        try:
            event = from_json(data)
            delta = event["delta"]
            content = delta["message"]["content"]
            index, key = self._plain
            text = content[key]
            is_plain = (
                event["type"] == "content-delta"
                and event["index"] == index
                and len(content) == len(delta) == 1
                and len(event) == PLAIN_EVENT_SIZE
                and type(text) is str
            )
        except (ValueError, KeyError, TypeError):
            is_plain = False
        if not is_plain or not text:
            self._decode_any(payload, out)
        elif key == "text":
            out.append(TextDelta(text, self._parts.part_id))
        else:
            out.append(ReasoningDelta(text, self._parts.part_id))

    def close(self, out: list[Event]) -> None:
        if not self._has_ended:
            self._conclude(out)

    def abort(self, out: list[Event]) -> None:
        self._give_up(out, "the stream failed before this call was closed")

    # -------------------------------------------------------------- payloads

    def _decode_any(self, payload: Payload, out: list[Event]) -> None:
        if self._has_ended:
            return  # nothing counts behind the last word
        if is_end_marker(payload):
            self.done = True
            self._conclude(out)
        elif event_name(payload) == "error":
            self._fail(read_loosely(payload), payload, out)
        elif not is_keep_alive(payload):
            event = read_object(payload, self._limits.max_json_depth)
            guarded(payload, (WrongTypeError, _WrongOrderError), self._dispatch, event, payload, out)

    def _dispatch(self, event: JsonObject, payload: Payload, out: list[Event]) -> None:
        kind = string_field(event, "type") or event_name(payload)
        handler = _HANDLERS.get(kind)
        if event.get("error") or (handler is None and is_cohere_error(event)):
            self._fail(event, payload, out)
        if kind == DEBUG:
            return
        if handler is None:
            out.append(ProviderEvent(kind, event))
        elif kind == START or self._enter_message(kind, event, out):
            handler(self, event, out)
            self._keep_rest(event, out)
        if kind == "message-end" and (error := object_field(event, "delta").get("error")):
            said: JsonObject = {"error": error, "code": object_field(event, "delta").get("finish_reason")}
            self._fail(said, payload, out)

    def _keep_rest(self, event: JsonObject, out: list[Event]) -> None:
        """What stands beside the content and has no member."""
        rest = leftovers(event, EVENT_KEYS) | leftovers(object_field(event, "delta"), DELTA_KEYS)
        for key, value in rest.items():
            self._extras.offer(ProviderEvent(key, value), out)

    # -------------------------------------------------------------- messages

    def _enter_message(self, kind: str, event: JsonObject, out: list[Event]) -> bool:
        """Whether a message is open. The first may lack its start; what stands outside of one is kept raw."""
        if self._is_open:
            return True
        if self._finish is None:
            out.append(Violation("message_not_started", "the first message has no message-start"))
            self._open_message(None, out)
            return True
        out.append(Violation("content_outside_message", f"{kind} outside of a message"))
        out.append(ProviderEvent(kind, event))
        return False

    def _message_start(self, event: JsonObject, out: list[Event]) -> None:
        response_id = string_field(event, "id") or None
        if self._is_open:
            if response_id in (None, self._response_id):
                return  # proxies send a start twice
            self._give_up(out, "another message began before this call was closed")
            raise _WrongOrderError("a message began while another one was open")
        self._send_finish(out)
        self._open_message(response_id, out)
        message = object_field(object_field(event, "delta"), "message")
        if rest := leftovers(message, frozenset(("role",))):
            out.append(ProviderEvent(START, rest))

    def _open_message(self, response_id: str | None, out: list[Event]) -> None:
        self._is_open = True
        self._response_id = response_id
        self._blocks.clear()
        self._text_id = ""
        self._calls.begin_message(response_id)
        self._parts.pass_call()
        out.append(ResponseStart(response_id))

    def _message_end(self, event: JsonObject, out: list[Event]) -> None:
        delta = object_field(event, "delta")
        usage = delta.get("usage")
        if isinstance(usage, dict) and usage:
            out.append(UsageUpdate(cohere_usage(usage)))
        raw = string_field(delta, "finish_reason")
        reason = cohere_finish(raw)
        self._calls.abandon(OPEN_CUT, out)
        if reason is None:
            return  # an end that does not say why is none: the message stays open
        self._calls.tell_faults(reason, out)
        self._is_open = False
        self._plain = (None, "")
        self._finish = Finish(reconcile_finish(reason, has_calls=self._calls.count > 0), raw)

    # -------------------------------------------------------------- content

    def _content(self, event: JsonObject, out: list[Event]) -> None:
        """Read `content-start` or `content-delta`: the first may hold text already."""
        message = object_field(object_field(event, "delta"), "message")
        content = message.get("content")
        block: JsonObject = {"text": content} if isinstance(content, str) else object_field(message, "content")
        index = whole_number(event.get("index"))
        if thinking := string_field(block, "thinking"):
            part_id = self._enter("reasoning", index)
            out.append(ReasoningDelta(thinking, part_id))
            self._plain = (index, "thinking")
        text, logprobs = string_field(block, "text"), event.get("logprobs")
        if text or logprobs:
            part_id = self._text_id = self._enter("text", index)
            out.append(TextDelta(text, part_id, logprobs=[logprobs] if logprobs else None))
            self._plain = (index, "text")
        if rest := leftovers(block, CONTENT_KEYS):
            out.append(ProviderEvent(string_field(event, "type"), {**rest, "type": block.get("type")}))

    def _enter(self, kind: str, index: int | None) -> str:
        part_id = self._parts.enter(kind, index)
        if index is not None and len(self._blocks) < MAX_BLOCKS:
            self._blocks[index] = part_id
        return part_id

    def _leave(self) -> None:
        """What comes next is not joined with what is open."""
        self._plain = (None, "")
        self._parts.pass_call()

    def _content_end(self, event: JsonObject, out: list[Event]) -> None:
        self._leave()

    def _tool_plan(self, event: JsonObject, out: list[Event]) -> None:
        message = object_field(object_field(event, "delta"), "message")
        if plan := string_field(message, "tool_plan"):
            self._plain = (None, "")
            out.append(ReasoningDelta(plan, self._parts.enter("reasoning", PLAN)))

    def _cite(self, event: JsonObject, out: list[Event]) -> None:
        message = object_field(object_field(event, "delta"), "message")
        for citation in objects_in(message.get("citations"), "citations"):
            block = whole_number(citation.get("content_index"))
            part_id = self._text_id if block is None else self._blocks.get(block, self._text_id)
            out.append(Annotation("citation", citation, part_id))

    def _ignore(self, event: JsonObject, out: list[Event]) -> None:
        """An event that says nothing of the answer."""

    # -------------------------------------------------------------- calls

    def _call_start(self, event: JsonObject, out: list[Event]) -> None:
        self._leave()
        for entry in _calls_of(event):
            function = object_field(entry, "function")
            name, index = string_field(function, "name"), whole_number(event.get("index"))
            call = self._calls.start(index, string_field(entry, "id"), name, out)
            call.append(string_field(function, "arguments"), out)

    def _call_delta(self, event: JsonObject, out: list[Event]) -> None:
        call = self._calls.find(whole_number(event.get("index")))
        if call is None:
            self._lost_call(event, out)
            return
        for entry in _calls_of(event):
            call.append(string_field(object_field(entry, "function"), "arguments"), out)

    def _call_end(self, event: JsonObject, out: list[Event]) -> None:
        if not self._calls.close(whole_number(event.get("index")), out):
            self._lost_call(event, out)

    def _lost_call(self, event: JsonObject, out: list[Event]) -> None:
        kind = string_field(event, "type")
        out.append(Violation("call_not_open", f"{kind} of a call that is not open"))
        out.append(ProviderEvent(kind, event))

    # -------------------------------------------------------------- the end

    def _conclude(self, out: list[Event]) -> None:
        if self._finish is None or self._is_open:
            begun = self._is_open or self._finish is not None
            self._give_up(out, "the stream ended before this call was closed")
            said = "no message-end came" if begun else "the answer was empty"
            raise TruncatedStreamError(f"the stream ended without its end signal: {said}")
        self._has_ended = True
        self._send_finish(out)

    def _give_up(self, out: list[Event], why: str) -> None:
        """What must not be lost: calls that will never close, as such, and a finish that was seen."""
        if not self._has_ended:
            self._has_ended = True
            self._plain = (None, "")
            self._calls.abandon(why, out)
            self._send_finish(out)

    def _send_finish(self, out: list[Event]) -> None:
        self._extras.flush(out)
        if self._finish is not None and not self._is_open:
            out.append(self._finish)

    def _fail(self, error: JsonValue, payload: Payload, out: list[Event]) -> NoReturn:
        self._give_up(out, "the provider failed before this call was closed")
        raise error_from_object(error, detail=payload_data(payload))


def _calls_of(event: JsonObject) -> Iterable[JsonObject]:
    """The call that an event is about; documented as a list, sent as one object."""
    message = object_field(object_field(event, "delta"), "message")
    return objects_in(message.get("tool_calls"), "tool_calls")


_HANDLERS: Final[Mapping[str, Callable[[CohereV2Decoder, JsonObject, list[Event]], None]]] = {
    "content-delta": CohereV2Decoder._content,
    "content-start": CohereV2Decoder._content,
    "content-end": CohereV2Decoder._content_end,
    "tool-plan-delta": CohereV2Decoder._tool_plan,
    "tool-call-start": CohereV2Decoder._call_start,
    "tool-call-delta": CohereV2Decoder._call_delta,
    "tool-call-end": CohereV2Decoder._call_end,
    "citation-start": CohereV2Decoder._cite,
    "citation-end": CohereV2Decoder._ignore,
    START: CohereV2Decoder._message_start,
    "message-end": CohereV2Decoder._message_end,
}
