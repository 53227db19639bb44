"""Never take a part for the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from reactivex import Observable, abc

from rxstream.errors import TruncatedStreamError
from rxstream.events import CONTENT_EVENTS, Event, Finish, ResponseStart
from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.stage import Stage, stage_operator

__all__ = ("require_terminal",)


def require_terminal() -> Callable[[Observable[Event]], Observable[Event]]:
    """Fail where a stream of events completes without the finish of every choice that began.

        source  --a-b-|
                require_terminal()
        output  --a-b-#                        (TruncatedStreamError)

    `decode` and `parse` have this check; it is for events from elsewhere. A cancelled stream passes.

    Returns:
        A stage that passes every event on.
    """
    return stage_operator(_TerminalCheck)


class _TerminalCheck(Stage[Event, Event]):
    """One subscription: the choices that began and have no finish yet."""

    __slots__ = ("_has_finish", "_open")

    def __init__(self, observer: abc.ObserverBase[Event], flow: FlowScheduler) -> None:
        super().__init__(observer, flow)
        self._open: set[int] = set()  # bounded: one entry a choice
        self._has_finish = False

    def expand(self, event: Event) -> Iterable[Event]:
        if isinstance(event, CONTENT_EVENTS):
            self._open.add(event.choice)
        elif isinstance(event, Finish):
            self._open.discard(event.choice)
            self._has_finish = True
        elif isinstance(event, ResponseStart):
            self._has_finish = self._has_finish and not self._open
        return (event,)

    def finish(self, error: Exception | None) -> Iterable[Event]:
        if error is None and (self._open or not self._has_finish):
            unfinished = f" of choice {', '.join(map(str, sorted(self._open)))}" if self._open else ""
            self.end_with(TruncatedStreamError(f"the events ended without a finish{unfinished}", phase="mid_stream"))
        return ()
