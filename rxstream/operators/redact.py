"""Take secrets out of a stream of events."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final

from reactivex import Observable, abc

from rxstream.diagnostics import Diagnostics, RedactionPolicy
from rxstream.diagnostics.secret_filter import SecretFilter
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

_TextKey = tuple[type, int, str, str]


def redact(
    policy: RedactionPolicy | None = None, *, diagnostics: Diagnostics | None = None
) -> Callable[[Observable[Event]], Observable[Event]]:
    """Replace secrets in what passes by `[redacted]`: text, reasoning, arguments, results, the provider's own objects.

        source  --"key sk-ab"---"cdefgh."--T--|
                redact()
        output  --"key "--------"[redacted]."--T--|

    A secret that was cut over several deltas is found: what may be the beginning of one waits for what follows, and
    nothing else does. When another event comes, or the stream breaks off, what waits leaves first; where it holds a
    part of a secret already, it leaves as `[redacted]`, whatever it would have become. Order is kept, and no more is
    held than the longest beginning of a secret (about a kilobyte) of one text.

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

    __slots__ = ("_diagnostics", "_filters", "_holding", "_policy")

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

    def expand(self, event: Event) -> Iterable[Event]:
        field = _PIECES.get(type(event))
        if field is not None:
            return self._piece(event, field)
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
        self._flow.scope.discarded += self._holding is not None
        self._holding = None

    def _cancel(self, event: Any) -> None:
        super()._cancel(self._whole(event))

    # Texts that grow -------------------------------------------------------------------------------------------------

    def _piece(self, event: Any, field: str) -> list[Event]:
        key = (type(event), event.choice, event.part_id, getattr(event, "call_id", ""))
        was_holding = self._holding is not None and self._holding[0] == key
        out = [] if was_holding else self._let_go(closes=False)
        filter_, given = self._filter(key), getattr(event, field)
        text = filter_.feed(given)
        self._holding = (key, event) if filter_.is_holding else None
        if text == given and not was_holding and self._holding is None:
            out.append(event)
        elif text:
            out.append(_with_text(event, field, text))
        return out

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
        return [_with_text(event, _PIECES[key[0]], text)] if text else []

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
