"""What a user interface may show."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from reactivex import Observable, abc

from rxstream.events import Cancelled, Event
from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.stage import Stage, stage_operator
from rxstream.limits import Limits
from rxstream.response.projection import OnUnfinished, Projection, Projector

__all__ = ("project",)


def project(
    on_unfinished: OnUnfinished = "retain", *, choice: int = 0, limits: Limits | None = None
) -> Callable[[Observable[Event]], Observable[Projection]]:
    """A projection whenever what may be shown has changed, labelled provisional until the answer's end.

        source  --a-b-F|
                project()
        output  --p-p--(P|)                    (p.provisional; P.outcome == "completed")

        source  --a-b-#
                project(on_unfinished="hide")
        output  --p-p-(P#)                     (P.text == "", P.outcome == "failed")

    Args:
        on_unfinished: what the last projection shows of an answer that was not completed: `"retain"` all of it,
            `"hide"` it, or `"annotate"` it with a note.
        choice: which of several answers.
        limits: how much is held: text, arguments, media, kept events.

    Returns:
        A stage. The last projection comes before the end, whatever the outcome; an error follows it.

    Raises:
        ValueError: `on_unfinished` is none of the three.
    """
    Projector(on_unfinished)

    def make(observer: abc.ObserverBase[Projection], flow: FlowScheduler) -> _Projection:
        projector = Projector(on_unfinished, choice=choice, limits=flow.scope.limits_for(limits))
        return _Projection(observer, flow, projector)

    return stage_operator(make)


class _Projection(Stage[Event, Projection]):
    """One subscription."""

    __slots__ = ("_last", "_projector")

    def __init__(self, observer: abc.ObserverBase[Projection], flow: FlowScheduler, projector: Projector) -> None:
        super().__init__(observer, flow)
        self._projector = projector
        self._last: Projection | None = None

    def on_next(self, event: Event) -> None:
        if isinstance(event, Cancelled):
            self._projector.feed(event)
            self.on_completed()  # what it stands for is the last projection
        else:
            super().on_next(event)

    def expand(self, event: Event) -> Iterable[Projection]:
        try:
            shown = self._projector.feed(event)
        except Exception as error:
            self.end_with(error)
            return (self._projector.end(error),)
        if shown is self._last:
            return ()
        self._last = shown
        return (shown,)

    def finish(self, error: Exception | None) -> Iterable[Projection]:
        return (self._projector.end(error),)
