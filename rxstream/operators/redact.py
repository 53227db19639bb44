"""Take secrets out of a stream of events."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import takewhile
from typing import Any, Final

from reactivex import Observable, abc

from rxstream.diagnostics import Diagnostics, RedactionPolicy
from rxstream.diagnostics.secret_filter import REDACTED, SecretFilter
from rxstream.errors import PublicError, StreamError
from rxstream.events import (
    Annotation,
    Cancelled,
    Event,
    Finish,
    ProviderEvent,
    ReasoningDelta,
    RefusalDelta,
    ResponseFinal,
    ResponseStart,
    ServerToolCall,
    ServerToolResult,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallInvalid,
    ToolCallStart,
    ToolResult,
    UsageUpdate,
    Violation,
)
from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.stage import Stage, stage_operator

__all__ = ("redact",)

_PIECES: Final[dict[type, str]] = {
    TextDelta: "text",
    ReasoningDelta: "text",
    RefusalDelta: "text",
    ToolCallDelta: "arguments",
}
"""The events that are pieces of a longer text, and its field."""

_FIELDS: Final[dict[type, tuple[str, ...]]] = {
    ToolCallStart: ("name",),
    ToolCall: ("name", "arguments"),
    ToolCallInvalid: ("name", "arguments", "reason"),
    ToolResult: ("name", "output"),
    ServerToolCall: ("name", "arguments"),
    ServerToolResult: ("name", "output"),
    Annotation: ("kind", "data"),
    Finish: ("finish_reason_raw", "detail"),
    ResponseFinal: ("text", "refusal"),
    Violation: ("message",),
    Cancelled: ("message",),
    ProviderEvent: ("name",),
}
"""The fields of the other events that hold words of the provider or of tools."""

_RAW: Final[dict[type, str]] = {ServerToolCall: "raw", ResponseFinal: "raw", ProviderEvent: "data"}
"""The fields that hold an object of the provider's own: it may repeat what was asked."""

MAX_PARTS: Final = 256
"""So many texts that grow at once are followed; of one before, the beginning of a secret would be forgotten."""

MAX_BEHIND: Final = 16
"""So many events wait behind the beginning of a secret; with one more, the beginning is taken for a secret."""

_IN_BETWEEN: Final = frozenset((UsageUpdate, ProviderEvent, Violation, Annotation))
"""Events that say nothing of whether the text before them goes on."""

_TextKey = tuple[type, int, str, str]


def redact(
    policy: RedactionPolicy | None = None, *, diagnostics: Diagnostics | None = None
) -> Callable[[Observable[Event]], Observable[Event]]:
    """Replace secrets in what passes by `[redacted]`: text, reasoning, arguments, results, the provider's own objects.

        source  --"key sk-ab"---"cdefgh."--T--|
                redact()
        output  --"key "--------"[redacted]."--T--|

    A secret that was cut over several deltas is found: what may be the beginning of one waits for what follows, and
    nothing else does. Usage, the provider's own events and others that may come in the middle of a text wait behind it
    until it is known. When anything else comes (another text, a call), or the stream breaks off, what waits leaves
    first; where it holds a part of a secret already, it leaves as `[redacted]`, whatever it would have become. Order is
    kept, and no more is held than the longest beginning of a secret (about a kilobyte) of one text and 16 events.

    Errors are redacted too. The message of one of ours is; an exception of somebody else's that shows a secret, in
    itself or in one that it came from, becomes a `StreamError` that names its class. One without goes on as it is.

    What must go back to the provider unchanged (`ReasoningSignature`), media and ids pass as they are. Log
    probabilities of a piece that was changed are dropped, for they spell it.

    Args:
        policy: what is secret; `RedactionPolicy()` by default. Of the provider's raw objects it leaves out the prompts
            and arguments too, unless it keeps them.
        diagnostics: where an exception goes that was replaced.

    Returns:
        A stage.
    """
    chosen = policy or RedactionPolicy()

    def make(observer: abc.ObserverBase[Event], flow: FlowScheduler) -> _Redactor:
        return _Redactor(observer, flow, chosen, diagnostics)

    return stage_operator(make)


class _Redactor(Stage[Event, Event]):
    """One subscription: a filter for each text that grows, and the one that holds something now."""

    __slots__ = ("_behind", "_diagnostics", "_filters", "_holding", "_policy")

    def __init__(
        self,
        observer: abc.ObserverBase[Event],
        flow: FlowScheduler,
        policy: RedactionPolicy,
        diagnostics: Diagnostics | None,
    ) -> None:
        super().__init__(observer, flow)
        self._policy = policy
        self._diagnostics = diagnostics
        self._filters: OrderedDict[_TextKey, SecretFilter] = OrderedDict()  # bounded: MAX_PARTS
        self._holding: tuple[_TextKey, Any] | None = None  # whose filter holds something, and its last delta
        self._behind: list[tuple[int, Event]] = []  # bounded: MAX_BEHIND; what came behind so much of what is held

    def expand(self, event: Event) -> Iterable[Event]:
        field = _PIECES.get(type(event))
        if field is not None:
            return self._piece(event, field)
        if type(event) in _IN_BETWEEN and (held := self._held_back()):
            self._behind.append((len(held), self._whole(event)))
            return ()
        out = self._let_go(closes=self._ends_what_is_held(event))
        if isinstance(event, ResponseStart):
            self._filters.clear()
        out.append(self._whole(event))
        return out

    def finish(self, error: Exception | None) -> Iterable[Event]:
        if error is not None:
            self.end_with(self._redact_error(error))
        return self._let_go(closes=False)  # without a finish nobody knows whether the text was over

    def release(self) -> None:
        self._filters.clear()
        self._flow.scope.discarded += (self._holding is not None) + len(self._behind)
        self._holding, self._behind = None, []

    def _cancel(self, event: Any) -> None:
        super()._cancel(self._whole(event))

    # Texts that grow -------------------------------------------------------------------------------------------------

    def _piece(self, event: Any, field: str) -> list[Event]:
        key = (type(event), event.choice, event.part_id, getattr(event, "call_id", ""))
        was_holding = self._holding is not None and self._holding[0] == key
        out = [] if was_holding else self._let_go(closes=False)
        filter_, given = self._filter(key), getattr(event, field)
        held = filter_.held
        text = filter_.feed(given)
        self._holding = (key, event) if filter_.is_holding else None
        if self._behind and text:
            return self._around(event, field, text, held + given)
        if text == given and not was_holding and self._holding is None:
            out.append(event)
        elif text:
            out.append(_with_text(event, field, text))
        return out

    def _held_back(self) -> str:
        """What is held and may be a part of a secret, where an event may wait until that is known; else nothing."""
        if self._holding is None or len(self._behind) >= MAX_BEHIND:
            return ""
        filter_ = self._filters[self._holding[0]]
        return filter_.held if self._behind or filter_.holds_part else ""

    def _around(self, event: Any, field: str, text: str, before: str) -> list[Event]:
        """Text that came to be known, and what waited in it at its places: `before` is how it came."""
        out: list[Event] = []
        unchanged = _common_chars(text, before)
        waiting, self._behind, sent = self._behind, [], 0
        for came_at, other in waiting:
            if came_at > unchanged == len(text):  # behind what is still held
                self._behind.append((came_at - len(text), other))
                continue
            # What came in the middle of a secret comes behind it.
            place = came_at if came_at <= unchanged else text.index(REDACTED) + len(REDACTED)
            if place > sent:
                out.append(_with_text(event, field, text[sent:place]))
                sent = place
            out.append(other)
        return [*out, _with_text(event, field, text[sent:])] if sent < len(text) else out

    def _filter(self, key: _TextKey) -> SecretFilter:
        known = self._filters.get(key)
        if known is None:
            known = self._filters[key] = self._policy.text_filter()
            if len(self._filters) > MAX_PARTS:
                self._filters.popitem(last=False)
        else:
            self._filters.move_to_end(key)
        return known

    def _let_go(self, *, closes: bool) -> list[Event]:
        """What is held leaves now: its text is over, or something else comes."""
        if self._holding is None:
            return []
        (key, event), self._holding = self._holding, None
        text = self._filters.pop(key).close() if closes else self._filters[key].pause()
        behind, self._behind = self._behind, []
        field = _PIECES[key[0]]
        if closes:  # all of it leaves as it came
            self._behind = behind
            return self._around(event, field, text, text)
        return [*([_with_text(event, field, text)] if text else []), *(other for _, other in behind)]

    def _ends_what_is_held(self, event: Event) -> bool:
        if self._holding is None:
            return False
        kind, choice, _, call_id = self._holding[0]
        if isinstance(event, ToolCall | ToolCallInvalid):
            return kind is ToolCallDelta and event.call_id == call_id
        return isinstance(event, Finish) and event.choice == choice

    # Everything else -------------------------------------------------------------------------------------------------

    def _whole(self, event: Any) -> Any:
        changed = {}
        for name in _FIELDS.get(type(event), ()):
            changed[name] = self._policy.redact_value(getattr(event, name))
        if (raw := _RAW.get(type(event))) is not None:
            changed[raw] = self._policy.redact_value(getattr(event, raw), keep_fields=False)
        if isinstance(event, UsageUpdate):
            changed["usage"] = self._without_raw_secrets(event.usage)
        elif isinstance(event, ResponseFinal) and event.tool_calls is not None:
            changed["tool_calls"] = [self._whole(call) for call in event.tool_calls]
        elif isinstance(event, Cancelled) and event.results:
            changed["results"] = tuple(self._whole(result) for result in event.results)
        is_same = all(value is getattr(event, name) or value == getattr(event, name) for name, value in changed.items())
        return event if is_same else replace(event, **changed)

    def _without_raw_secrets(self, usage: Any) -> Any:
        raw = self._policy.redact_value(usage.raw, keep_fields=False)
        return usage if raw is usage.raw else replace(usage, raw=raw)

    # Errors ----------------------------------------------------------------------------------------------------------

    def _redact_error(self, error: Exception) -> Exception:
        if not self._policy.shows_secret(error):
            return error
        if isinstance(error, StreamError):
            self._flow.scope.keep_detail(error, self._diagnostics)
            return _with_message(error, self._policy.redact_text(error.public.message))
        made = StreamError(f"a function of the pipeline raised {type(error).__name__}", detail=error)
        self._flow.scope.keep_detail(made, self._diagnostics)
        return made


def _common_chars(left: str, right: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))


def _with_text(event: Any, field: str, text: str) -> Any:
    changed: dict[str, Any] = {field: text}
    if isinstance(event, TextDelta):
        changed["logprobs"] = None
    return replace(event, **changed)


def _with_message(error: StreamError, message: str) -> StreamError:
    """The same error, with nothing behind it, under a message without secrets."""
    public = error.public
    made = type(error).__new__(type(error), message)
    made.args = (message,)
    made.__dict__.update(
        error.__dict__, public=PublicError(public.category, message, public.retry, public.correlation_id)
    )
    return made
