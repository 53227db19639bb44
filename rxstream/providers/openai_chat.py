"""OpenAI Chat Completions, and everything that calls itself compatible with it.

One decoder reads them all; what a server does in its own way is recognized by its keys, and the little that cannot be
is a row of data (`dialects`). A plain piece of text, the bulk of every stream, takes a short way: it is proved to be
plain and becomes one event. Everything else takes the long way, which is tolerant and would read plain text the same.

The end. A finish reason for every choice that began is the end signal, `[DONE]` only closes the stream: a server may
send a reason early and go on, so reasons wait, calls are decided by them, and both are sent last. An error, or bytes
that end too early, leaves every call undecided: none of them may run.

Source: OpenAI's published schema of `CreateChatCompletionStreamResponse`; docs/decisions/002.
"""

from __future__ import annotations

from typing import Final, NoReturn

from pydantic import JsonValue

from rxstream.errors import TruncatedStreamError
from rxstream.events import (
    Annotation,
    Event,
    ProviderEvent,
    ResponseStart,
    TextDelta,
    UsageUpdate,
    Violation,
)
from rxstream.framing.frames import Payload
from rxstream.limits import DEFAULT_LIMITS, Limits
from rxstream.providers.call_table import Contradiction
from rxstream.providers.dialects import CHAT_DIALECTS, ChatDialect
from rxstream.providers.extras import Extras
from rxstream.providers.fields import JsonObject, WrongTypeError, whole_number
from rxstream.providers.http_errors import error_from_object, is_error_object
from rxstream.providers.openai_chat_choice import ChatChoice
from rxstream.providers.openai_chat_plain import PlainReader, read_plain_text, read_wide_text
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
from rxstream.providers.tool_assembly import CallIds
from rxstream.providers.usage import chat_usage, is_all_zero

__all__ = ("OpenAIChatDecoder",)


MAX_CHOICES: Final = 1024
"""OpenAI allows 128; each one costs memory."""

MAX_MISSES: Final = 8
"""So many pieces of text in another shape than expected: then another shape is expected."""

PLAIN_KEYS: Final = frozenset(
    (
        *("id", "object", "created", "model", "choices", "usage"),
        *("provider", "service_tier", "system_fingerprint", "obfuscation", "p"),
    )
)
"""Top-level keys that are read for their own sake, or that say nothing about the answer."""

SOURCE_KEYS: Final = {"citations": "citation", "search_results": "search_result"}
"""Lists that Perplexity repeats in every chunk, and what one of their entries is."""


class OpenAIChatDecoder:
    """Decode one stream of the chat wire.

    Args:
        dialect: what its server does in its own way.
        limits: `max_arguments_bytes`, `max_tool_calls` and `max_json_depth` bound what is kept.
    """

    def __init__(self, dialect: ChatDialect = CHAT_DIALECTS["openai-chat"], *, limits: Limits | None = None) -> None:
        self.done = False
        self._dialect = dialect
        self._limits = limits or DEFAULT_LIMITS
        self._ids = CallIds()
        self._extras = Extras()
        self._choices: dict[int, ChatChoice] = {}  # bounded: MAX_CHOICES
        self._open_parts: dict[int, str] = {}  # the part of each choice whose next plain text only continues it
        self._read_plain: PlainReader | None = None
        self._misses = 0
        self._template = TextTemplate("content")
        self._match = self._template.match
        self._template_index = 0
        self._has_started = False
        self._has_ended = False
        self._usage_raw: JsonValue = None
        self._zero_usage: UsageUpdate | None = None
        self._sources: dict[str, list[JsonValue]] = {}

    def decode(self, payload: Payload, out: list[Event]) -> None:
        """Append to `out` what `payload` means; see `Decoder`."""
        read_plain = self._read_plain
        if read_plain is not None:
            index = self._template_index
            if payload.__class__ is bytes and index in self._open_parts and (text := self._match(payload)):
                out.append(TextDelta(text, self._open_parts[index], index))
                return
            try:
                choice = read_plain(payload)["choices"][0]
                index, text = choice["index"], choice["delta"]["content"]
                out.append(TextDelta(text, self._open_parts[index], index))
            except (ValueError, KeyError):
                pass
            else:
                if self._template.learn(payload, text):
                    self._template_index = index
                return
        self._decode_any(payload, out)

    def close(self, out: list[Event]) -> None:
        """The bytes ended without `[DONE]`; see `Decoder`."""
        if self._has_ended:
            return
        if self._dialect.sends_done and not self._missing_finish():
            message = "the stream ended with a finish reason but without [DONE]"
            self._conclude(out, Violation("missing_done", message))
        else:
            self._conclude(out)

    def abort(self, out: list[Event]) -> None:
        """The stream fails from outside; see `Decoder`."""
        self._give_up(out, "the stream failed before this call was closed")

    # -------------------------------------------------------------- frames

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
            chunk = read_object(payload, self._limits.max_json_depth)
            guarded(payload, (WrongTypeError, Contradiction), self._read_chunk, chunk, payload, out)

    def _read_chunk(self, chunk: JsonObject, payload: Payload, out: list[Event]) -> None:
        is_plain = chunk.keys() <= PLAIN_KEYS
        if not is_plain and (error := _error_in(chunk)) is not None:
            self._take_usage(chunk, out)
            self._fail(error, payload, out)
        choices = chunk.get("choices")
        entries: list[JsonValue] = choices if isinstance(choices, list) else [choices] if choices else []
        if not self._has_started:
            self._start(chunk, bool(entries), out)
        if not is_plain:
            self._take_sources(chunk, out)
        has_usage = not is_plain or bool(chunk.get("usage"))
        for position, entry in enumerate(entries):
            if isinstance(entry, dict):
                self._read_choice(entry, position, payload, out)
                has_usage = has_usage or "usage" in entry
            elif entry is not None:
                raise WrongTypeError("choices", entry)
        if has_usage:
            self._take_usage(chunk, out)
        if not is_plain:
            self._keep_rest(chunk, out)

    def _read_choice(self, entry: JsonObject, position: int, payload: Payload, out: list[Event]) -> None:
        choice = self._choice(entry.get("index"), position)
        error = entry.get("error")
        was_fluent = self._open_parts.pop(choice.index, None) is not None
        choice.read(entry, out, with_finish=not error)
        if choice.is_fluent:
            self._open_parts[choice.index] = choice.parts.part_id
            self._misses += was_fluent
        self._read_plain = self._plain_reader()
        if error:
            self._fail(error, payload, out)

    def _plain_reader(self) -> PlainReader | None:
        """What the short way tries next. A server has one shape of text: after some misses another, at last none."""
        if not self._open_parts or self._misses >= 2 * MAX_MISSES:
            return None
        return read_plain_text if self._misses < MAX_MISSES else read_wide_text

    def _choice(self, value: JsonValue, position: int) -> ChatChoice:
        index = position if value is None else whole_number(value)
        if index is None:
            raise WrongTypeError("index", value)
        choice = self._choices.get(index)
        if choice is None:
            if index < 0 or len(self._choices) >= MAX_CHOICES:
                raise Contradiction(f"a choice's index is negative, or there are more than {MAX_CHOICES}")
            choice = ChatChoice(index, self._dialect, self._limits, self._ids, self._extras)
            self._choices[index] = choice
        return choice

    # -------------------------------------------------------------- what stands beside the choices

    def _start(self, chunk: JsonObject, has_choices: bool, out: list[Event]) -> None:
        """The answer begins with the first chunk that says whose it is, or that has a choice."""
        response_id, model = _text_of(chunk.get("id")), _text_of(chunk.get("model"))
        if response_id or model or has_choices:
            self._has_started = True
            self._ids.seed = response_id or ""
            provider = _text_of(chunk.get("provider")) or self._dialect.provider
            out.append(ResponseStart(response_id, model, provider))
            self._keep_tier(chunk, out)

    def _take_usage(self, chunk: JsonObject, out: list[Event]) -> None:
        """The last usage object counts. A new one is sent at once, zeros only where nothing else ever came."""
        raw = _usage_in(chunk)
        if raw is None or raw == self._usage_raw:
            return
        update = UsageUpdate(chat_usage(raw))
        if is_all_zero(update.usage):
            self._zero_usage = update if self._usage_raw is None else self._zero_usage
            return
        self._usage_raw = raw
        self._zero_usage = None
        out.append(update)
        self._keep_tier(chunk, out)

    def _take_sources(self, chunk: JsonObject, out: list[Event]) -> None:
        """Lists that are repeated in every chunk and may grow: only what is new in them is sent."""
        for key, kind in SOURCE_KEYS.items():
            entries = chunk.get(key)
            before = self._sources.get(key, [])
            if isinstance(entries, list) and entries and entries != before:
                known = len(before) if entries[: len(before)] == before else 0
                self._sources[key] = entries
                out.extend(Annotation(kind, entry) for entry in entries[known:])

    def _keep_tier(self, chunk: JsonObject, out: list[Event]) -> None:
        """Which tier served the answer: it decides the price, and is looked at where it can be new."""
        self._extras.offer(ProviderEvent("service_tier", chunk.get("service_tier")), out)

    def _keep_rest(self, chunk: JsonObject, out: list[Event]) -> None:
        for key, value in chunk.items():
            if key == "x_groq" and isinstance(value, dict):
                value = {name: fact for name, fact in value.items() if name != "usage"}
            elif key in PLAIN_KEYS or key == "error" or (key in SOURCE_KEYS and isinstance(value, list)):
                continue
            self._extras.offer(ProviderEvent(key, value), out)

    # -------------------------------------------------------------- the end

    def _missing_finish(self) -> bool:
        """Whether the end signal is not there: a finish reason for every choice that began, and one that did."""
        begun = [choice for choice in self._choices.values() if choice.has_begun]
        return not begun or any(choice.finish_raw is None for choice in begun)

    def _conclude(self, out: list[Event], *notes: Event) -> None:
        begun = [choice for _, choice in sorted(self._choices.items()) if choice.has_begun]
        is_enough = self.done and not self._dialect.sends_finish and bool(begun)
        if self._missing_finish() and not is_enough:
            self._give_up(out, "the stream ended before this call was closed")
            said = "no finish reason came" if begun else "the answer was empty"
            raise TruncatedStreamError(f"the stream ended without its end signal: {said}")
        self._end(out)
        out.extend(notes)
        for choice in begun:
            choice.decide(out)
        out.extend(choice.finish() for choice in begun)

    def _give_up(self, out: list[Event], why: str) -> None:
        """What must not be lost: calls that will never close, as such, and every finish that was seen."""
        if self._has_ended:
            return
        self._end(out)
        choices = [choice for _, choice in sorted(self._choices.items())]
        for choice in choices:
            choice.calls.cut_off(out, why)
        out.extend(choice.finish() for choice in choices if choice.finish_raw is not None)

    def _end(self, out: list[Event]) -> None:
        self._has_ended = True
        self._read_plain = None
        self._extras.flush(out)
        if self._zero_usage is not None:
            out.append(self._zero_usage)

    def _fail(self, error: JsonValue, payload: Payload, out: list[Event]) -> NoReturn:
        self._give_up(out, "the provider failed before this call was closed")
        raise error_from_object(error, detail=payload_data(payload))


def _error_in(chunk: JsonObject) -> JsonValue:
    """The object that says that something failed, in any of the places it is put; None where nothing did."""
    if is_error_object(chunk):
        return chunk
    groq = chunk.get("x_groq")
    error = groq.get("error") if isinstance(groq, dict) else None
    return {"error": error} if error else None


def _usage_in(chunk: JsonObject) -> JsonObject | None:
    """The usage object: at the top, beside it (Groq), or in a choice (Moonshot); the first that is not empty."""
    usage = chunk.get("usage")
    if isinstance(usage, dict) and usage:
        return usage
    choices = chunk.get("choices")
    for place in (chunk.get("x_groq"), *(choices if isinstance(choices, list) else ())):
        usage = place.get("usage") if isinstance(place, dict) else None
        if isinstance(usage, dict) and usage:
            return usage
    return None


def _text_of(value: JsonValue) -> str | None:
    return value or None if isinstance(value, str) else str(value) if type(value) is int else None
