"""One span and its measurements for each subscription of a stream of events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from opentelemetry._logs import Logger
from opentelemetry.metrics import Meter
from opentelemetry.trace import Tracer
from reactivex import Observable, abc
from reactivex.disposable import Disposable

from rxstream.events import CONTENT_EVENTS, Cancelled, Event
from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.scope import report_exception
from rxstream.flow.stage import Stage, stage_operator
from rxstream.limits import Limits
from rxstream.operators.bounded_buffer import BufferStats
from rxstream.operators.clock import clock_of
from rxstream.otel.content import Capture, Content, content_places
from rxstream.otel.facts import Facts
from rxstream.otel.instruments import default_logger, default_meter, default_tracer, instruments_of
from rxstream.otel.names import NAMES, Names
from rxstream.otel.record import End, Plan, Record, Value

__all__ = ("observe",)

_CONTENT: Final = frozenset(CONTENT_EVENTS)


def observe(
    operation: str = "chat",
    provider: str | None = None,
    model: str | None = None,
    *,
    tracer: Tracer | None = None,
    meter: Meter | None = None,
    logger: Logger | None = None,
    stats: BufferStats | None = None,
    capture_content: Capture = None,
    each_chunk: bool = False,
    attributes: Mapping[str, Value] | None = None,
    names: Names = NAMES,
    limits: Limits | None = None,
) -> Callable[[Observable[Event]], Observable[Event]]:
    """Tell OpenTelemetry of each subscription: one span, from the subscribe to the end, and its measurements.

        source  --a-b-F|
                observe(provider="openai", model="gpt-4o")
        output  --a-b-F|
        span    [------]                       "chat gpt-4o", kind CLIENT

    Place it directly below `parse`: what stands above it is inside the span, and what stands below only disposes. The
    span ends exactly once, before the end goes down: completed, failed (status ERROR, `error.type`), cancelled
    (`rxstream.cancel.cause`), disposed by what is below (cause `disposed`), or dropped without any of it (`abandoned`).

    The parent is the span that is current where the stream is subscribed to. For what is upstream this span is the
    current one: at its subscribe, and in the tasks of asynchronous sources, so that spans of an instrumented HTTP
    client nest in it. Items go down in the subscriber's context, where the parent is current; a synchronous source
    runs there too.

    A *chunk*, for the two times of chunks, is what came at once with a piece of the answer in it: all that `parse`
    hands over of one chunk of bytes where it stands directly above, else one event. What a start or a ping brings is
    none. The time between two counts only while somebody asks for more; `rxstream.paused_seconds` says how long nobody
    did. By default one answer gives one measurement of it, its mean: to record a value costs the SDK several
    microseconds, more than all else that is done for an event here.

    Args:
        operation: `gen_ai.operation.name`.
        provider: `gen_ai.provider.name`, in the words of the conventions: `openai`, `anthropic`, `aws.bedrock`, ...
        model: the model that is asked.
        tracer: makes the spans; the application's, of the scope `rxstream`, by default.
        meter: makes the histograms, likewise.
        logger: emits the event that holds content, likewise.
        stats: of the buffer in the same pipe: its highest fill and what it dropped are told with the span.
        capture_content: whether the answer itself is told: on the span (True or `"span"`), in the event
            `gen_ai.client.inference.operation.details` (`"event"`), or in both. By default it is not, unless the
            variable `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` says `span_only`, `event_only`,
            `span_and_event` or `true`.
        each_chunk: whether each chunk after the first is a measurement of `time_per_output_chunk`, as the conventions
            would have it, and not the mean of an answer.
        attributes: more of them for the span; `server.address` and `server.port` go to the metrics as well.
        names: of everything that is told.
        limits: how much captured content is held.

    Returns:
        A transparent operator. Nothing that a tracer does wrong ends the stream.

    Raises:
        ValueError: `capture_content` is no such place.
    """
    begun = {names.operation: operation, names.provider: provider, names.request_model: model}
    known = {**begun, names.request_stream: True, **(attributes or {})}
    plan = Plan(
        operation if model is None else f"{operation} {model}",
        {name: value for name, value in known.items() if value is not None},
        tracer or default_tracer(),
        instruments_of(meter or default_meter(), names),
        names,
        stats,
        each_chunk,
        logger or default_logger(),
        content_places(capture_content),
    )

    def make(observer: abc.ObserverBase[Event], flow: FlowScheduler) -> _Observation:
        content = Content(flow.scope.limits_for(limits)) if plan.content_places else None
        return _Observation(observer, flow, plan, content)

    return stage_operator(make)


class _Observation(Stage[Event, Event]):
    """One subscription."""

    __slots__ = (
        "_began",
        "_cause",
        "_chunks",
        "_closed_at",
        "_content",
        "_error",
        "_facts",
        "_first",
        "_is_over",
        "_last",
        "_now",
        "_paused",
        "_plan",
        "_record",
        "_unwatch",
    )

    def __init__(
        self, observer: abc.ObserverBase[Event], flow: FlowScheduler, plan: Plan, content: Content | None
    ) -> None:
        super().__init__(observer, flow)
        self._plan = plan
        self._content = content
        self._facts = Facts()
        self._record: Record | None = None
        self._now = clock_of(flow)
        self._began = 0.0
        self._chunks = 0
        self._first = self._last = 0.0  # when the first and last one came, on a clock that stands while nobody asks
        self._closed_at: float | None = None
        self._paused = 0.0
        self._is_over = False
        self._error: Exception | None = None
        self._cause = "disposed"
        self._unwatch: Callable[[], None] | None = None

    def connect(self, source: Observable[Event]) -> abc.DisposableBase:
        self._began = self._now()
        record = self._record = Record(self._plan, self._flow.scope.context)
        self._closed_at = None if self._demand.is_open else self._began
        self._unwatch = self._demand.watch(self._on_gate)
        self._flow = self._flow.within(self._flow.scope.within(record.context))
        try:
            self._flow.scope.run(self._subscribe, source)
        except Exception as error:
            self.finish(error)
            self.release()
            raise
        return Disposable(self.dispose)

    def _subscribe(self, source: Observable[Event]) -> None:
        super().connect(source)

    # Items -----------------------------------------------------------------------------------------------------------

    def on_next(self, event: Any) -> None:
        facts = self._facts
        if event.__class__ is not facts.kind or event.choice != facts.choice or self._content is not None:
            if event.__class__ is Cancelled:
                facts.note(event)
                self._cancel(event)
                return
            self._look_at(event)
        if event.__class__ in _CONTENT:
            self._note_chunk()
        self._on_next(event)

    def take_from(self, items: Iterator[Event]) -> None:
        noted, link = self._noted(items), self._link
        if link is not None:
            link(noted)
            return
        demand = self._demand
        for event in noted:
            if event.__class__ is Cancelled:
                self._cancel(event)
            else:
                self._on_next(event)
            if not demand.is_open or self.stopped:
                return

    def _noted(self, items: Iterator[Any]) -> Iterator[Event]:
        """The items, looked at as they are taken. They are of one chunk: its time is that of its first piece."""
        facts, has_content = self._facts, self._content is not None
        is_new = True
        for event in items:
            if event.__class__ is not facts.kind or event.choice != facts.choice or has_content:
                self._look_at(event)
            if is_new and event.__class__ in _CONTENT:
                is_new = False
                self._note_chunk()
            yield event

    def _look_at(self, event: Event) -> None:
        if self.stopped:
            return
        self._facts.note(event)
        if self._content is not None:
            self._content.add(event)

    def finish(self, error: Exception | None) -> Iterable[Event]:
        self._is_over = True
        self._error = error
        return ()

    # Time ------------------------------------------------------------------------------------------------------------

    def _note_chunk(self) -> None:
        record = self._record
        if record is None:
            return
        now = self._now()
        asked = (now if self._closed_at is None else self._closed_at) - self._paused
        if not self._chunks:
            record.first_chunk(now - self._began, self._facts.response_model)
            self._first = asked
        elif self._plan.each_chunk:
            record.next_chunk(asked - self._last)
        self._chunks += 1
        self._last = asked

    def _on_gate(self, is_open: bool) -> None:
        if is_open:
            self._end_pause()
        else:
            self._closed_at = self._now()

    def _end_pause(self) -> None:
        if self._closed_at is not None:
            self._paused += self._now() - self._closed_at
            self._closed_at = None

    # The end ---------------------------------------------------------------------------------------------------------

    def release(self) -> None:
        record, self._record = self._record, None
        if record is None:
            return
        if self._unwatch is not None:
            self._unwatch()
        self._end_pause()
        try:
            record.close(self._facts, self._end_of_stream(record), self._content)
        except Exception as error:  # a span processor's: it must not end the stream, or keep its response open
            self._report(error)

    def _end_of_stream(self, record: Record) -> End:
        tracker, cause = self._facts.tracker, None
        if tracker.cancelled is None and not self._is_over:
            cause = self._cause
            tracker.note(Cancelled())
        elif tracker.cancelled is not None:
            cause = tracker.cancelled.cause
        verdict, _ = tracker.judge(self._error)
        if self._chunks > 1 and not self._plan.each_chunk:
            record.next_chunk((self._last - self._first) / (self._chunks - 1))
        return End(verdict.outcome, verdict.error, cause, self._now() - self._began, self._paused)

    def _report(self, error: Exception) -> None:
        loop = self._flow.loop
        if loop is None:
            report_exception("ending a span failed", error)
        else:
            loop.call_exception_handler({"message": "ending a span failed", "exception": error})

    def __del__(self) -> None:
        self._cause = "abandoned"
        self.release()
