"""Ollama's own wire, `/api/chat` and `/api/generate`: lines to events.

    {"message": {"content": "..."}, "done": false} ... {"message": {...}, "done": true, "done_reason": "stop", counts}

A line is a message with the next piece in it. Reasoning comes before text and text before calls where one line has them
all. A call is always whole, its arguments an object: it is closed in the line that brings it. `done: true` is the last
word, whatever reason it gives; nothing behind it counts. An error may take the place of any line.

The answer that was not streamed is the same object in one piece, so this decoder reads it as well.

Source: `api/types.go` and `docs/api.md` of Ollama.
"""

from __future__ import annotations

from typing import Final, cast

from pydantic import JsonValue
from pydantic_core import from_json, to_json

from rxstream.errors import TruncatedStreamError
from rxstream.events import (
    Event,
    Finish,
    ProviderEvent,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    Usage,
    UsageUpdate,
    Violation,
)
from rxstream.framing.frames import Payload
from rxstream.limits import DEFAULT_LIMITS, Limits
from rxstream.providers.extras import Extras
from rxstream.providers.fields import JsonObject, WrongTypeError, object_field, string_field, whole_number
from rxstream.providers.finish import normalize_finish, reconcile_finish
from rxstream.providers.http_errors import error_from_object
from rxstream.providers.ollama_plain import PlainLine, StampedTemplate, chat_text, plain_line
from rxstream.providers.part_tracker import PartTracker
from rxstream.providers.payloads import guarded, read_object
from rxstream.providers.tool_assembly import CallIds, OpenCall, check_call_count

__all__ = ("OllamaDecoder",)

LINE_KEYS: Final = frozenset(
    ("model", "created_at", "message", "response", "thinking", "tool_calls", "done", "done_reason", "logprobs", "error")
)
MESSAGE_KEYS: Final = frozenset(("role", "content", "thinking", "tool_calls"))
CALL_KEYS: Final = frozenset(("id", "type", "function"))
FUNCTION_KEYS: Final = frozenset(("index", "name", "arguments"))

COUNT_ENDINGS: Final = ("_count", "_duration")
"""How the names of Ollama's counts and of its durations (in nanoseconds) end; both are what an answer cost."""

MAX_MISSES: Final = 8
"""So many pieces in another shape than expected: then no shape is expected."""


class OllamaDecoder:
    """Decode one stream, or one body, of the wire `ollama`.

    Args:
        limits: `max_arguments_bytes`, `max_tool_calls` and `max_json_depth` bound what is kept.
    """

    __slots__ = (
        "_call_marks",
        "_extras",
        "_has_started",
        "_ids",
        "_limits",
        "_misses",
        "_parts",
        "_plain",
        "_stamped",
        "done",
    )

    def __init__(self, *, limits: Limits | None = None) -> None:
        self.done = False
        self._limits = limits or DEFAULT_LIMITS
        self._ids = CallIds()
        self._parts = PartTracker(0)
        self._extras = Extras()
        self._call_marks: dict[str, int] = {}  # what a call said, by its id; bounded: max_tool_calls
        self._has_started = False
        self._plain: PlainLine | None = None
        self._stamped = StampedTemplate()
        self._misses = 0

    def decode(self, payload: Payload, out: list[Event]) -> None:
        """Append to `out` what a line means; see `Decoder`."""
        plain = self._plain
        if plain is chat_text:  # nearly every line, and most of them hold no more than this
            found = self._stamped.find(payload)
            if found is not None:
                out.append(TextDelta(found[1].decode(), self._parts.part_id))
                return
            try:
                line = from_json(cast(bytes, payload))
                message = line["message"]
                text = message["content"]
                is_plain = (
                    len(message) == 2
                    and message["role"].__class__ is str
                    and text.__class__ is str
                    and line["done"] is False
                    and line.get("error") is None
                    and line.get("logprobs") is None
                )
            except (ValueError, KeyError, TypeError):
                is_plain = False
            if is_plain and text:
                self._stamped.learn(payload, text)
                out.append(TextDelta(text, self._parts.part_id))
                return
        if plain is not None:
            try:
                out.append(plain(payload, self._parts.part_id))
            except ValueError:
                pass
            else:
                return
        self._decode_any(payload, out)

    def close(self, out: list[Event]) -> None:
        """The bytes ended; see `Decoder`."""
        if self.done:
            return
        self.abort(out)
        said = "the last line never came" if self._has_started else "the answer was empty"
        raise TruncatedStreamError(f"the stream ended without its end signal: {said}")

    def abort(self, out: list[Event]) -> None:
        """The stream fails from outside; see `Decoder`. Calls are whole, so only facts that changed often wait."""
        self._extras.flush(out)

    # ------------------------------------------------------------------ any line

    def _decode_any(self, payload: Payload, out: list[Event]) -> None:
        """The long way. Whatever the short way reads, this reads the same."""
        if self.done:
            return  # nothing counts behind the last word
        line = read_object(payload, self._limits.max_json_depth)
        if line.get("error"):
            self.abort(out)
            raise error_from_object(line)
        guarded(payload, WrongTypeError, self._read, line, out)

    def _read(self, line: JsonObject, out: list[Event]) -> None:
        if not self._has_started:
            self._start(line, out)
        is_chat = line.get("message") is not None
        # /api/generate has the fields of a message in the line itself.
        message = object_field(line, "message") if is_chat else {**line, "content": line.get("response")}
        start = len(out)
        self._read_thinking(message, out)
        self._read_content(message, line.get("logprobs"), out)
        self._read_calls(message.get("tool_calls"), out)
        self._expect_more_of(is_chat, out[start:])
        if is_chat:
            self._keep_rest(message, MESSAGE_KEYS, out)
        self._keep_rest(line, LINE_KEYS, out)
        if line.get("done") is True:
            self._finish(line, out)

    def _start(self, line: JsonObject, out: list[Event]) -> None:
        self._has_started = True
        model, created = string_field(line, "model"), string_field(line, "created_at")
        if model or created:
            self._ids.seed = f"{model}/{created}"  # the wire has no id; this one is as good and comes again in a replay
        out.append(ResponseStart(model=model or None))

    def _expect_more_of(self, is_chat: bool, events: list[Event]) -> None:
        """Expect the next line to be as this one, where it was one piece of text or reasoning."""
        plain = plain_line(is_chat, events[0]) if len(events) == 1 else None
        self._misses += plain is not None and plain is self._plain
        self._plain = plain if self._misses < MAX_MISSES else None

    # ------------------------------------------------------------------ content

    def _read_thinking(self, message: JsonObject, out: list[Event]) -> None:
        if text := string_field(message, "thinking"):
            out.append(ReasoningDelta(text, self._parts.enter("reasoning")))

    def _read_content(self, message: JsonObject, logprobs: JsonValue, out: list[Event]) -> None:
        text = string_field(message, "content")
        tokens = logprobs if isinstance(logprobs, list) and logprobs else None
        if text or tokens:
            out.append(TextDelta(text, self._parts.enter("text"), logprobs=tokens))

    def _read_calls(self, value: JsonValue, out: list[Event]) -> None:
        for entry in value if isinstance(value, list) else [value]:
            if isinstance(entry, dict):
                self._read_call(entry, out)
            elif entry is not None:
                raise WrongTypeError("tool_calls", entry)

    def _read_call(self, entry: JsonObject, out: list[Event]) -> None:
        function = object_field(entry, "function")
        name, arguments = string_field(function, "name"), _arguments(function.get("arguments"))
        call_id = self._new_id(string_field(entry, "id"), hash((name, arguments)), out)
        if call_id is None:
            return
        call = OpenCall(self._ids, self._limits, part_id=self._parts.enter_call())
        call.call_id, call.name = call_id, name
        call.start(out)
        call.append(arguments, out)
        if fault := call.decide(out):
            out.append(Violation("invalid_tool_call", f"a finished tool call cannot run: {fault}"))
        rest = {key: entry[key] for key in entry.keys() - CALL_KEYS}
        rest |= {key: function[key] for key in function.keys() - FUNCTION_KEYS}
        self._extras.offer(ProviderEvent("tool_calls", rest, call.part_id), out)

    def _new_id(self, sent: str, mark: int, out: list[Event]) -> str | None:
        """The id of a new call; None where it was sent before, word for word: one that has a name of its own is one."""
        if sent in self._call_marks:
            is_same = self._call_marks[sent] == mark
            out.append(Violation("duplicate_call_id", "two tool calls have the same id"))
            if is_same:
                return None
            sent = ""
        check_call_count(len(self._call_marks), self._limits)
        call_id = sent or self._ids.new()
        self._call_marks[call_id] = mark
        return call_id

    def _keep_rest(self, source: JsonObject, known: frozenset[str], out: list[Event]) -> None:
        for key, value in source.items():
            if key not in known and not key.endswith(COUNT_ENDINGS):
                self._extras.offer(ProviderEvent(key, value), out)

    # ------------------------------------------------------------------ the end

    def _finish(self, line: JsonObject, out: list[Event]) -> None:
        raw = line.get("done_reason")
        if raw is not None and (not isinstance(raw, (str, int)) or isinstance(raw, bool)):
            raise WrongTypeError("done_reason", raw)
        self.done = True
        self._extras.flush(out)
        if costs := {key: value for key, value in line.items() if key.endswith(COUNT_ENDINGS)}:
            # A count that is 0 is left out by the server, so what is missing is not known.
            given, made = whole_number(costs.get("prompt_eval_count")), whole_number(costs.get("eval_count"))
            out.append(UsageUpdate(Usage(input_tokens=given, output_tokens=made, raw=costs)))
        meaning = normalize_finish(raw) or "other"  # missing and empty: it is done, and has not said why
        out.append(Finish(reconcile_finish(meaning, has_calls=bool(self._call_marks)), raw))


def _arguments(value: JsonValue) -> str:
    """Arguments as JSON without blanks; a text is taken as JSON already."""
    return "" if value is None else value if isinstance(value, str) else to_json(value).decode()
