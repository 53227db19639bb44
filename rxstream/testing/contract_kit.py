"""What the contract suites stand on: a consumer whose gate is moved by hand, and sources that tell what happened."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from inspect import signature
from typing import Any, TypeVar, cast

from reactivex import Observable

from rxstream.flow.demand import Demand
from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.scope import Scope
from rxstream.sources.aiter import from_aiter
from rxstream.sources.iterable import from_iterable
from rxstream.testing.leaks import LeakError
from rxstream.testing.runner import BackgroundError
from rxstream.testing.virtual_time import StuckError, run_virtual

__all__ = ("ContractError", "GateByHand", "ToldSource", "check_maker", "keep")

T = TypeVar("T")


class ContractError(AssertionError):
    """A promise is broken.

    Args:
        promise: which one, as a sentence.
        seen: what was seen instead.
    """

    def __init__(self, promise: str, seen: str) -> None:
        self.promise = promise
        self.seen = seen
        super().__init__(f"{promise}: {seen}")


def keep(promise: str, is_kept: bool, seen: object = "it does not") -> None:
    """Raise `ContractError` unless the promise is kept."""
    if not is_kept:
        raise ContractError(promise, str(seen))


def check_maker(make: object, called: str) -> None:
    """Refuse what makes nothing: the thing itself in place of what makes it, most of all.

    Args:
        make: what is to be called, without arguments.
        called: the call that would be right, for the message.

    Raises:
        TypeError: it cannot be called without arguments.
    """
    try:
        signature(cast(Callable[..., Any], make)).bind()
    except TypeError:
        raise TypeError(f"the first argument makes a new one at each call, without arguments: {called}") from None
    except ValueError:
        return  # a builtin that does not say what it takes


def run_check(promise: str, check: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run one check on a loop of its own. What is left, and what failed where no one looks, breaks a promise too."""
    try:
        return run_virtual(check())
    except LeakError as error:
        raise ContractError("nothing is left when a stream is over", f"({promise}) {error}") from error
    except BackgroundError as error:
        raise ContractError("nothing fails in the background", f"({promise}) {error}") from error
    except StuckError as error:
        raise ContractError("a stream never hangs", f"({promise}) {error}") from error


class GateByHand:
    """A boundary that asks for one item at each `pull`, notes what comes and breaks the contract of Rx for nobody.

    Args:
        source: what it subscribes to.
        is_open: ask for everything.
        on_item: called with each item, inside `on_next`; it may raise.
    """

    def __init__(
        self, source: Observable[Any], *, is_open: bool = False, on_item: Callable[[Any], None] | None = None
    ) -> None:
        self.items: list[Any] = []
        self.ends: list[str] = []
        self.error: Exception | None = None
        self.pulls = 0
        self._broken: ContractError | None = None
        self._is_open = is_open
        self._on_item = on_item
        self._is_inside = False
        self._demand = Demand(Scope(), is_open=is_open)
        flow = FlowScheduler.on_loop(self._demand, self._demand.scope)
        self._is_subscribing = True
        self._upstream = source.subscribe(cast(Any, self), scheduler=flow)
        self._is_subscribing = False

    def pull(self) -> None:
        """Ask for one item."""
        self.pulls += 1
        self._demand.open()

    def dispose(self) -> None:
        """Leave, as a consumer of the library does."""
        self._upstream.dispose()
        self._demand.release()
        self.check()

    def check(self) -> None:
        """Raise the first promise that a signal broke: an operator may have caught it where it was seen."""
        if self._broken is not None:
            raise self._broken

    def on_next(self, item: Any) -> None:
        self._check_signal("item")
        was_asked = self._is_open or len(self.items) < self.pulls
        self._note("no more items are delivered than were asked for", was_asked, f"{item!r} came unasked")
        self.items.append(item)
        if not self._is_open:
            self._demand.close()
        self._is_inside = True
        try:
            if self._on_item is not None:
                self._on_item(item)
        finally:
            self._is_inside = False

    def on_error(self, error: Exception) -> None:
        self._check_signal("error")
        self.error = error
        self.ends.append("error")

    def on_completed(self) -> None:
        self._check_signal("completion")
        self.ends.append("completed")

    def _check_signal(self, name: str) -> None:
        self._note("nothing is delivered before subscribe has returned", not self._is_subscribing, f"an {name} came")
        self._note("signals to one subscriber are serial", not self._is_inside, f"an {name} came inside an on_next")
        self._note("nothing follows the end", not self.ends, f"an {name} came")

    def _note(self, promise: str, is_kept: bool, seen: str) -> None:
        if not is_kept and self._broken is None:
            self._broken = ContractError(promise, seen)


class ToldSource:
    """A source for one subscriber after the other, which counts how it was read and whether it was closed.

    Args:
        items: what it emits.
        error: raised after them; None ends well.
        is_async: read as an async iterable.
    """

    def __init__(self, items: Iterable[Any], error: Exception | None = None, *, is_async: bool = False) -> None:
        self.reads = 0
        self.opened = 0
        self.closed = 0
        self._items = items
        self._error = error
        self._is_async = is_async

    def observable(self) -> Observable[Any]:
        """The source; each subscription reads the items from their beginning."""
        return from_aiter(_AsyncToldItems(self)) if self._is_async else from_iterable(_ToldItems(self))

    def read(self) -> Iterator[Any]:
        """One subscription's items."""
        self.opened += 1
        try:
            for item in self._items:
                self.reads += 1
                yield item
            if self._error is not None:
                raise self._error
        finally:
            self.closed += 1


class _ToldItems:
    def __init__(self, source: ToldSource) -> None:
        self._source = source

    def __iter__(self) -> Iterator[Any]:
        return self._source.read()


class _AsyncToldItems:
    def __init__(self, source: ToldSource) -> None:
        self._source = source

    async def __aiter__(self) -> AsyncIterator[Any]:
        items = self._source.read()
        try:
            for item in items:
                yield item
        finally:
            items.close()  # type: ignore[attr-defined]  # a generator


def shown(items: Sequence[Any], at_most: int = 3) -> str:
    """A few of the items, for a message."""
    more = f", ... ({len(items)} in all)" if len(items) > at_most else ""
    return f"[{', '.join(map(repr, items[:at_most]))}{more}]"
