"""The record of one subscription: its span, from the request to whatever end, and its measurements."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextvars import Context
from dataclasses import dataclass
from typing import Any, Final

from opentelemetry._logs import Logger, LogRecord, SeverityNumber
from opentelemetry.context import attach, get_current
from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer, set_span_in_context

from rxstream.errors import StreamError
from rxstream.operators.bounded_buffer import BufferStats
from rxstream.otel.content import Content, as_json
from rxstream.otel.facts import Facts
from rxstream.otel.instruments import Instruments
from rxstream.otel.names import Names

__all__ = ("End", "Plan", "Record", "Value")

Value = str | bool | int | float

_METERED: Final = ("operation", "provider", "request_model", "server_address", "server_port")
"""What metrics carry of what a span is begun with: few values each."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What `observe` was told; it holds for every subscription."""

    title: str
    attributes: Mapping[str, Value]
    tracer: Tracer
    instruments: Instruments
    names: Names
    stats: BufferStats | None
    each_chunk: bool
    logger: Logger
    content_places: frozenset[str]


@dataclass(frozen=True, slots=True)
class End:
    """How a stream ended.

    Args:
        outcome: in the words of `Response`.
        error: what ended it, where something did.
        cause: who ended it, where it was cancelled.
        seconds: how long it took.
        paused_seconds: for how much of that nobody asked for the next item.
    """

    outcome: str
    error: Exception | None
    cause: str | None
    seconds: float
    paused_seconds: float


class Record:
    """One subscription's span; `close` ends it.

    Args:
        plan: what it is called.
        context: the subscriber's; the span that is current there is the parent.
    """

    __slots__ = ("_first_seconds", "_metered", "_plan", "_span", "context")

    def __init__(self, plan: Plan, context: Context) -> None:
        self._plan = plan
        self._first_seconds: float | None = None
        metered = [getattr(plan.names, field) for field in _METERED]
        self._metered: dict[str, Value] = {name: plan.attributes[name] for name in metered if name in plan.attributes}
        parent = context.copy().run(get_current)
        self._span = plan.tracer.start_span(
            plan.title, context=parent, kind=SpanKind.CLIENT, attributes=dict(plan.attributes)
        )
        self.context = context.copy()
        """The subscriber's context with this span as the current one."""
        self.context.run(attach, set_span_in_context(self._span, parent))

    def first_chunk(self, seconds: float, model: str | None) -> None:
        """The first piece of the answer came, so long after the request."""
        self._name_model(model)
        self._first_seconds = seconds
        self._plan.instruments.to_first_chunk.record(seconds, self._metered)

    def next_chunk(self, seconds: float) -> None:
        """Another piece came, so long after the one before; or the mean of that over an answer."""
        self._plan.instruments.per_chunk.record(seconds, self._metered)

    def _name_model(self, model: str | None) -> None:
        if model is not None:
            self._metered[self._plan.names.response_model] = model

    # The end ---------------------------------------------------------------------------------------------------------

    def close(self, facts: Facts, end: End, content: Content | None) -> None:
        """The stream is over: measure, say how it was, end the span."""
        span = self._span
        try:
            self._measure(facts, end)
            said = self._describe(facts, end, content)
            if span.is_recording():
                self._tell_span(said, end, content)
            if content is not None and "event" in self._plan.content_places:
                self._tell_event(said, content)
        finally:
            span.end()

    def _measure(self, facts: Facts, end: End) -> None:
        names, instruments = self._plan.names, self._plan.instruments
        self._name_model(facts.response_model)
        ending: dict[str, Value] = {names.outcome: end.outcome}
        if end.error is not None:
            ending[names.error_type] = error_type(end.error)
        instruments.duration.record(end.seconds, {**self._metered, **ending})
        instruments.paused.record(end.paused_seconds, self._metered)
        for kind, count in (("input", facts.usage.input_tokens), ("output", facts.usage.output_tokens)):
            if count is not None:
                instruments.tokens.record(count, {**self._metered, names.token_type: kind})

    def _describe(self, facts: Facts, end: End, content: Content | None) -> dict[str, Any]:
        names = self._plan.names
        said: dict[str, Value | tuple[str, ...] | None] = {
            names.response_id: facts.response_id,
            names.response_model: facts.response_model,
            names.finish_reasons: facts.finish_reasons or None,
            names.first_chunk_seconds: self._first_seconds,
            names.input_tokens: facts.usage.input_tokens,
            names.output_tokens: facts.usage.output_tokens,
            names.cached_input_tokens: facts.usage.cached_input_tokens,
            names.cache_write_tokens: facts.usage.cache_write_tokens,
            names.reasoning_tokens: facts.usage.reasoning_tokens,
            names.outcome: end.outcome,
            names.cancel_cause: end.cause,
            names.paused_seconds: end.paused_seconds,
        }
        said |= self._of_buffer() | self._of_error(end.error)
        if content is not None:
            said[names.content_is_cut] = content.is_cut or None
        return {name: value for name, value in said.items() if value is not None}

    def _tell_span(self, said: Mapping[str, Any], end: End, content: Content | None) -> None:
        if end.error is not None:
            shown = end.error.public.message if isinstance(end.error, StreamError) else None
            self._span.set_status(Status(StatusCode.ERROR, shown))
        self._span.set_attributes(said)
        if content is not None and "span" in self._plan.content_places:
            self._span.set_attribute(self._plan.names.output_messages, as_json(content.messages()))

    def _tell_event(self, said: Mapping[str, Any], content: Content) -> None:
        """The conventions' event: all that the span says, and the content as objects; it names the span."""
        names = self._plan.names
        record = LogRecord(
            timestamp=time.time_ns(),
            context=set_span_in_context(self._span),
            severity_number=SeverityNumber.INFO,
            event_name=names.content_event,
            attributes={**self._plan.attributes, **said, names.output_messages: content.messages()},
        )
        self._plan.logger.emit(record)

    def _of_buffer(self) -> dict[str, Value | tuple[str, ...] | None]:
        stats, names = self._plan.stats, self._plan.names
        return {} if stats is None else {names.buffered_bytes: stats.peak_bytes, names.dropped: stats.dropped}

    def _of_error(self, error: Exception | None) -> dict[str, Value | tuple[str, ...] | None]:
        """What may be shown of it. Of a foreign one that is its type: its words may hold a URL, or the answer."""
        if error is None:
            return {}
        names, public = self._plan.names, error.public if isinstance(error, StreamError) else None
        return {
            names.error_type: error_type(error),
            names.error_phase: error.phase if isinstance(error, StreamError) else None,
            names.correlation_id: None if public is None else public.correlation_id,
        }


def error_type(error: Exception) -> str:
    """The stable category of one of ours; else the name of its class."""
    if isinstance(error, StreamError):
        return error.public.category
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
