"""What `/metrics` tells Prometheus. Labels have values of ours alone: a client's text never becomes one."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from rxstream.gateway.slots import StreamSlots

__all__ = ("METRICS_CONTENT_TYPE", "Metrics")

METRICS_CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4

SECONDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)

NO_MODEL = "none"
"""The label of requests that named no model there is."""


class Metrics:
    """The counters of one gateway, in a registry of their own.

    Args:
        slots: how many streams run.
    """

    def __init__(self, slots: StreamSlots) -> None:
        self._registry = registry = CollectorRegistry()
        about = ("route", "model")
        self.requests = Counter(
            "rxstream_requests", "Requests to models, by how they ended.", (*about, "outcome"), registry=registry
        )
        self.errors = Counter("rxstream_errors", "Errors, by their category.", (*about, "category"), registry=registry)
        self.duration = Histogram(
            "rxstream_request_seconds", "From the request to the end.", about, buckets=SECONDS, registry=registry
        )
        self.first_content = Histogram(
            "rxstream_time_to_first_token_seconds",
            "From the request to the first piece of the answer.",
            about,
            buckets=SECONDS,
            registry=registry,
        )
        self.tokens = Counter(
            "rxstream_tokens", "Tokens, as providers count them.", (*about, "kind"), registry=registry
        )
        self.paused = Counter(
            "rxstream_paused_seconds", "How long providers were paused by slow clients.", about, registry=registry
        )
        self.dropped = Counter(
            "rxstream_dropped_events",
            "Events that waited for a client when its answer was cut off.",
            about,
            registry=registry,
        )
        ProcessCollector(registry=registry)  # memory, CPU and open files, where the system tells them
        active = Gauge("rxstream_streams_active", "Requests to models that run now.", registry=registry)
        active.set_function(lambda: slots.taken)
        limit = Gauge("rxstream_streams_limit", "How many may run at once.", registry=registry)
        limit.set(slots.limit)

    def exposition(self) -> bytes:
        """All of it in Prometheus's text format."""
        return generate_latest(self._registry)
