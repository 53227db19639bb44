"""A stream for clients of OpenAI's Responses, and of Open Responses.

    created, in_progress, (output_item.added, ..., output_item.done)*, completed | incomplete | error, failed

Text and refusals are parts of a message, reasoning is the summary of an item of its own, each call is an item. Of text
and reasoning one item is open at a time; calls may be open side by side, for their events say their place. An item that
is open when the answer is cut is incomplete. The finish waits for the end, as on the chat wire; then the last event
repeats the whole answer, which is why it is kept.

An error is two events: `error`, at which OpenAI's clients raise (its fields stand at the top, where the schema has
them, and inside `error`, where the server sends them), and `response.failed` for those that wait for the response's
own end. `[DONE]` is what Open Responses asks for; OpenAI's clients know it from the chat wire.

Of several choices one is sent. Tools that another provider ran itself, violations and the provider's own events have no
place and are left out.

Sources: OpenAI's published schema of `ResponseStreamEvent`; its SDKs; openresponses.org.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final

from pydantic import JsonValue

from rxstream import events
from rxstream.encoders.encoder import UNKNOWN_MODEL, End
from rxstream.encoders.ending import failure_of, is_gone
from rxstream.encoders.frames import DONE, KEEP_ALIVE, SSE_CONTENT_TYPE, SSE_HEADERS
from rxstream.encoders.media_pieces import MediaPieces
from rxstream.encoders.openai_chat_parts import annotation_entry
from rxstream.encoders.openai_errors import end_object
from rxstream.encoders.openai_finish import explanation
from rxstream.encoders.openai_responses_frames import NumberedFrames
from rxstream.encoders.openai_responses_items import REFUSAL, SUMMARY, TEXT
from rxstream.encoders.openai_responses_output import ResponseOutput
from rxstream.encoders.openai_responses_tool_items import image_item, result_item
from rxstream.encoders.openai_responses_words import (
    OWN_REASONS,
    cut_reason,
    failed_error,
    response_object,
    responses_usage_object,
)
from rxstream.encoders.outgoing_call import CallEvent, OutgoingCalls
from rxstream.errors import Category, StreamError
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
    ServerToolCall,
    ServerToolResult,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallInvalid,
    ToolResult,
    Usage,
    UsageUpdate,
)
from rxstream.limits import DEFAULT_LIMITS, Limits
from rxstream.response.usage import merge_usage

__all__ = ("OpenAIResponsesEncoder",)


class OpenAIResponsesEncoder:
    """Encode one stream.

    Args:
        model: the name under which the client asked; None is the provider's own.
        response_id: the response's id; None is the provider's, or a new one.
        created: when it was made, in seconds since 1970; None is now.
        choice: which of several choices is sent.
        end_marker: send `[DONE]` last. OpenAI's own server does not.
        limits: what may be kept of the answer: `max_text_bytes` of text, reasoning and refusal each,
            `max_arguments_bytes` of each call, `max_media_bytes` of an image, `max_kept_events` items and parts.
    """

    content_type: Final = SSE_CONTENT_TYPE
    headers: Final = SSE_HEADERS

    def __init__(
        self,
        *,
        model: str | None = None,
        response_id: str | None = None,
        created: int | None = None,
        choice: int = 0,
        end_marker: bool = True,
        limits: Limits | None = None,
    ) -> None:
        self._model = model
        self._response_id = response_id
        self._created = int(time.time()) if created is None else created
        self._choice = choice
        self._end_marker = end_marker
        self._frames = NumberedFrames()
        self._output = ResponseOutput(self._frames, self._begin, limits or DEFAULT_LIMITS)
        self._media = MediaPieces(limits)
        self._calls = OutgoingCalls()
        self._identity: dict[str, JsonValue] = {}
        self._has_refusal = False
        self._usage = Usage()
        self._finish: Finish | None = None
        self._cause: CancelCause | None = None
        self._has_ended = False

    def start(self) -> bytes:
        """Nothing: the first frame says whose answer it is."""
        return b""

    def encode(self, event: Event) -> bytes:
        """The frames of one event; empty for those that tell no content, so that the status can still be chosen."""
        handler = _HANDLERS.get(type(event))
        if self._has_ended or handler is None or getattr(event, "choice", self._choice) != self._choice:
            return b""
        if not (isinstance(event, MediaDelta) and self._media.continues(event)):
            self._flush_media()
        self._output.flush(event)
        handler(self, event)
        return self._frames.take()

    def keep_alive(self) -> bytes:
        """A comment, which clients skip: an event would need a number and a meaning."""
        return b"" if self._has_ended else KEEP_ALIVE

    def end(self, end: End) -> bytes:
        """The response as it ended, with all of it inside; or an error. To a client that has gone away, nothing."""
        if self._has_ended:
            return b""
        self._has_ended = True
        cause = end.cause or self._cause
        if is_gone(end, cause):
            return b""
        failure = failure_of(end, self._finish, cause)
        if failure is None and self._finish is not None:
            self._tell_end(self.close(end, self._finish))
        elif failure is not None:
            self._tell_failure(failure)
        return self._frames.take() + (DONE if self._end_marker else b"")

    # -------------------------------------------------------------- the end

    def close(self, end: End, finish: Finish) -> dict[str, JsonValue]:
        """Close everything that is open. Returns the response, completed or incomplete."""
        self._flush_media()
        reason = finish.finish_reason
        if reason == "refusal" and not self._has_refusal:
            self._has_refusal = True
            self._output.say(REFUSAL, "", explanation(finish.detail))
        is_plain_refusal = not self._output.has_text and not self._calls.of_choice(self._choice)
        is_cut = end.outcome == "incomplete" or self._output.has_open_calls()
        cut = cut_reason(reason, is_cut=is_cut, is_plain_refusal=is_plain_refusal)
        self._begin()
        self._output.close_all("incomplete" if cut else "completed")
        status = "incomplete" if cut else "completed"
        usage = responses_usage_object(self._usage)
        response = response_object(self._identity, status, self._output.items(), usage=usage, reason=cut)
        if reason not in OWN_REASONS:
            raw = finish.finish_reason_raw
            response["native_finish_reason"] = reason if raw is None else raw
        return response

    def _tell_end(self, response: dict[str, JsonValue]) -> None:
        self._frames.write(f"response.{response['status']}", response=response)

    def _tell_failure(self, failure: End) -> None:
        self._begin()
        error = end_object(failure)
        public = failure.error.public if isinstance(failure.error, StreamError) else None
        category: Category = "internal" if public is None else public.category
        told: dict[str, JsonValue] = {"code": str(error["code"]), "message": error["message"], "param": error["param"]}
        self._frames.write("error", **told, error=error)
        usage = responses_usage_object(self._usage)
        failed = failed_error(category, error["message"])
        response = response_object(self._identity, "failed", self._output.items(), usage=usage, error=failed)
        self._frames.write("response.failed", response=response)

    # -------------------------------------------------------------- the beginning

    def _begin(self) -> None:
        """Tell the response's start, where that was not done."""
        if self._identity:
            return
        self._identity = {
            "id": self._response_id or f"resp_{uuid.uuid4().hex}",
            "created_at": self._created,
            "model": self._model or UNKNOWN_MODEL,
        }
        for kind in ("response.created", "response.in_progress"):
            self._frames.write(kind, response=response_object(self._identity, "in_progress", []))

    # -------------------------------------------------------------- events

    def _on_start(self, event: ResponseStart) -> None:
        """The first one names the answer; a later one begins a further message, whose counts replace those before."""
        if not self._identity:
            self._response_id = self._response_id or event.response_id
            self._model = self._model or event.model
        if self._finish is not None:
            self._finish, self._usage = None, Usage()

    def _on_text(self, event: TextDelta) -> None:
        if event.text or event.logprobs:
            self._output.say(TEXT, event.part_id, event.text, event.logprobs)

    def _on_refusal(self, event: RefusalDelta) -> None:
        if event.text:
            self._has_refusal = True
            self._output.say(REFUSAL, event.part_id, event.text)

    def _on_reasoning(self, event: ReasoningDelta) -> None:
        if event.text:
            self._output.say(SUMMARY, event.part_id, event.text)

    def _on_signature(self, event: ReasoningSignature) -> None:
        if event.data:
            call = self._calls.at_part(event.choice, event.part_id)
            if call is None:
                self._output.sign(event.kind, event.part_id, event.data)
            else:
                self._output.sign_call(call.call_id, event.data)

    def _on_annotation(self, event: Annotation) -> None:
        self._output.annotate(event.part_id, annotation_entry(event))

    def _on_media(self, event: MediaDelta) -> None:
        """Audio goes out piece by piece; an image is an item and goes out whole."""
        if event.media_type.startswith("audio/"):
            self._output.sound(event.data)
        elif event.data:
            self._media.add(event)

    def _flush_media(self) -> None:
        media = self._media.take()
        if media is not None:
            item = image_item(*media)
            if not self._output.take_result(item["result"]):
                self._output.add_whole("ig", item)

    def _on_call_start(self, event: CallEvent) -> None:
        call = self._calls.start(event)
        if call is not None:
            self._output.begin_call(call)

    def _on_call_delta(self, event: ToolCallDelta) -> None:
        piece = self._calls.add(event)
        if piece is not None:
            self._output.argue(piece[0].call_id, piece[1])

    def _on_call(self, event: ToolCall | ToolCallInvalid) -> None:
        self._on_call_start(event)
        closed = self._calls.close(event)
        if closed is not None:
            call, rest = closed
            self._output.argue(call.call_id, rest)
            self._output.close_call(call)

    def _on_result(self, event: ToolResult) -> None:
        """A tool on this side has run: the client must not run it again, and sees that it is answered."""
        call = self._calls.answer(event.call_id)
        is_custom = call is not None and call.kind == "custom"
        self._output.add_whole("fco", result_item(event, is_custom=is_custom))

    def _on_server_call(self, event: ServerToolCall) -> None:
        self._output.show_tool(event)

    def _on_server_result(self, event: ServerToolResult) -> None:
        self._output.take_result(event.output)

    def _on_usage(self, event: UsageUpdate) -> None:
        self._usage = merge_usage(self._usage, event.usage)

    def _on_finish(self, event: Finish) -> None:
        self._begin()
        self._finish = event

    def _on_cancelled(self, event: Cancelled) -> None:
        self._cause = self._cause or event.cause  # the first one ended the stream


_HANDLERS: Final[Mapping[type, Callable[[OpenAIResponsesEncoder, Any], None]]] = {
    events.ResponseStart: OpenAIResponsesEncoder._on_start,
    events.TextDelta: OpenAIResponsesEncoder._on_text,
    events.ReasoningDelta: OpenAIResponsesEncoder._on_reasoning,
    events.ReasoningSignature: OpenAIResponsesEncoder._on_signature,
    events.RefusalDelta: OpenAIResponsesEncoder._on_refusal,
    events.Annotation: OpenAIResponsesEncoder._on_annotation,
    events.MediaDelta: OpenAIResponsesEncoder._on_media,
    events.ToolCallStart: OpenAIResponsesEncoder._on_call_start,
    events.ToolCall: OpenAIResponsesEncoder._on_call,
    events.ToolCallInvalid: OpenAIResponsesEncoder._on_call,
    events.ToolCallDelta: OpenAIResponsesEncoder._on_call_delta,
    events.ToolResult: OpenAIResponsesEncoder._on_result,
    events.ServerToolCall: OpenAIResponsesEncoder._on_server_call,
    events.ServerToolResult: OpenAIResponsesEncoder._on_server_result,
    events.UsageUpdate: OpenAIResponsesEncoder._on_usage,
    events.Finish: OpenAIResponsesEncoder._on_finish,
    events.Cancelled: OpenAIResponsesEncoder._on_cancelled,
}
"""What each event says on this wire; of those that are not here it says nothing."""
