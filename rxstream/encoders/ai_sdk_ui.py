"""The UI message stream, version 1, that the `useChat` hook of the AI SDK reads.

Its client treats a delta of a part that was not opened as an error, so a part is opened by its first piece, and one
text or reasoning is open at a time: it is closed when another kind or part begins, for user interfaces fold reasoning
away when it ends. A part that goes on later is opened anew, under a new id.

The order is: start, then a step for each message of the stream (start-step, its parts, finish-step), finish, `[DONE]`.
A step stays open over its finish, for the results of its tools belong to it; the next message or the end closes it.

A message has one answer: of several choices one is shown. What the format has no part for is left out.

Source: the AI SDK's list of UI message chunks and what its client does with each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from pydantic import JsonValue

from rxstream import events
from rxstream.encoders.ai_sdk_ui_calls import UICalls, UIPart
from rxstream.encoders.encoder import EncoderEnd, End
from rxstream.encoders.frames import DONE, KEEP_ALIVE, SSE_CONTENT_TYPE, SSE_HEADERS, data_frame
from rxstream.encoders.media_pieces import MediaPieces
from rxstream.encoders.openai_errors import end_object
from rxstream.errors import LimitError
from rxstream.events import (
    Annotation,
    CancelCause,
    Cancelled,
    Event,
    Finish,
    FinishReason,
    MediaDelta,
    ReasoningDelta,
    ReasoningSignature,
    RefusalDelta,
    ResponseStart,
    TextDelta,
    Usage,
    UsageUpdate,
)
from rxstream.limits import DEFAULT_LIMITS, Limits
from rxstream.response.usage import USAGE_COUNTS, merge_usage

__all__ = ("UIMessageEncoder",)

HEADERS: Final[Mapping[str, str]] = MappingProxyType({**SSE_HEADERS, "x-vercel-ai-ui-message-stream": "v1"})

FINISHES: Final[Mapping[FinishReason, str]] = {
    "stop": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "tool_calls": "tool-calls",
    "content_filter": "content-filter",
    "refusal": "content-filter",
    "error": "error",
    "pause_turn": "other",
    "other": "other",
}

WHOLE: Final = frozenset(("stop", "tool-calls"))

URL_KEYS: Final = ("url", "uri")


class UIMessageEncoder:
    """Encode one stream.

    Args:
        message_id: the id of the message that the client stores; None lets the client make one.
        choice: which of several choices is shown.
        include_usage: the last part carries the token counts that are known, as `messageMetadata.usage`.
        limits: `max_media_bytes` bounds a file, which is sent whole; `max_text_bytes` a signature.
    """

    content_type: Final = SSE_CONTENT_TYPE
    headers: Final = HEADERS

    def __init__(
        self,
        *,
        message_id: str | None = None,
        choice: int = 0,
        include_usage: bool = False,
        limits: Limits | None = None,
    ) -> None:
        self._message_id = message_id
        self._choice = choice
        self._include_usage = include_usage
        self._limits = limits or DEFAULT_LIMITS
        self._has_started = False
        self._has_ended = False
        self._has_step = False
        self._open: tuple[str, str] | None = None  # the kind and part of the text or reasoning that is open
        self._open_count = 0
        self._signatures: dict[str, list[str]] = {}  # of the open part; bounded: max_text_bytes
        self._signature_size = 0
        self._sources = 0
        self._calls = UICalls()
        self._media = MediaPieces(limits)
        self._usage = Usage()
        self._finish: Finish | None = None
        self._cause: CancelCause | None = None

    def start(self) -> bytes:
        """The beginning of the message."""
        if self._has_started or self._has_ended:
            return b""
        self._has_started = True
        return data_frame({"type": "start"} | ({"messageId": self._message_id} if self._message_id else {}))

    def encode(self, event: Event) -> bytes:
        """The parts of one event; empty for those that tell no content."""
        handler = _HANDLERS.get(type(event))
        if self._has_ended or handler is None or getattr(event, "choice", self._choice) != self._choice:
            return b""
        parts: list[UIPart] = []
        handler(self, event, parts)
        return self._frames(parts)

    def keep_alive(self) -> bytes:
        """A comment, which the client skips."""
        return b"" if self._has_ended else KEEP_ALIVE

    def end(self, end: End) -> bytes:
        """Everything that is open is closed, then what the end was, then `[DONE]`.

        A cancellation is `abort` alone, which the client takes in any state; to one that has gone away, nothing.
        """
        if self._has_ended:
            return b""
        first = self.start()
        self._has_ended = True
        cause = end.cause or self._cause
        if end.outcome == "cancelled":
            if cause == "client_disconnect":
                return b""
            return first + data_frame({"type": "abort", "reason": cause or "operator"}) + DONE
        parts: list[UIPart] = []
        self._close_step(parts)
        self._tell_end(end, parts)
        return first + self._frames(parts) + DONE

    def _frames(self, parts: list[UIPart]) -> bytes:
        return (b"" if self._has_started else self.start()) + b"".join(map(data_frame, parts)) if parts else b""

    # -------------------------------------------------------------- the end

    def _tell_end(self, end: End, parts: list[UIPart]) -> None:
        is_whole = end.outcome in ("completed", "incomplete") and self._finish is not None
        reason = FINISHES[self._finish.finish_reason] if self._finish is not None and is_whole else "error"
        if reason == "error":
            outcome = "failed" if is_whole else end.outcome
            told = end_object(EncoderEnd(outcome, end.error))
            parts.append({"type": "error", "errorText": told["message"]})
        elif end.outcome == "incomplete" and reason in WHOLE:
            reason = "other"  # something of it was lost: it must not look whole
        finish: UIPart = {"type": "finish", "finishReason": reason}
        if self._include_usage and (usage := _known(self._usage)):
            finish["messageMetadata"] = {"usage": usage}
        parts.append(finish)

    def _close_step(self, parts: list[UIPart]) -> None:
        self._close(parts)
        parts += self._calls.close_all()
        if self._has_step:
            self._has_step = False
            parts.append({"type": "finish-step"})

    # -------------------------------------------------------------- parts

    def _step(self, parts: list[UIPart]) -> None:
        if not self._has_step:
            self._has_step = True
            parts.append({"type": "start-step"})

    def _enter(self, kind: str, part_id: str, parts: list[UIPart], **more: Any) -> str:
        """Open the part, unless it is open. Returns its id on this wire."""
        self._flush_media(parts)
        if self._open != (kind, part_id):
            self._close(parts)
            self._step(parts)
            self._open = (kind, part_id)
            self._open_count += 1
            parts.append({"type": f"{_name(kind)}-start", "id": self._open_id, **more})
        return self._open_id

    @property
    def _open_id(self) -> str:
        return str(self._open_count)

    def _close(self, parts: list[UIPart]) -> None:
        """Close what is open; what was signed is told at its end."""
        self._flush_media(parts)
        if self._open is None:
            return
        end: UIPart = {"type": f"{_name(self._open[0])}-end", "id": self._open_id}
        if self._signatures:
            signed = {kind: "".join(pieces) for kind, pieces in self._signatures.items()}
            end["providerMetadata"] = {"rxstream": signed}
        parts.append(end)
        self._open = None
        self._signatures, self._signature_size = {}, 0

    def _flush_media(self, parts: list[UIPart]) -> None:
        media = self._media.take()
        if media is not None:
            parts.append({"type": "file", "mediaType": media[0], "url": media[1]})

    def _between(self, made: list[UIPart], parts: list[UIPart]) -> None:
        """Parts that stand for themselves: what is open ends before them."""
        if made:
            self._close(parts)
            self._step(parts)
            parts += made

    # -------------------------------------------------------------- events

    def _on_start(self, event: ResponseStart, parts: list[UIPart]) -> None:
        """A further message is a further step, with a finish and counts of its own."""
        if self._finish is not None:
            self._close_step(parts)
            self._finish, self._usage = None, Usage()

    def _on_text(self, event: TextDelta, parts: list[UIPart]) -> None:
        self._piece("text", event.part_id, event.text, parts)

    def _on_reasoning(self, event: ReasoningDelta, parts: list[UIPart]) -> None:
        self._piece("reasoning", event.part_id, event.text, parts)

    def _on_refusal(self, event: RefusalDelta, parts: list[UIPart]) -> None:
        """The user must read it: a text, marked as a refusal."""
        self._piece("refusal", event.part_id, event.text, parts, providerMetadata={"rxstream": {"refusal": True}})

    def _piece(self, kind: str, part_id: str, text: str, parts: list[UIPart], **more: Any) -> None:
        if text:
            wire_id = self._enter(kind, part_id, parts, **more)
            parts.append({"type": f"{_name(kind)}-delta", "id": wire_id, "delta": text})

    def _on_signature(self, event: ReasoningSignature, parts: list[UIPart]) -> None:
        if not event.data:
            return
        self._signature_size += len(event.data)
        if self._signature_size > self._limits.max_text_bytes:
            limit, value = self._limits.max_text_bytes, self._signature_size
            raise LimitError("the signatures of one part", limit=limit, value=value, setting="max_text_bytes")
        call_id = self._calls.is_open_at(event.part_id)
        if call_id is not None:
            self._calls.sign(call_id, event.kind, event.data)
            return
        if self._open is None or self._open[1] != event.part_id:
            self._enter("reasoning", event.part_id, parts)
        self._signatures.setdefault(event.kind, []).append(event.data)

    def _on_annotation(self, event: Annotation, parts: list[UIPart]) -> None:
        """A source has an address; any other note is data, which the page may show."""
        self._step(parts)
        source = _source(event.data)
        if source is None:
            parts.append({"type": "data-annotation", "data": {"kind": event.kind, "data": event.data}})
            return
        self._sources += 1
        parts.append({"type": "source-url", "sourceId": f"source-{self._sources}", **source})

    def _on_media(self, event: MediaDelta, parts: list[UIPart]) -> None:
        if not self._media.continues(event):
            self._close(parts)
            self._step(parts)
        if event.data:
            self._media.add(event)

    def _on_tool(self, event: Any, parts: list[UIPart]) -> None:
        self._between(_TOOLS[type(event)](self._calls, event), parts)

    def _on_usage(self, event: UsageUpdate, parts: list[UIPart]) -> None:
        self._usage = merge_usage(self._usage, event.usage)

    def _on_finish(self, event: Finish, parts: list[UIPart]) -> None:
        """It waits for the end: an error may still follow."""
        self._close(parts)
        self._step(parts)
        self._finish = event

    def _on_cancelled(self, event: Cancelled, parts: list[UIPart]) -> None:
        self._cause = self._cause or event.cause  # the first one ended the stream


def _name(kind: str) -> str:
    return "reasoning" if kind == "reasoning" else "text"


def _known(usage: Usage) -> dict[str, JsonValue]:
    return {name: count for name in USAGE_COUNTS if (count := getattr(usage, name)) is not None}


def _source(data: JsonValue) -> dict[str, JsonValue] | None:
    """The address and title of a source, from the object itself or one directly inside it."""
    if not isinstance(data, dict):
        return None
    for place in (data, *(value for value in data.values() if isinstance(value, dict))):
        for key in URL_KEYS:
            url, title = place.get(key), place.get("title")
            if isinstance(url, str) and url.startswith(("http://", "https://")):
                return {"url": url, **({"title": title} if isinstance(title, str) else {})}
    return None


_TOOLS: Final[Mapping[type, Callable[[UICalls, Any], list[UIPart]]]] = {
    events.ToolCallStart: UICalls.start,
    events.ToolCallDelta: UICalls.add,
    events.ToolCall: UICalls.close,
    events.ToolCallInvalid: UICalls.close,
    events.ToolResult: UICalls.result,
    events.ServerToolCall: UICalls.server_call,
    events.ServerToolResult: UICalls.server_result,
}

_HANDLERS: Final[Mapping[type, Callable[[UIMessageEncoder, Any, list[UIPart]], None]]] = {
    events.ResponseStart: UIMessageEncoder._on_start,
    events.TextDelta: UIMessageEncoder._on_text,
    events.ReasoningDelta: UIMessageEncoder._on_reasoning,
    events.ReasoningSignature: UIMessageEncoder._on_signature,
    events.RefusalDelta: UIMessageEncoder._on_refusal,
    events.Annotation: UIMessageEncoder._on_annotation,
    events.MediaDelta: UIMessageEncoder._on_media,
    events.UsageUpdate: UIMessageEncoder._on_usage,
    events.Finish: UIMessageEncoder._on_finish,
    events.Cancelled: UIMessageEncoder._on_cancelled,
    **dict.fromkeys(_TOOLS, UIMessageEncoder._on_tool),
}
"""What each event says on this wire; of those that are not here it says nothing."""
