"""One stream into several branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from reactivex import Observable, abc

from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.stage import Stage, StageObservable
from rxstream.limits import Limits
from rxstream.operators.branch import Branch
from rxstream.operators.hub import Hub

__all__ = ("fan_out",)

T = TypeVar("T")


def fan_out(
    *branches: Callable[[Observable[Any]], Observable[Any]], limits: Limits | None = None
) -> Callable[[Observable[Any]], tuple[Observable[Any], ...]]:
    """One stream for several consumers, each behind operators of its own.

        left, right = events.pipe(ops.fan_out(ops.bounded_buffer(), ops.bounded_buffer(overflow=drop_oldest())))

        source  --a--b--c--d|
                fan_out(bounded_buffer(), bounded_buffer(1, overflow=drop_oldest()))
        left    --a--b--c--d|
        right   --a--------(Vd|)               (its consumer slept: V is the Violation that counts b and c)

    The source is subscribed to when the last branch is, and read while every live branch that pauses has room: what
    pauses is paced by the slowest, and loses nothing. A branch whose buffer may drop never closes its gate, and slows
    nobody. A branch without a buffer goes in lock-step with its consumer.

    The end, an error and `Cancelled` reach every branch, each behind what waits there (`Cancelled` overtakes it). A
    branch that is disposed, or whose operators or consumer fail, leaves; the others notice it by the pace only. The
    last one out disposes the source.

    Args:
        *branches: the operators of each branch, such as `bounded_buffer(...)`; several are joined by `rx.compose`.
        limits: defaults for operators and sources above; else those that the first subscriber who gave some gave.
            The source runs in the context (`contextvars`) of the subscriber that came last.

    Returns:
        An operator that gives a tuple of observables. Each serves one subscription.

    Raises:
        ValueError: no branch was given.
        TypeError: a branch is no operator.
        RuntimeError: at the subscribe, where a branch has or had its subscription already.
    """
    if not branches:
        raise ValueError("fan_out needs a branch: fan_out(ops.bounded_buffer(), ops.bounded_buffer())")
    for number, branch in enumerate(branches):
        if not callable(branch):
            raise TypeError(f"branch {number} of fan_out must be an operator, not {type(branch).__name__}")

    def operator(source: Observable[Any]) -> tuple[Observable[Any], ...]:
        hub = Hub(source, len(branches), limits)
        return tuple(branch(_once(source, hub, number)) for number, branch in enumerate(branches))

    return operator


def _once(source: Observable[T], hub: Hub[T], number: int) -> Observable[T]:
    """The upper end of a branch."""
    is_taken = False

    def make(observer: abc.ObserverBase[Any], flow: FlowScheduler) -> Stage[Any, Any]:
        nonlocal is_taken
        if is_taken:
            raise RuntimeError(
                f"branch {number} of fan_out has had its subscription: each serves one, from the beginning; for "
                "subscribers that come and go use share_bounded"
            )
        is_taken = True
        return cast("Stage[Any, Any]", Branch(hub, observer, flow))  # it connects as a stage does, and is none

    return StageObservable(source, make)
