"""OpenAI's text completions, the wire before chat: payloads to events.

A chunk has `choices[].text` and nothing else to say: no roles, no calls. Its end is that of the chat wire: a finish
reason for every choice that began is the end signal, `[DONE]` only closes the stream; reasons wait and are sent last.
The prompt, where it was asked back (`echo`), is text like any other: the wire does not tell the two apart.

Source: OpenAI's published schema of `CreateCompletionResponse`; docs/decisions/002 for what compatible servers do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final, NoReturn, Required

from pydantic import Field, JsonValue, TypeAdapter
from typing_extensions import TypedDict

from rxstream.errors import TruncatedStreamError
from rxstream.events import (
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
from rxstream.providers.extras import Extras
from rxstream.providers.fields import JsonObject, WrongTypeError, object_field, string_field, whole_number
from rxstream.providers.finish import normalize_finish
from rxstream.providers.http_errors import error_from_object, is_error_object
from rxstream.providers.part_tracker import PartTracker
from rxstream.providers.payloads import (
    END_MARKERS,
    event_name,
    guarded,
    is_end_marker,
    is_keep_alive,
    payload_data,
    read_loosely,
    read_object,
)
from rxstream.providers.usage import chat_usage, is_all_zero

__all__ = ("OpenAICompletionsBodyDecoder", "OpenAICompletionsDecoder")


MAX_CHOICES: Final = 1024
"""OpenAI allows 128; each one costs memory."""

CHUNK_KEYS: Final = frozenset(
    {"id", "object", "created", "model", "choices", "usage", "provider", "system_fingerprint", "obfuscation"}
)
CHOICE_KEYS: Final = frozenset(
    {"index", "text", "logprobs", "finish_reason", "stop_reason", "reasoning", "reasoning_content"}
)
"""Keys that are read for their own sake, or that say nothing about the answer."""

REASONING_KEYS: Final = ("reasoning_content", "reasoning")

LOGPROB_LISTS: Final = {"tokens": "token", "token_logprobs": "logprob", "top_logprobs": "top_logprobs"}
"""The wire has a list for each fact of the tokens; an entry here has all facts of one token."""


class _PlainChoice(TypedDict, total=False):
    index: Required[int]
    text: Required[Annotated[str, Field(min_length=1)]]
    finish_reason: None
    logprobs: None
    error: None
    reasoning: None
    reasoning_content: None


class _PlainChunk(TypedDict, total=False):
    choices: Required[Annotated[list[_PlainChoice], Field(min_length=1, max_length=1)]]
    usage: None
    error: None


_read_plain: Final[Callable[[Any], Any]] = TypeAdapter(_PlainChunk).validator.validate_json
"""Reads a chunk that is one plain piece of text; raises `ValueError` for any other. Keys without a name are skipped."""


class _Choice:
    """One answer among several."""

    __slots__ = ("detail", "finish_raw", "index", "parts")

    def __init__(self, index: int) -> None:
        self.index = index
        self.parts = PartTracker(index)
        self.finish_raw: str | int | None = None
        self.detail: JsonValue = None

    def finish(self) -> Finish:
        """Its finish, which was seen."""
        return Finish(normalize_finish(self.finish_raw) or "other", self.finish_raw, self.index, self.detail)


class OpenAICompletionsDecoder:
    """Decode one stream of the wire `openai-completions`.

    Args:
        limits: `max_json_depth` bounds the nesting of a payload.
    """

    __slots__ = (
        "_choices",
        "_extras",
        "_has_ended",
        "_has_started",
        "_limits",
        "_open_parts",
        "_usage_raw",
        "_zero_usage",
        "done",
    )

    def __init__(self, *, limits: Limits | None = None) -> None:
        self.done = False
        self._limits = limits or DEFAULT_LIMITS
        self._extras = Extras()
        self._choices: dict[int, _Choice] = {}  # bounded: MAX_CHOICES
        self._open_parts: dict[int, str] = {}  # the part of each choice whose next plain text only continues it
        self._has_started = False
        self._has_ended = False
        self._usage_raw: JsonValue = None
        self._zero_usage: UsageUpdate | None = None

    def decode(self, payload: Payload, out: list[Event]) -> None:
        """Append to `out` what `payload` means; see `Decoder`."""
        if self._open_parts:
            try:
                choice = _read_plain(payload)["choices"][0]
                out.append(TextDelta(choice["text"], self._open_parts[choice["index"]], choice["index"]))
            except (ValueError, KeyError):
                self._decode_any(payload, out)
        else:
            self._decode_any(payload, out)

    def close(self, out: list[Event]) -> None:
        """The bytes ended without `[DONE]`; see `Decoder`."""
        if not self._has_ended:
            self._conclude(out, Violation("missing_done", "the stream ended with a finish reason but without [DONE]"))

    def abort(self, out: list[Event]) -> None:
        """The stream fails from outside; see `Decoder`."""
        self._end(out)

    # -------------------------------------------------------------- chunks

    def _decode_any(self, payload: Payload, out: list[Event]) -> None:
        """The long way. Whatever the short way reads, this reads the same."""
        if self._has_ended:
            return  # nothing counts behind the last word
        if is_end_marker(payload):
            self.done = True
            self._conclude(out)
        elif event_name(payload) == "error":
            self._fail(read_loosely(payload), payload, out)
        elif not is_keep_alive(payload):
            self._guard(read_object(payload, self._limits.max_json_depth), payload, out)

    def _guard(self, chunk: JsonObject, payload: Payload, out: list[Event]) -> None:
        if is_error_object(chunk):
            self._take_usage(chunk, out)
            self._fail(chunk, payload, out)
        guarded(payload, WrongTypeError, self._read_chunk, chunk, payload, out)

    def _read_chunk(self, chunk: JsonObject, payload: Payload, out: list[Event]) -> None:
        choices = chunk.get("choices")
        entries: list[JsonValue] = choices if isinstance(choices, list) else [choices] if choices else []
        if not self._has_started:
            self._start(chunk, bool(entries), out)
        for position, entry in enumerate(entries):
            if isinstance(entry, dict):
                self._read_choice(entry, position, payload, out)
            elif entry is not None:
                raise WrongTypeError("choices", entry)
        self._take_usage(chunk, out)
        if not chunk.keys() <= CHUNK_KEYS:
            self._keep(chunk, CHUNK_KEYS, 0, out)

    def _read_choice(self, entry: JsonObject, position: int, payload: Payload, out: list[Event]) -> None:
        choice = self._choice(entry.get("index"), position)
        self._open_parts.pop(choice.index, None)
        self._read_text(choice, entry, out)
        if error := entry.get("error"):
            self._fail({"error": error}, payload, out)
        self._take_finish(choice, entry)
        if not entry.keys() <= CHOICE_KEYS:
            self._keep(entry, CHOICE_KEYS, choice.index, out)

    def _read_text(self, choice: _Choice, entry: JsonObject, out: list[Event]) -> None:
        reasoning = next(filter(None, (string_field(entry, key) for key in REASONING_KEYS)), "")
        text, logprobs = string_field(entry, "text"), _logprobs(entry)
        if choice.finish_raw is not None and (text or reasoning):
            message = "content came after a finish reason; it was kept, and the last finish reason counts"
            out.append(Violation("content_after_finish", message, 1, choice.index))
        if reasoning:
            out.append(ReasoningDelta(reasoning, choice.parts.enter("reasoning"), choice.index))
        if text or logprobs:
            out.append(TextDelta(text, choice.parts.enter("text"), choice.index, logprobs))
            if not logprobs and choice.finish_raw is None and self._usage_raw is None:
                self._open_parts[choice.index] = choice.parts.part_id

    def _take_finish(self, choice: _Choice, entry: JsonObject) -> None:
        raw = entry.get("finish_reason")
        if isinstance(raw, (str, int)) and not isinstance(raw, bool) and raw != "":
            choice.finish_raw = raw
            choice.detail = {"stop_reason": entry["stop_reason"]} if entry.get("stop_reason") is not None else None
            self._open_parts.pop(choice.index, None)
        elif raw not in (None, "", False):
            raise WrongTypeError("finish_reason", raw)

    def _choice(self, value: JsonValue, position: int) -> _Choice:
        index = position if value is None else whole_number(value)
        if index is None or index < 0:
            raise WrongTypeError("index", value)
        choice = self._choices.get(index)
        if choice is None:
            if len(self._choices) >= MAX_CHOICES:
                raise WrongTypeError("choices", value)
            choice = self._choices[index] = _Choice(index)
        return choice

    # -------------------------------------------------------------- what stands beside the choices

    def _start(self, chunk: JsonObject, has_choices: bool, out: list[Event]) -> None:
        """The answer begins with the first chunk that says whose it is, or that has a choice."""
        response_id, model, provider = (string_field(chunk, key) or None for key in ("id", "model", "provider"))
        if has_choices or response_id or model:
            self._has_started = True
            out.append(ResponseStart(response_id, model, provider))

    def _take_usage(self, chunk: JsonObject, out: list[Event]) -> None:
        """The last usage object counts. A new one is sent at once, zeros only where nothing else ever came."""
        raw = chunk.get("usage")
        if not isinstance(raw, dict) or not raw or raw == self._usage_raw:
            return
        update = UsageUpdate(chat_usage(raw))
        if is_all_zero(update.usage):
            self._zero_usage = update if self._usage_raw is None else self._zero_usage
            return
        self._usage_raw, self._zero_usage = raw, None
        out.append(update)

    def _keep(self, source: JsonObject, known: frozenset[str], choice: int, out: list[Event]) -> None:
        for key, value in source.items():
            if key not in known:
                self._extras.offer(ProviderEvent(key, value, choice=choice), out)

    # -------------------------------------------------------------- the end

    def _conclude(self, out: list[Event], *notes: Event) -> None:
        begun = self._choices.values()
        is_whole = bool(begun) and all(choice.finish_raw is not None for choice in begun)
        out.extend(notes if is_whole else ())
        self._end(out)
        if not is_whole:
            said = "no finish reason came" if begun else "the answer was empty"
            raise TruncatedStreamError(f"the stream ended without its end signal: {said}")

    def _end(self, out: list[Event]) -> None:
        """Send what waited, once: what is said at the end, and every finish that was seen."""
        if self._has_ended:
            return
        self._has_ended = True
        self._open_parts.clear()
        self._extras.flush(out)
        if self._zero_usage is not None:
            out.append(self._zero_usage)
        out.extend(choice.finish() for _, choice in sorted(self._choices.items()) if choice.finish_raw is not None)

    def _fail(self, error: JsonValue, payload: Payload, out: list[Event]) -> NoReturn:
        self._end(out)
        raise error_from_object(error, detail=payload_data(payload))


class OpenAICompletionsBodyDecoder(OpenAICompletionsDecoder):
    """Decode one body of the wire, which was not streamed: what a stream would have said in one chunk."""

    __slots__ = ()

    def decode(self, payload: Payload, out: list[Event]) -> None:
        super().decode(payload, out)
        super().decode(END_MARKERS[0], out)


def _logprobs(entry: JsonObject) -> list[JsonValue] | None:
    """The facts of each token of this piece; None where the wire sent none."""
    source = object_field(entry, "logprobs")
    lists = {name: facts for key, name in LOGPROB_LISTS.items() if isinstance(facts := source.get(key), list)}
    count = max(map(len, lists.values()), default=0)
    entries: list[JsonValue] = [
        {name: facts[place] for name, facts in lists.items() if place < len(facts)} for place in range(count)
    ]
    return entries or None
