"""What the tests of `rxstream.otel` share: an SDK that keeps what it was told, and the spans and values in it."""

from __future__ import annotations

from typing import Any

from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from rxstream import otel


class Telemetry:
    """An SDK of the test's own; nothing of it is global.

    Args:
        *processors: more span processors.
    """

    def __init__(self, *processors: SpanProcessor) -> None:
        self._exporter = InMemorySpanExporter()
        self._reader = InMemoryMetricReader()
        provider = TracerProvider(shutdown_on_exit=False)
        for processor in (SimpleSpanProcessor(self._exporter), *processors):
            provider.add_span_processor(processor)
        self.tracer = provider.get_tracer("test")
        self.meter = MeterProvider([self._reader], shutdown_on_exit=False).get_meter("test")
        self._records = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]  # the SDK has no types there
        logs = LoggerProvider(shutdown_on_exit=False)
        logs.add_log_record_processor(SimpleLogRecordProcessor(self._records))
        self.logger = logs.get_logger("test")

    def observe(self, *args: Any, **options: Any) -> Any:
        """`otel.observe` with this SDK."""
        return otel.observe(*args, tracer=self.tracer, meter=self.meter, logger=self.logger, **options)

    @property
    def events(self) -> list[Any]:
        """The log records that were emitted."""
        return [data.log_record for data in self._records.get_finished_logs()]

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        """The spans that have ended, in that order."""
        return self._exporter.get_finished_spans()

    @property
    def span(self) -> ReadableSpan:
        """The one span there is."""
        (span,) = self.spans
        return span

    @property
    def facts(self) -> dict[str, Any]:
        """The attributes of the one span."""
        return dict(self.span.attributes or {})

    def points(self, name: str) -> list[HistogramDataPoint]:
        """What was measured under a name: one point for each set of attributes."""
        data = self._reader.get_metrics_data()
        if data is None:
            return []
        metrics = [metric for one in data.resource_metrics for scope in one.scope_metrics for metric in scope.metrics]
        return [point for metric in metrics if metric.name == name for point in metric.data.data_points]  # type: ignore[misc]

    def values(self, name: str) -> list[tuple[int, float]]:
        """The count and the sum of each point."""
        return [(point.count, round(point.sum, 6)) for point in self.points(name)]
