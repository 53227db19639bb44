"""A stream for clients of OpenAI's Chat Completions.

Every frame is one chunk `chat.completion.chunk`; all have the same id, time and model. A finish reason is not sent when
it comes but at the end: an error may still follow it, and a client that has read `stop` takes the answer for whole. So
the last frames are either every choice's finish, the usage where it was asked for, and `[DONE]`; or one error frame.

What the wire has no place for goes where compatible servers put it (`openai_chat_parts`), or is left out: tools that
the provider ran itself, results of the client's tools, violations, the provider's own events.

Sources: OpenAI's published schema of `CreateChatCompletionStreamResponse`; its SDKs, which raise at a frame with
`error`.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import JsonValue

from rxstream import events
from rxstream.encoders.encoder import UNKNOWN_MODEL, EncoderEnd, End
from rxstream.encoders.ending import is_gone
from rxstream.encoders.frames import DONE, KEEP_ALIVE, SSE_CONTENT_TYPE, SSE_HEADERS, data_frame, json_bytes
from rxstream.encoders.media_pieces import MediaPieces
from rxstream.encoders.openai_chat_parts import annotation_entry, call_signature, image_entry, reasoning_detail
from rxstream.encoders.openai_errors import end_object
from rxstream.encoders.openai_finish import EXPLAINS_A_CUT, chat_finish, explanation
from rxstream.encoders.openai_usage import chat_usage_object
from rxstream.encoders.outgoing_call import CallEvent, OutgoingCall, OutgoingCalls
from rxstream.events import (
    Annotation,
    CancelCause,
    Cancelled,
    Event,
    Finish,
    MediaDelta,
    ReasoningDelta,
    ReasoningSignature,
    RefusalDelta,
    ResponseStart,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallInvalid,
    ToolResult,
    Usage,
    UsageUpdate,
)
from rxstream.limits import Limits
from rxstream.response.response import Outcome
from rxstream.response.usage import merge_usage

__all__ = ("OpenAIChatEncoder", "new_chat_id")

MARK: Final = b"\0"  # what no JSON holds
ROLE: Final = b'{"role":"assistant","content":""}'
OWN_WORDS: Final = frozenset(("stop", "length", "tool_calls", "content_filter"))


def new_chat_id() -> str:
    """An id for an answer whose provider sent none."""
    return f"chatcmpl-{uuid.uuid4().hex}"


@dataclass(slots=True)
class _Choice:
    """What one choice has sent, and how it ended."""

    index: int
    media: MediaPieces
    has_refusal: bool = False
    finish: Finish | None = None


class OpenAIChatEncoder:
    """Encode one stream.

    Args:
        model: the name under which the client asked; None is the provider's own.
        response_id: the answer's id; None is the provider's, or a new one.
        created: when it was made, in seconds since 1970; None is now.
        include_usage: the client asked for `stream_options.include_usage`.
        limits: `max_media_bytes` bounds an image, which is sent whole.
    """

    content_type: Final = SSE_CONTENT_TYPE
    headers: Final = SSE_HEADERS

    def __init__(
        self,
        *,
        model: str | None = None,
        response_id: str | None = None,
        created: int | None = None,
        include_usage: bool = False,
        limits: Limits | None = None,
    ) -> None:
        self._model = model
        self._response_id = response_id
        self._created = int(time.time()) if created is None else created
        self._include_usage = include_usage
        self._limits = limits
        self._head = b""
        self._tail = b',"usage":null}\n\n' if include_usage else b"}\n\n"
        self._choices: dict[int, _Choice] = {}  # bounded by the decoder's number of choices
        self._before_text: dict[int, bytes] = {}  # of choices with nothing gathered: all of a text's chunk but the text
        self._calls = OutgoingCalls()
        self._usage = Usage()
        self._after_text = b""
        self._has_finished_message = False
        self._cause: CancelCause | None = None
        self._has_ended = False

    def start(self) -> bytes:
        """Nothing: the first frame says whose answer it is."""
        return b""

    def encode(self, event: Event) -> bytes:
        """The chunks of one event; empty for those that tell no content, so that the status can still be chosen."""
        if self._has_ended:
            return b""
        if event.__class__ is TextDelta and event.text and event.logprobs is None:  # nearly every event
            before = self._before_text.get(event.choice)
            if before is not None:
                return before + json_bytes(event.text) + self._after_text
        handler = _HANDLERS.get(type(event))
        if handler is None:
            return b""
        out: list[bytes] = []
        handler(self, event, out)
        return b"".join(out)

    def keep_alive(self) -> bytes:
        """A comment, which clients skip."""
        return b"" if self._has_ended else KEEP_ALIVE

    def end(self, end: End) -> bytes:
        """Finish, usage and `[DONE]`; or one error frame. To a client that has gone away, nothing."""
        if self._has_ended:
            return b""
        self._has_ended = True
        if self._is_whole(end):
            out: list[bytes] = []
            self._finish(end, out)
            return b"".join(out)
        cause = end.cause or self._cause
        if is_gone(end, cause):
            return b""
        return data_frame({"error": end_object(EncoderEnd(self._told_outcome(end), end.error, cause))})

    # -------------------------------------------------------------- the end

    def _is_whole(self, end: End) -> bool:
        """Whether the model has had its last word on every choice. What is said of the end alone proves nothing."""
        finishes = [choice.finish for choice in self._choices.values()]
        has_words = all(finish is not None and finish.finish_reason != "error" for finish in finishes)
        return end.outcome in ("completed", "incomplete") and bool(finishes) and has_words

    def _told_outcome(self, end: End) -> Outcome:
        """An end that claims more than the events tell is told as what they tell."""
        if end.outcome not in ("completed", "incomplete"):
            return end.outcome
        finishes = (choice.finish for choice in self._choices.values())
        has_failed = any(finish is not None and finish.finish_reason == "error" for finish in finishes)
        return "failed" if has_failed else "indeterminate"

    def _finish(self, end: End, out: list[bytes]) -> None:
        choices = [choice for _, choice in sorted(self._choices.items())]
        reasons = {choice.finish.finish_reason for choice in choices if choice.finish is not None}
        is_cut = end.outcome == "incomplete" and reasons.isdisjoint(EXPLAINS_A_CUT)
        for choice in choices:
            assert choice.finish is not None
            self._flush_media(choice, out)
            self._finish_choice(choice, choice.finish, is_cut, out)
        if self._include_usage:
            usage = json_bytes(chat_usage_object(self._usage))
            out.append(b'%b"choices":[],"usage":%b}\n\n' % (self._begin(), usage))
        out.append(DONE)

    def _finish_choice(self, choice: _Choice, finish: Finish, is_cut: bool, out: list[bytes]) -> None:
        if finish.finish_reason == "refusal" and not choice.has_refusal:
            self._delta(choice, {"refusal": explanation(finish.detail)}, out)
        calls = [call for call in self._calls.of_choice(choice.index) if not call.is_answered]
        raw = finish.finish_reason_raw
        word = chat_finish(finish.finish_reason, has_calls=bool(calls), is_cut=is_cut, raw=raw)
        extra: dict[str, JsonValue] = {}
        if finish.finish_reason not in OWN_WORDS and raw != word:
            extra["native_finish_reason"] = finish.finish_reason if raw is None else raw
        invalid: list[JsonValue] = [call.call_id for call in calls if not call.is_valid]
        if invalid:
            extra["invalid_tool_calls"] = invalid
        more = b"," + json_bytes(extra)[1:-1] if extra else b""
        out.append(self._chunk(choice.index, b"{}", finish=b'"%b"%b' % (word.encode(), more)))

    # -------------------------------------------------------------- chunks

    def _begin(self) -> bytes:
        """What every frame begins with, made when the first one is."""
        if not self._head:
            about = {
                "id": self._response_id or new_chat_id(),
                "object": "chat.completion.chunk",
                "created": self._created,
                "model": self._model or UNKNOWN_MODEL,
            }
            self._head = b"data: %b," % json_bytes(about)[:-1]
        return self._head

    def _chunk(self, index: int, delta: bytes, logprobs: bytes = b"null", finish: bytes = b"null") -> bytes:
        choice = b'"choices":[{"index":%d,"delta":%b,"logprobs":%b,"finish_reason":%b}]'
        return self._begin() + choice % (index, delta, logprobs, finish) + self._tail

    def _delta(self, choice: _Choice, delta: dict[str, JsonValue], out: list[bytes]) -> None:
        out.append(self._chunk(choice.index, json_bytes(delta)))

    def _call_delta(self, call: OutgoingCall, entry: dict[str, JsonValue], out: list[bytes]) -> None:
        self._delta(self._choices[call.choice], {"tool_calls": [{"index": call.index, **entry}]}, out)

    def _enter(self, index: int, out: list[bytes]) -> _Choice:
        """The choice that says something: its first chunk has the role, and what it gathered goes before."""
        choice = self._choices.get(index)
        if choice is None:
            choice = self._choices[index] = _Choice(index, MediaPieces(self._limits))
            out.append(self._chunk(index, ROLE))
        self._flush_media(choice, out)
        return choice

    def _flush_media(self, choice: _Choice, out: list[bytes]) -> None:
        media = choice.media.take()
        if media is not None:
            self._delta(choice, {"images": [image_entry(media[1])]}, out)

    # -------------------------------------------------------------- events

    def _on_start(self, event: ResponseStart, out: list[bytes]) -> None:
        """The first one names the answer. A later one begins a further message, which has usage and finish anew."""
        if not self._head:
            self._response_id = self._response_id or event.response_id
            self._model = self._model or event.model
        if self._has_finished_message:
            self._has_finished_message = False
            self._usage = Usage()

    def _on_text(self, event: TextDelta, out: list[bytes]) -> None:
        if event.text or event.logprobs:
            choice = self._enter(event.choice, out)
            logprobs = json_bytes({"content": event.logprobs, "refusal": None}) if event.logprobs else b"null"
            out.append(self._chunk(choice.index, b'{"content":%b}' % json_bytes(event.text), logprobs))
            if choice.index not in self._before_text:
                before, _, self._after_text = self._chunk(choice.index, b'{"content":%b}' % MARK).partition(MARK)
                self._before_text[choice.index] = before

    def _on_reasoning(self, event: ReasoningDelta, out: list[bytes]) -> None:
        if event.text:
            self._delta(self._enter(event.choice, out), {"reasoning_content": event.text}, out)

    def _on_signature(self, event: ReasoningSignature, out: list[bytes]) -> None:
        if not event.data:
            return
        choice = self._enter(event.choice, out)
        call = self._calls.at_part(event.choice, event.part_id)
        if call is not None:
            # The empty piece: OpenAI's client and the AI SDK end a stream at a piece of a call without a `function`.
            self._call_delta(call, {call.kind: _piece(call, ""), **call_signature(event.data)}, out)
        else:
            detail = reasoning_detail(event.kind, event.data, event.part_id)
            self._delta(choice, {"reasoning_details": [detail]}, out)

    def _on_refusal(self, event: RefusalDelta, out: list[bytes]) -> None:
        if event.text:
            choice = self._enter(event.choice, out)
            choice.has_refusal = True
            self._delta(choice, {"refusal": event.text}, out)

    def _on_annotation(self, event: Annotation, out: list[bytes]) -> None:
        self._delta(self._enter(event.choice, out), {"annotations": [annotation_entry(event)]}, out)

    def _on_media(self, event: MediaDelta, out: list[bytes]) -> None:
        """Audio goes out piece by piece, as OpenAI sends it; an image is one address and goes out whole."""
        self._before_text.pop(event.choice, None)
        known = self._choices.get(event.choice)
        if known is None or not known.media.continues(event):
            known = self._enter(event.choice, out)
        if event.media_type.startswith("audio/"):
            audio: JsonValue = {"data": event.data, "format": event.media_type.removeprefix("audio/")}
            self._delta(known, {"audio": audio}, out)
        elif event.data:
            known.media.add(event)

    def _on_call_start(self, event: CallEvent, out: list[bytes]) -> None:
        self._enter(event.choice, out)
        call = self._calls.start(event)
        if call is not None:
            tool: JsonValue = {"name": call.name, **_piece(call, "")}
            self._call_delta(call, {"id": call.call_id, "type": call.kind, call.kind: tool}, out)

    def _on_call_delta(self, event: ToolCallDelta, out: list[bytes]) -> None:
        self._send_arguments(self._calls.add(event), out)

    def _on_call(self, event: ToolCall | ToolCallInvalid, out: list[bytes]) -> None:
        self._on_call_start(event, out)
        self._send_arguments(self._calls.close(event), out)

    def _send_arguments(self, piece: tuple[OutgoingCall, str] | None, out: list[bytes]) -> None:
        if piece is not None and piece[1]:
            call, arguments = piece
            self._enter(call.choice, out)
            self._call_delta(call, {call.kind: _piece(call, arguments)}, out)

    def _on_result(self, event: ToolResult, out: list[bytes]) -> None:
        """A tool on this side has run: the client must not run it again, and is not told to."""
        self._calls.answer(event.call_id)

    def _on_usage(self, event: UsageUpdate, out: list[bytes]) -> None:
        self._usage = merge_usage(self._usage, event.usage)

    def _on_finish(self, event: Finish, out: list[bytes]) -> None:
        self._enter(event.choice, out).finish = event
        self._has_finished_message = True

    def _on_cancelled(self, event: Cancelled, out: list[bytes]) -> None:
        self._cause = self._cause or event.cause  # the first one ended the stream


def _piece(call: OutgoingCall, arguments: str) -> dict[str, JsonValue]:
    return {"input" if call.kind == "custom" else "arguments": arguments}


_HANDLERS: Final[Mapping[type, Callable[[OpenAIChatEncoder, Any, list[bytes]], None]]] = {
    events.ResponseStart: OpenAIChatEncoder._on_start,
    events.TextDelta: OpenAIChatEncoder._on_text,
    events.ReasoningDelta: OpenAIChatEncoder._on_reasoning,
    events.ReasoningSignature: OpenAIChatEncoder._on_signature,
    events.RefusalDelta: OpenAIChatEncoder._on_refusal,
    events.Annotation: OpenAIChatEncoder._on_annotation,
    events.MediaDelta: OpenAIChatEncoder._on_media,
    events.ToolCallStart: OpenAIChatEncoder._on_call_start,
    events.ToolCall: OpenAIChatEncoder._on_call,
    events.ToolCallInvalid: OpenAIChatEncoder._on_call,
    events.ToolCallDelta: OpenAIChatEncoder._on_call_delta,
    events.ToolResult: OpenAIChatEncoder._on_result,
    events.UsageUpdate: OpenAIChatEncoder._on_usage,
    events.Finish: OpenAIChatEncoder._on_finish,
    events.Cancelled: OpenAIChatEncoder._on_cancelled,
}
"""What each event says on this wire; of those that are not here it says nothing."""
