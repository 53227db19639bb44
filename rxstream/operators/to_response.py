"""Events to their response, and what may be shown on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from reactivex import Observable, abc

from rxstream.errors import ConsistencyError
from rxstream.events import Cancelled, Event
from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.stage import Stage, stage_operator
from rxstream.limits import Limits
from rxstream.response.accumulator import Accumulator
from rxstream.response.response import Response

__all__ = ("snapshots", "to_response")


def to_response(
    strict: bool = True, *, limits: Limits | None = None
) -> Callable[[Observable[Event]], Observable[Response]]:
    """Reduce a stream to one `Response`, whatever its outcome.

        source  --a-b-T-F|
                to_response()
        output  ---------(R|)

        source  --a-b-#
                to_response()
        output  ------(R|)                     (R.outcome == "failed", R.error is the error)

    Args:
        strict: a completed response that fails one of its consistency checks is a `ConsistencyError` instead; what the
            wire did wrong (`Violation`) never is.
        limits: how much is held: text, arguments, media, kept events.

    Returns:
        A stage that gives one item and completes: completed, incomplete, failed, cancelled and indeterminate alike.
    """

    def make(observer: abc.ObserverBase[Response], flow: FlowScheduler) -> _Reducer:
        return _Reducer(observer, flow, Accumulator(flow.scope.limits_for(limits)), strict=strict, every=0)

    return stage_operator(make)


def snapshots(every: int = 1, *, limits: Limits | None = None) -> Callable[[Observable[Event]], Observable[Response]]:
    """The response so far, after every `every` events, provisional; at the end the response itself.

        source  --a-b-F|
                snapshots()
        output  --p-p-p(R|)                    (p.provisional, R is not)

    Args:
        every: after how many events; one snapshot costs the length of what came since the last.
        limits: how much is held: text, arguments, media, kept events.

    Returns:
        A stage; the last item is what `to_response(strict=False)` gives.

    Raises:
        ValueError: `every` is not positive.
    """
    if every < 1:
        raise ValueError(f"every must be at least 1, not {every!r}")

    def make(observer: abc.ObserverBase[Response], flow: FlowScheduler) -> _Reducer:
        return _Reducer(observer, flow, Accumulator(flow.scope.limits_for(limits)), strict=False, every=every)

    return stage_operator(make)


class _Reducer(Stage[Event, Response]):
    """One subscription: every event is applied before the next one comes."""

    __slots__ = ("_accumulator", "_every", "_strict", "_until")

    def __init__(
        self,
        observer: abc.ObserverBase[Response],
        flow: FlowScheduler,
        accumulator: Accumulator,
        *,
        strict: bool,
        every: int,
    ) -> None:
        super().__init__(observer, flow)
        self._accumulator = accumulator
        self._strict = strict
        self._every = self._until = every

    def on_next(self, event: Event) -> None:
        if isinstance(event, Cancelled):
            self._accumulator.apply(event)
            self.on_completed()  # what it stands for is the response, which goes down like any other item
        else:
            super().on_next(event)

    def expand(self, event: Event) -> Iterable[Response]:
        try:
            self._accumulator.apply(event)
        except Exception as error:
            return self._end_of(error)
        if self._every:
            self._until -= 1
            if not self._until:
                self._until = self._every
                return (self._accumulator.snapshot(),)
        return ()

    def finish(self, error: Exception | None) -> Iterable[Response]:
        return self._end_of(error)

    def _end_of(self, error: Exception | None) -> Iterable[Response]:
        response = self._accumulator.end(error)
        if self._strict and response.outcome == "completed" and response.failed_checks:
            codes = ", ".join(violation.code for violation in response.failed_checks)
            self.end_with(
                ConsistencyError(
                    f"the completed response does not agree with itself: {codes}",
                    violations=tuple(response.failed_checks),
                )
            )
            return ()
        self.end_with()
        return (response,)
