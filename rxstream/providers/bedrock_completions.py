"""Models behind InvokeModel whose stream is nothing but text: a row of data for each vendor's names.

A chunk has the next piece of text, and the last one says why it stopped. Llama, Titan, Mistral's completions, Cohere's
Command and Claude 2 differ only in what they call these. Where they count no tokens of their own, the service's counts
stand for the usage.

Source: the pages on inference parameters in Bedrock's user guide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from pydantic import JsonValue

from rxstream.errors import TruncatedStreamError
from rxstream.events import Event, Finish, FinishReason, ProviderEvent, ResponseStart, TextDelta, Usage, UsageUpdate
from rxstream.framing.frames import Payload
from rxstream.limits import DEFAULT_LIMITS, Limits
from rxstream.providers.bedrock_message import converse_usage
from rxstream.providers.extras import Extras
from rxstream.providers.fields import JsonObject, WrongTypeError, string_field, whole_number
from rxstream.providers.finish import FINISH_REASONS, normalize_finish
from rxstream.providers.http_errors import error_from_object, is_error_object
from rxstream.providers.payloads import guarded, read_object

__all__ = ("CompletionDecoder", "CompletionShape", "completion_shape")

PART: Final = "0"

WORDS: Final[Mapping[str, FinishReason]] = MappingProxyType(
    {
        **FINISH_REASONS,
        # Titan
        "finish": "stop",
        "finished": "stop",
        "stop_criteria_met": "stop_sequence",
        # Cohere's Command
        "error_limit": "length",
        "error_toxic": "content_filter",
    }
)
"""What these vendors say, in lower case, to what it means."""

UNTOLD: Final = frozenset(("index", "is_finished", "type"))


@dataclass(frozen=True, slots=True)
class CompletionShape:
    """What one vendor calls the fields of a chunk.

    Args:
        text: the piece of text.
        stop: why it stopped; null until it has.
        given: the count of input tokens.
        made: the count of output tokens, of all chunks so far.
        inside: the list whose first object has text and reason; empty where the chunk itself has them.
    """

    text: str
    stop: str
    given: str = ""
    made: str = ""
    inside: str = ""


SHAPES: Final[Mapping[str, CompletionShape]] = MappingProxyType(
    {
        "generation": CompletionShape("generation", "stop_reason", "prompt_token_count", "generation_token_count"),
        "outputText": CompletionShape(
            "outputText", "completionReason", "inputTextTokenCount", "totalOutputTextTokenCount"
        ),
        "outputs": CompletionShape("text", "stop_reason", inside="outputs"),
        "completion": CompletionShape("completion", "stop_reason"),
        "is_finished": CompletionShape("text", "finish_reason"),
    }
)
"""By a key that the vendor's chunks have: Llama, Titan, Mistral, Claude 2, Cohere's Command."""


def completion_shape(chunk: JsonObject) -> CompletionShape | None:
    """Whose chunk it is; None where it is nobody's."""
    return next((shape for key, shape in SHAPES.items() if key in chunk), None)


class CompletionDecoder:
    """Decode the chunks of one stream.

    Args:
        shape: whose they are.
        limits: `max_json_depth` bounds the nesting of a chunk.
    """

    __slots__ = ("_counts", "_extras", "_has_started", "_limits", "_shape", "_stop_reason", "done")

    def __init__(self, shape: CompletionShape, *, limits: Limits | None = None) -> None:
        self.done = False
        self._shape = shape
        self._limits = limits or DEFAULT_LIMITS
        self._extras = Extras()
        self._has_started = False
        self._stop_reason = ""
        self._counts: JsonObject = {}

    def decode(self, payload: Payload, out: list[Event]) -> None:
        """Append to `out` what a chunk means; see `Decoder`."""
        chunk = read_object(payload, self._limits.max_json_depth)
        guarded(payload, WrongTypeError, self._read, chunk, out)

    def take_metrics(self, metrics: JsonValue, out: list[Event]) -> None:
        """Take the service's own counts: they stand for the usage where the vendor counts nothing."""
        if isinstance(metrics, dict) and not self._counts:
            out.append(UsageUpdate(converse_usage(metrics)))

    def close(self, out: list[Event]) -> None:
        """The bytes ended; see `Decoder`."""
        has_reason = bool(self._stop_reason)
        self.abort(out)
        if not has_reason:
            raise TruncatedStreamError("the stream ended without a stop reason")

    def abort(self, out: list[Event]) -> None:
        """The stream fails from outside; see `Decoder`."""
        self._extras.flush(out)
        if (reason := normalize_finish(self._stop_reason, WORDS)) is not None:
            out.append(Finish(reason, self._stop_reason))
            self._stop_reason = ""

    def _read(self, chunk: JsonObject, out: list[Event]) -> None:
        shape = self._shape
        if shape.text not in chunk and is_error_object(chunk):
            raise error_from_object(chunk)
        if not self._has_started:
            self._has_started = True
            out.append(ResponseStart())
        holder = _first(chunk[shape.inside]) if shape.inside in chunk else chunk
        if text := string_field(holder, shape.text):
            out.append(TextDelta(text, PART))
        self._stop_reason = string_field(holder, shape.stop) or self._stop_reason
        self._take_counts(chunk, out)
        known = UNTOLD | {shape.text, shape.stop, shape.given, shape.made, shape.inside}
        for key, value in {**holder, **chunk}.items():
            if key not in known:
                self._extras.offer(ProviderEvent(key, value), out)

    def _take_counts(self, chunk: JsonObject, out: list[Event]) -> None:
        """Counts are those so far; they are told once, with the last chunk."""
        given, made = self._shape.given, self._shape.made
        self._counts |= {key: value for key in (given, made) if (value := chunk.get(key)) is not None}
        if self._stop_reason and self._counts:
            usage = Usage(whole_number(self._counts.get(given)), whole_number(self._counts.get(made)))
            usage.raw = dict(self._counts)
            out.append(UsageUpdate(usage))


def _first(value: JsonValue) -> JsonObject:
    entry = value[0] if isinstance(value, list) and value else {}
    if not isinstance(entry, dict):
        raise WrongTypeError("outputs", entry)
    return entry
