"""Gemini's `streamGenerateContent`, of the Generative Language API and of Vertex AI: payloads to events.

A payload is one `GenerateContentResponse`, whether it came as a server-sent event or as an element of an array. What a
candidate holds is read in `gemini_candidate`; here is what stands beside the candidates, and the end.

The end. There is no end marker, and a finish reason may come early: with code execution each turn of the model has one,
and the answer goes on. So reasons wait for the end of the bytes. Every candidate must have one by then; code that was
to run and gave no result means that the answer broke off between two turns.

A plain piece of text, the bulk of every stream, takes a short way; the other way reads it the same.

Source: Google's published `GenerateContentResponse`.
"""

from __future__ import annotations

from typing import Final, NoReturn

from pydantic import JsonValue

from rxstream.errors import TruncatedStreamError
from rxstream.events import Event, ProviderEvent, ResponseStart, TextDelta
from rxstream.framing.frames import Payload
from rxstream.limits import DEFAULT_LIMITS, Limits
from rxstream.providers.fields import JsonObject, WrongTypeError, string_field, whole_number
from rxstream.providers.gemini_candidate import Candidate
from rxstream.providers.gemini_context import GeminiContext
from rxstream.providers.gemini_plain import read_plain_text
from rxstream.providers.gemini_usage import KEY, RunningUsage
from rxstream.providers.http_errors import error_from_object, is_error_object
from rxstream.providers.payloads import (
    event_name,
    guarded,
    is_end_marker,
    is_keep_alive,
    payload_data,
    read_loosely,
    read_object,
)
from rxstream.providers.text_template import TextTemplate

__all__ = ("GeminiDecoder",)

"""No word of this wire: gateways that speak OpenAI's as well send it."""


MAX_CANDIDATES: Final = 1024
"""The API allows 8; each one costs memory."""

PLAIN_KEYS: Final = frozenset(("candidates", KEY, "modelVersion", "responseId", "createTime"))
"""Top-level keys that are read for their own sake, or that say nothing about the answer."""

START_KEYS: Final = ("candidates", "responseId", "modelVersion", "promptFeedback")
"""A chunk with one of them begins the answer."""

MAX_MISSES: Final = 64
"""So many chunks of an open text were more than text (older models rate each one's safety): then none is expected."""


class GeminiDecoder:
    """Decode one stream of the wire `gemini`.

    Args:
        limits: `max_arguments_bytes`, `max_tool_calls` and `max_json_depth` bound what is kept.
    """

    __slots__ = (
        "_candidates",
        "_context",
        "_has_ended",
        "_has_started",
        "_is_blocked",
        "_limits",
        "_match",
        "_misses",
        "_open_texts",
        "_template",
        "_template_has_usage",
        "_template_index",
        "_usage",
        "done",
    )

    def __init__(self, *, limits: Limits | None = None) -> None:
        self.done = False
        self._limits = limits or DEFAULT_LIMITS
        self._context = GeminiContext(self._limits)
        self._usage = RunningUsage(self._limits.max_json_depth)
        self._candidates: dict[int, Candidate] = {}  # bounded: MAX_CANDIDATES
        self._open_texts: dict[int, str] = {}  # the part of each candidate that plain text only continues
        self._misses = 0
        self._template = TextTemplate("text", counts_behind=KEY)
        self._match = self._template.match
        self._template_index = 0
        self._template_has_usage = False
        self._is_blocked = False
        self._has_started = False
        self._has_ended = False

    def decode(self, payload: Payload, out: list[Event]) -> None:
        if self._open_texts and type(payload) is bytes:
            index = self._template_index
            if index in self._open_texts and (piece := self._match(payload)):
                out.append(TextDelta(piece, self._open_texts[index], index))
                if self._template_has_usage:
                    self._usage.hold(payload, out)
                return
            try:
                chunk = read_plain_text(payload)
                candidate = chunk["candidates"][0]
                index = candidate.get("index", 0)
                text = TextDelta(candidate["content"]["parts"][0]["text"], self._open_texts[index], index)
            except (ValueError, KeyError):
                self._misses += 1
            else:
                out.append(text)
                has_usage = KEY in chunk
                if self._template.learn(payload, text.text):
                    self._template_index, self._template_has_usage = index, has_usage
                if has_usage:
                    self._usage.hold(payload, out)
                return
        self._decode_any(payload, out)

    def close(self, out: list[Event]) -> None:
        if not self._has_ended:
            self._conclude(out)

    def abort(self, out: list[Event]) -> None:
        self._give_up(out, "the stream failed before this call was closed")

    # -------------------------------------------------------------- payloads

    def _decode_any(self, payload: Payload, out: list[Event]) -> None:
        """The long way. Whatever the short way reads, this reads the same."""
        if self._has_ended:
            return  # nothing counts behind the last word
        if event_name(payload) == "error":
            self._fail(read_loosely(payload), payload, out)
        elif is_end_marker(payload):
            self.done = True
            self._conclude(out)
        elif not is_keep_alive(payload):
            chunk = read_object(payload, self._limits.max_json_depth)
            guarded(payload, WrongTypeError, self._read_chunk, chunk, payload, out)

    def _read_chunk(self, chunk: JsonObject, payload: Payload, out: list[Event]) -> None:
        if is_error_object(chunk):
            self._usage.take(chunk.get(KEY), out)
            self._fail(chunk, payload, out)
        if not self._has_started and any(chunk.get(key) for key in START_KEYS):
            self._start(chunk, out)
        candidates = chunk.get("candidates")
        for entry in candidates if isinstance(candidates, list) else [candidates]:
            if isinstance(entry, dict):
                self._read_candidate(entry, out)
            elif entry is not None:
                raise WrongTypeError("candidates", entry)
        self._take_feedback(chunk.get("promptFeedback"), out)
        self._usage.take(chunk.get(KEY), out)
        for key in chunk.keys() - PLAIN_KEYS - {"promptFeedback"}:
            self._context.extras.offer(ProviderEvent(key, chunk[key]), out)

    def _read_candidate(self, entry: JsonObject, out: list[Event]) -> None:
        candidate = self._candidate(entry.get("index"))
        self._open_texts.pop(candidate.index, None)
        candidate.read(entry, out)
        part_id = candidate.open_text
        if part_id and self._misses < MAX_MISSES:
            self._open_texts[candidate.index] = part_id

    def _candidate(self, value: JsonValue) -> Candidate:
        index = 0 if value is None else whole_number(value)  # Google leaves out a number that is 0
        if index is None or index < 0:
            raise WrongTypeError("index", value)
        candidate = self._candidates.get(index)
        if candidate is None:
            if len(self._candidates) >= MAX_CANDIDATES:
                raise WrongTypeError("candidates", value)
            candidate = self._candidates[index] = Candidate(index, self._context)
        return candidate

    # -------------------------------------------------------------- what stands beside the candidates

    def _start(self, chunk: JsonObject, out: list[Event]) -> None:
        self._has_started = True
        response_id = string_field(chunk, "responseId") or None
        self._context.ids.seed = response_id or ""
        out.append(ResponseStart(response_id, string_field(chunk, "modelVersion") or None))

    def _take_feedback(self, feedback: JsonValue, out: list[Event]) -> None:
        """What was said of the prompt; a reason to block it is the end of the answer (docs/decisions/002, 12)."""
        if isinstance(feedback, dict) and feedback.get("blockReason"):
            self._is_blocked = True
        self._context.extras.offer(ProviderEvent("promptFeedback", feedback), out)

    # -------------------------------------------------------------- the end

    def _conclude(self, out: list[Event]) -> None:
        if missing := self._missing():
            self._give_up(out, "the stream ended before this call was closed")
            raise TruncatedStreamError(f"the stream ended without its end signal: {missing}")
        self._end(out)
        if not self._candidates:
            self._candidate(None)  # the blocked prompt's answer, which has nothing but its finish
        candidates = self._in_order()
        for candidate in candidates:
            candidate.conclude(out)
        out.extend(candidate.finish() for candidate in candidates)

    def _missing(self) -> str:
        """What the end of the answer lacks; empty where it is there."""
        if self._is_blocked:
            return ""
        if not self._candidates:
            return "the answer was empty"
        if any(candidate.finish_raw is None for candidate in self._candidates.values()):
            return "no finish reason came"
        if any(candidate.awaits_code for candidate in self._candidates.values()):
            return "the result of code that was run never came"
        return ""

    def _give_up(self, out: list[Event], why: str) -> None:
        """What must not be lost: calls that will never close, as such, and every finish that was seen."""
        if self._has_ended:
            return
        self._end(out)
        candidates = self._in_order()
        for candidate in candidates:
            candidate.give_up(why, out)
        out.extend(candidate.finish() for candidate in candidates if candidate.finish_raw is not None)

    def _end(self, out: list[Event]) -> None:
        self._has_ended = True
        self._open_texts.clear()
        self._context.extras.flush(out)
        self._usage.flush(out)

    def _in_order(self) -> list[Candidate]:
        return [candidate for _, candidate in sorted(self._candidates.items())]

    def _fail(self, error: JsonValue, payload: Payload, out: list[Event]) -> NoReturn:
        self._give_up(out, "the provider failed before this call was closed")
        raise error_from_object(error, detail=payload_data(payload))
