"""Each turn of an agent as a response."""

from __future__ import annotations

from dataclasses import dataclass, field

from reactivex import Observable

from rxstream.consume.iterate import iterate
from rxstream.diagnostics import Diagnostics
from rxstream.events import Cancelled, Event, ProviderEvent, Usage
from rxstream.limits import DEFAULT_LIMITS, Limits
from rxstream.requests import Message
from rxstream.response.accumulator import Accumulator
from rxstream.response.response import Outcome, Response
from rxstream.response.usage import sum_usage
from rxstream.turns.follow_up import turn_messages

__all__ = ("TurnsResult", "collect_turns")


@dataclass(slots=True)
class TurnsResult:
    """What all turns came to.

    Args:
        turns: one response for each turn, in order; at least one.
        stopped: why the loop ended, as the event `turns` says; None where it was cancelled or broke off.
    """

    turns: list[Response] = field(default_factory=list)
    stopped: str | None = None

    @property
    def last(self) -> Response:
        """The last turn."""
        return self.turns[-1]

    @property
    def outcome(self) -> Outcome:
        """How the last turn ended; `incomplete` where the loop ended before the model's last word."""
        return self.last.outcome

    @property
    def text(self) -> str:
        """The text of the last turn."""
        return self.last.text

    @property
    def error(self) -> Exception | None:
        """What ended the last turn, for `failed` and `indeterminate`."""
        return self.last.error

    @property
    def usage(self) -> Usage:
        """The counts of all turns together; a count that one of them does not know is None."""
        return sum_usage(response.usage for response in self.turns)

    def raise_for_outcome(self) -> TurnsResult:
        """Return itself, unless the last turn failed or nobody knows how it ended.

        Raises:
            StreamError: what ended it.
        """
        self.last.raise_for_outcome()
        return self

    def to_messages(self) -> tuple[Message, ...]:
        """All turns as messages, to continue the conversation: `request.then(*result.to_messages(), ...)`.

        Raises:
            RequestError: a turn has a call that is not valid, or audio.
        """
        return tuple(message for response in self.turns for message in turn_messages(response))


async def collect_turns(
    events: Observable[Event], *, limits: Limits | None = None, diagnostics: Diagnostics | None = None
) -> TurnsResult:
    """Run the stream of `run_turns` to its end, and give a `Response` for each turn; it never raises for an outcome.

        result = await rxs.collect_turns(rxs.run_turns(endpoint, request, [weather]))
        print(result.turns[-1].text)

    The events `turn` and `turns` must have come through: no policy that drops may stand before this.

    Args:
        events: what `run_turns` gives.
        limits: how much is held of one turn, and defaults for operators and sources above.
        diagnostics: where protected detail of errors goes, likewise.

    Returns:
        The responses as `turns`, and why the loop `stopped`.

    Raises:
        TypeError: `events` is no Observable.
    """
    pages = _Pages(limits)
    async with iterate(events, limits=limits, diagnostics=diagnostics) as stream:
        try:
            async for event in stream:
                pages.add(event)
        except Exception as error:
            pages.close(error)
        else:
            pages.close(None)
    return pages.result


class _Pages:
    """The turns that have ended, and the one that runs."""

    def __init__(self, limits: Limits | None) -> None:
        self.result = TurnsResult()
        self._limits = limits or DEFAULT_LIMITS
        self._turn = Accumulator(self._limits)
        self._has_ended = False  # its mark has come; an error may still follow, and is its own

    def add(self, event: Event) -> None:
        if isinstance(event, ProviderEvent) and event.name == "turns" and isinstance(event.data, dict):
            self.result.stopped = str(event.data.get("stopped"))
            return
        if self._has_ended and not isinstance(event, Cancelled):
            self._turn_page(None)
        if isinstance(event, ProviderEvent) and event.name == "turn":
            self._has_ended = True
        else:
            self._turn.apply(event)

    def _turn_page(self, error: Exception | None) -> None:
        self.result.turns.append(self._turn.end(error))
        self._turn, self._has_ended = Accumulator(self._limits), False

    def close(self, error: Exception | None) -> None:
        """The stream has ended."""
        self._turn_page(error)
