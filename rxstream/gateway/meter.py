"""What one answer was like, seen as it passes: never held, never changed."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from reactivex import Observable, abc

from rxstream.errors import ProviderError, StreamError
from rxstream.events import CONTENT_EVENTS, Event, Usage, UsageUpdate
from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.stage import Stage, stage_operator
from rxstream.response.usage import merge_usage

__all__ = ("Meter", "measure")

_CONTENT: Final = frozenset(CONTENT_EVENTS)


class Meter:
    """What is known of one answer.

    Args:
        clock: seconds, from any zero.
    """

    __slots__ = ("_clock", "_scope", "began", "first_content_at", "usage")

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.began = clock()
        self.first_content_at: float | None = None
        self.usage = Usage()
        self._scope: object = None

    @property
    def first_content_seconds(self) -> float | None:
        """From the request to the first piece of the answer; None where none came."""
        return None if self.first_content_at is None else self.first_content_at - self.began

    @property
    def seconds(self) -> float:
        """From the request until now."""
        return self._clock() - self.began

    @property
    def upstream_headers(self) -> Mapping[str, str]:
        """The head of the provider's answer; empty while there is none."""
        head = getattr(self._scope, "response_head", None)
        return {} if head is None else head[1]

    def watch(self, flow: FlowScheduler) -> None:
        """The stream is subscribed to."""
        self._scope = flow.scope

    def note(self, event: Event) -> None:
        """One event passes."""
        if type(event) in _CONTENT:
            if self.first_content_at is None:
                self.first_content_at = self._clock()
        elif isinstance(event, UsageUpdate):
            self.usage = merge_usage(self.usage, event.usage)


def measure(meter: Meter) -> Callable[[Observable[Event]], Observable[Event]]:
    """Let a meter see a stream, and tell errors of it as the gateway's own.

        source  --a-b-c--#
                measure(meter)
        output  --a-b-c--#                     (what concerns the gateway's key is the gateway's fault)

    Args:
        meter: sees one subscription.

    Returns:
        A transparent operator.
    """

    def make(observer: abc.ObserverBase[Event], flow: FlowScheduler) -> _Measure:
        meter.watch(flow)
        return _Measure(observer, flow, meter)

    return stage_operator(make)


class _Measure(Stage[Event, Event]):
    """One subscription."""

    __slots__ = ("_meter",)

    def __init__(self, observer: abc.ObserverBase[Event], flow: FlowScheduler, meter: Meter) -> None:
        super().__init__(observer, flow)
        self._meter = meter

    def expand(self, event: Event) -> Iterable[Event]:
        self._meter.note(event)
        return (event,)

    def finish(self, error: Exception | None) -> Iterable[Event]:
        if error is not None:
            self.end_with(own_fault(error))
        return ()


def own_fault(error: Exception) -> Exception:
    """The error as a client is to be told it.

    A provider that does not take the gateway's key says 401 or 403. Passed on, it would read as if the client's own
    token were wrong, and SDKs would say so to their users: it is the gateway's fault, status 502.
    """
    if not isinstance(error, StreamError) or error.public.category not in ("authentication", "permission"):
        return error
    told = ProviderError(
        "the provider did not accept the gateway's own key, or the key may not use this model: "
        "this is for the operator of the gateway to mend",
        code="upstream_authentication",
        category="provider",
        phase=error.phase,
    )
    told.public = dataclasses.replace(told.public, correlation_id=error.public.correlation_id)
    return told
