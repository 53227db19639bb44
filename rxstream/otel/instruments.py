"""The histograms of one meter."""

from __future__ import annotations

from functools import cache, lru_cache

from opentelemetry._logs import Logger, get_logger
from opentelemetry.metrics import Histogram, Meter, get_meter
from opentelemetry.trace import Tracer, get_tracer

from rxstream.otel.names import SECONDS_BUCKETS, TOKENS_BUCKETS, Names

__all__ = ("Instruments", "default_logger", "default_meter", "default_tracer", "instruments_of")

SCOPE_NAME = "rxstream"


class Instruments:
    """What is measured.

    Args:
        meter: makes the histograms.
        names: of the metrics.
    """

    __slots__ = ("duration", "paused", "per_chunk", "to_first_chunk", "tokens")

    def __init__(self, meter: Meter, names: Names) -> None:
        def seconds(name: str, description: str) -> Histogram:
            return meter.create_histogram(
                name, "s", description, explicit_bucket_boundaries_advisory=list(SECONDS_BUCKETS)
            )

        self.duration = seconds(names.duration, "From the request to the end of its answer.")
        self.to_first_chunk = seconds(names.time_to_first_chunk, "From the request to the first piece of the answer.")
        self.per_chunk = seconds(names.time_per_output_chunk, "From one piece of the answer to the next.")
        self.paused = seconds(names.paused_duration, "How long an answer was not asked for, because its reader slept.")
        self.tokens = meter.create_histogram(
            names.token_usage,
            "{token}",
            "Input and output tokens of one answer.",
            explicit_bucket_boundaries_advisory=list(TOKENS_BUCKETS),
        )


@lru_cache(maxsize=16)
def instruments_of(meter: Meter, names: Names) -> Instruments:
    """The histograms of a meter, made once: a meter without an SDK keeps each one that it was ever asked for."""
    return Instruments(meter, names)


@cache
def default_meter() -> Meter:
    """The meter of the application's provider, whenever that is set."""
    return get_meter(SCOPE_NAME)


@cache
def default_logger() -> Logger:
    """The logger of the application's provider, whenever that is set."""
    return get_logger(SCOPE_NAME)


@cache
def default_tracer() -> Tracer:
    """The tracer of the application's provider, whenever that is set."""
    return get_tracer(SCOPE_NAME)
