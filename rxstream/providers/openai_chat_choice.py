"""One choice of a chat stream: its deltas become events, its finish reason waits for the end.

A delta is read in one order, whatever the order of its keys: reasoning, text, refusal, media, annotations, calls. Each
key has its own small reader in a table; what no reader knows is kept as a `ProviderEvent`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from pydantic import JsonValue
from pydantic_core import to_json

from rxstream.events import (
    CONTENT_EVENTS,
    Annotation,
    Event,
    Finish,
    FinishReason,
    MediaDelta,
    ProviderEvent,
    ReasoningDelta,
    ReasoningSignature,
    RefusalDelta,
    SignatureKind,
    TextDelta,
    Violation,
)
from rxstream.limits import Limits
from rxstream.providers.call_table import CallTable, read_piece, read_pieces
from rxstream.providers.content_parts import ContentPiece, read_content
from rxstream.providers.cortex_delta import as_chat_delta
from rxstream.providers.cumulative import CumulativeText, GrowthDetector
from rxstream.providers.dialects import ChatDialect
from rxstream.providers.extras import Extras
from rxstream.providers.fields import JsonObject, WrongTypeError, object_field, string_field
from rxstream.providers.finish import is_broken_off, normalize_finish, reconcile_finish
from rxstream.providers.openai_chat_reasoning import BLOCK_KEYS, REASONING_KEYS, read_reasoning
from rxstream.providers.part_tracker import PartTracker
from rxstream.providers.tool_assembly import CallIds, OpenCall

__all__ = ("ChatChoice",)

FUNCTION_CALL_INDEX: Final = -1
"""The place of the one call of the old `function_call` form: no wire uses it."""

FINISH_DETAILS: Final = ("native_finish_reason", "stop_reason", "matched_stop")

KNOWN_CHOICE_KEYS: Final = frozenset(
    ("index", "delta", "finish_reason", "logprobs", "message", "text", "error", "usage", "seed", "token_ids")
).union(FINISH_DETAILS)

TEXT_DELTA_KEYS: Final = REASONING_KEYS | {"role", "content", "index", "channel", "token_id"}
"""Keys of a delta that is text and reasoning, or that says nothing about the answer."""

PLAIN_ENTRY_KEYS: Final = frozenset(["index", "id", "type", "function", "custom"])


class ChatChoice:
    """What is known of one choice.

    Args:
        index: the wire's number of it.
        dialect: what its server does in its own way.
        limits: bounds its calls.
        ids: makes ids for calls without one.
        extras: keeps what has no member, for all choices.
    """

    __slots__ = (
        "_cumulative",
        "_detector",
        "_dialect",
        "_extras",
        "_finish_detail",
        "_has_late_content",
        "_has_refusal",
        "calls",
        "finish_raw",
        "has_begun",
        "index",
        "parts",
    )

    def __init__(self, index: int, dialect: ChatDialect, limits: Limits, ids: CallIds, extras: Extras) -> None:
        self.index = index
        self.parts = PartTracker(index)
        self.calls = CallTable(index, ids, limits, self.parts.enter_call, has_name_pieces=dialect.has_name_pieces)
        self.finish_raw: str | int | None = None
        self.has_begun = False
        self._finish_detail: JsonValue = None
        self._has_refusal = False
        self._has_late_content = False
        self._dialect = dialect
        self._extras = extras
        self._cumulative = CumulativeText(index) if dialect.has_cumulative_text else None
        self._detector: GrowthDetector | None = None if dialect.has_cumulative_text else GrowthDetector(index)

    @property
    def is_fluent(self) -> bool:
        """Whether a further plain piece of text only continues the open part: nothing about it needs a look."""
        return (
            self.parts.kind == "text"
            and self.finish_raw is None
            and self._detector is None
            and self._cumulative is None
        )

    def read(self, choice: JsonObject, out: list[Event], *, with_finish: bool = True) -> None:
        """Read one entry of `choices`.

        Raises:
            WrongTypeError: a field cannot be understood; `out` has what came before it.
            Contradiction: a piece of a call contradicts the ones before.
            LimitError: a call, or their number, is over its limit.
        """
        delta = _delta(choice)
        if delta is not None:
            self.has_begun = True
            start = len(out)
            self._read_delta(delta, choice.get("logprobs"), out)
            if self.finish_raw is not None and not self._has_late_content:
                self._watch_late_content(out, start)
        if with_finish and (raw := choice.get("finish_reason")) not in (None, "", False):
            self._take_finish(raw, choice)
        if not choice.keys() <= KNOWN_CHOICE_KEYS:
            self._keep(choice, KNOWN_CHOICE_KEYS, out)

    def decide(self, out: list[Event]) -> None:
        """The stream has ended as it should: send the verdict on every call."""
        self.calls.decide(out, self._finish_reason(), is_broken_off=is_broken_off(self.finish_raw))

    def finish(self) -> Finish:
        """The finish of this choice, by what was seen of it."""
        return Finish(self._finish_reason(), self.finish_raw, self.index, self._finish_detail)

    def _finish_reason(self) -> FinishReason:
        # A server that never says why it stopped (a dialect) has said nothing that could be made up here.
        reason = normalize_finish(self.finish_raw)
        if reason is None:
            return "tool_calls" if len(self.calls) else "other"
        return reconcile_finish(reason, has_calls=len(self.calls) > 0, has_refusal=self._has_refusal)

    def _take_finish(self, raw: JsonValue, choice: JsonObject) -> None:
        """Remember the last reason: some servers send one early and go on."""
        is_plain = isinstance(raw, (str, int)) and not isinstance(raw, bool)
        self.finish_raw = cast("str | int", raw) if is_plain else to_json(raw).decode()
        self.has_begun = True
        detail = {key: choice[key] for key in FINISH_DETAILS if choice.get(key) not in (None, raw)}
        self._finish_detail = detail or self._finish_detail

    def _watch_late_content(self, out: list[Event], start: int) -> None:
        if any(isinstance(event, CONTENT_EVENTS) for event in out[start:]):
            self._has_late_content = True
            message = "content came after a finish reason; it was kept, and the last finish reason counts"
            out.append(Violation("content_after_finish", message, 1, self.index))

    def _read_delta(self, delta: JsonObject, logprobs: JsonValue, out: list[Event]) -> None:
        if not REASONING_KEYS.isdisjoint(delta):
            self._read_reasoning(delta, out)
        token_logprobs = self._read_logprobs(logprobs, out) if logprobs else None
        content = delta.get("content")
        if isinstance(content, str):
            self._add_text(content, out, token_logprobs)
        elif content is not None or token_logprobs:
            self._read_parts(content, out, token_logprobs)
        if not delta.keys() <= TEXT_DELTA_KEYS:
            for key, reader in _DELTA_READERS:
                if value := delta.get(key):
                    reader(self, value, out)
            self._keep(delta, KNOWN_DELTA_KEYS, out)

    def _add_text(self, text: str, out: list[Event], logprobs: list[JsonValue] | None = None) -> None:
        if self._cumulative is not None:
            text = self._cumulative.new_text("text", text, out)
        if text or logprobs:
            out.append(TextDelta(text, self.parts.enter("text"), self.index, logprobs))
            if self._detector is not None and self._detector.watch(text, out):
                self._detector = None

    def _add_reasoning(self, text: str, out: list[Event]) -> None:
        if self._cumulative is not None:
            text = self._cumulative.new_text("reasoning", text, out)
        if text:
            out.append(ReasoningDelta(text, self.parts.enter("reasoning"), self.index))

    def _add_refusal(self, value: JsonValue, out: list[Event]) -> None:
        if not isinstance(value, str):
            raise WrongTypeError("refusal", value)
        self._has_refusal = True
        out.append(RefusalDelta(value, self.parts.enter("refusal"), self.index))

    def _add_signature(self, data: str, kind: SignatureKind, part_id: str, out: list[Event]) -> None:
        if data:
            out.append(ReasoningSignature(data, part_id, self.index, kind))

    def _add_annotation(self, kind: str, data: JsonValue, out: list[Event]) -> None:
        part_id = self.parts.part_id if self.parts.kind == "text" else ""
        out.append(Annotation(kind, data, part_id, self.index))

    def _read_reasoning(self, delta: JsonObject, out: list[Event]) -> None:
        plain = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(plain, str) and BLOCK_KEYS.isdisjoint(delta):
            self._add_reasoning(plain, out)  # nearly all reasoning: the shorter of two ways that agree
            return
        for piece in read_reasoning(delta):
            if piece.text:
                self.parts.enter("reasoning", piece.key)
                self._add_reasoning(piece.text, out)
            if piece.signature:
                part_id = self.parts.reasoning_part(piece.key)
                self._add_signature(piece.signature, piece.signature_kind, part_id, out)
                if piece.raw is not None:
                    out.append(ProviderEvent("reasoning_details", piece.raw, part_id, self.index))

    def _read_logprobs(self, logprobs: JsonValue, out: list[Event]) -> list[JsonValue] | None:
        """The entries for the text of this chunk; those of another kind of text are kept beside it."""
        if not isinstance(logprobs, dict):
            return None
        others: JsonValue = {key: value for key, value in logprobs.items() if value and key != "content"}
        if others:
            out.append(ProviderEvent("logprobs", others, self.parts.part_id, self.index))
        content = logprobs.get("content")
        return content if isinstance(content, list) and content else None

    def _read_parts(self, content: JsonValue, out: list[Event], logprobs: list[JsonValue] | None) -> None:
        for piece in read_content(content) if content is not None else ():
            if piece.kind == "text":
                self._add_text(piece.text, out, logprobs)
                logprobs = None
            else:
                _PIECE_READERS[piece.kind](self, piece, out)
        if logprobs:
            self._add_text("", out, logprobs)

    def _read_audio(self, value: JsonValue, out: list[Event]) -> None:
        """Audio of the answer: OpenAI streams it as PCM, and its words as a transcript."""
        audio = object_field({"audio": value}, "audio")
        self._add_text(string_field(audio, "transcript"), out)
        if data := string_field(audio, "data"):
            media_type = f"audio/{string_field(audio, 'format') or 'pcm'}"
            out.append(MediaDelta(media_type, data, self.parts.enter(media_type), self.index))
        facts = {key: audio[key] for key in audio.keys() - {"transcript", "data", "format"}}
        self._extras.offer(ProviderEvent("audio", facts, self.parts.part_id, self.index), out)

    def _read_images(self, value: JsonValue, out: list[Event]) -> None:
        for piece in read_content(value):
            if piece.kind == "media":
                self._piece_media(piece, out)
            else:
                self._add_annotation(piece.label or "image", piece.raw or piece.text, out)

    def _read_annotations(self, value: JsonValue, out: list[Event]) -> None:
        for entry in value if isinstance(value, list) else [value]:
            kind = entry.get("type") if isinstance(entry, dict) else None
            self._add_annotation(kind if isinstance(kind, str) else "annotation", entry, out)

    def _read_calls(self, value: JsonValue, out: list[Event]) -> None:
        entries = value if isinstance(value, list) else [value]
        self.parts.pass_call()
        if len(entries) == 1 and self.calls.goes_on(entries[0], out):
            return
        for entry, piece in read_pieces(entries):
            call = self.calls.apply(piece, out)
            if call is not None and not entry.keys() <= PLAIN_ENTRY_KEYS:
                self._keep_beside_call(entry, call, out)

    def _read_function_call(self, value: JsonValue, out: list[Event]) -> None:
        piece = read_piece({"function": value})
        piece.index = FUNCTION_CALL_INDEX
        self.parts.pass_call()
        self.calls.apply(piece, out)

    def _keep_beside_call(self, entry: JsonObject, call: OpenCall, out: list[Event]) -> None:
        """Gemini behind this wire puts the signature that must go back with a call beside it."""
        extra = object_field(entry, "extra_content")
        google = object_field(extra, "google")
        self._add_signature(string_field(google, "thought_signature"), "signature", call.part_id, out)
        rest = {key: value for key, value in entry.items() if key not in PLAIN_ENTRY_KEYS}
        if google.keys() <= {"thought_signature"} and extra.keys() <= {"google"}:
            rest.pop("extra_content", None)
        self._extras.offer(ProviderEvent("tool_calls", rest, call.part_id, self.index), out)

    def _keep(self, source: JsonObject, known: frozenset[str], out: list[Event]) -> None:
        for key, value in source.items():
            if key not in known:
                self._extras.offer(ProviderEvent(key, value, self.parts.part_id, self.index), out)

    def _piece_reasoning(self, piece: ContentPiece, out: list[Event]) -> None:
        self._add_reasoning(piece.text, out)

    def _piece_signature(self, piece: ContentPiece, out: list[Event]) -> None:
        kind = cast("SignatureKind", piece.label)
        self._add_signature(piece.text, kind, self.parts.reasoning_part(), out)

    def _piece_refusal(self, piece: ContentPiece, out: list[Event]) -> None:
        if piece.text:
            self._add_refusal(piece.text, out)

    def _piece_annotation(self, piece: ContentPiece, out: list[Event]) -> None:
        self._add_annotation(piece.label, piece.raw, out)

    def _piece_media(self, piece: ContentPiece, out: list[Event]) -> None:
        """An image is whole in one piece; audio goes on."""
        is_image = piece.label.startswith("image/")
        part_id = self.parts.begin(piece.label) if is_image else self.parts.enter(piece.label)
        out.append(MediaDelta(piece.label, piece.text, part_id, self.index))

    def _piece_unknown(self, piece: ContentPiece, out: list[Event]) -> None:
        out.append(ProviderEvent(piece.label, piece.raw, self.parts.part_id, self.index))


def _delta(choice: JsonObject) -> JsonObject | None:
    """What a choice adds: its `delta`; else a whole `message`; else the `text` of the old completions wire."""
    delta = choice.get("delta")
    if isinstance(delta, dict):
        return as_chat_delta(delta) if "type" in delta else delta
    if isinstance(delta, str):
        return {"content": delta}
    if delta is not None:
        raise WrongTypeError("delta", delta)
    message, text = choice.get("message"), choice.get("text")
    if isinstance(message, dict):
        return message
    return {"content": text} if isinstance(text, str) else None


_DELTA_READERS: Final[tuple[tuple[str, Callable[[ChatChoice, JsonValue, list[Event]], None]], ...]] = (
    ("refusal", ChatChoice._add_refusal),
    ("audio", ChatChoice._read_audio),
    ("images", ChatChoice._read_images),
    ("annotations", ChatChoice._read_annotations),
    ("tool_calls", ChatChoice._read_calls),
    ("function_call", ChatChoice._read_function_call),
)

KNOWN_DELTA_KEYS: Final = TEXT_DELTA_KEYS.union(key for key, _ in _DELTA_READERS)

_PIECE_READERS: Final[dict[str, Callable[[ChatChoice, ContentPiece, list[Event]], None]]] = {
    "reasoning": ChatChoice._piece_reasoning,
    "signature": ChatChoice._piece_signature,
    "refusal": ChatChoice._piece_refusal,
    "annotation": ChatChoice._piece_annotation,
    "media": ChatChoice._piece_media,
    "unknown": ChatChoice._piece_unknown,
}
