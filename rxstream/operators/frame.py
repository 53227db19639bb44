"""Bytes to frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from reactivex import Observable, abc

from rxstream.diagnostics import Diagnostics
from rxstream.errors import FramingError
from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.stage import Stage, stage_operator
from rxstream.framing.frames import Framing, SSEFrame
from rxstream.limits import Limits
from rxstream.operators.framings import FramingFactory, framing_factory

__all__ = ("frame", "frame_sse")


def frame(
    framing: str | FramingFactory,
    *,
    limits: Limits | None = None,
    diagnostics: Diagnostics | None = None,
    **options: Any,
) -> Callable[[Observable[bytes]], Observable[Any]]:
    """Cut bytes into the frames of a framing; where the chunks were cut makes no difference.

        source  --da-ta: x--LFLFda-|
                frame("sse")
        output  ------------x-----#            (the bytes ended inside a frame)

    Args:
        framing: its name (`"sse"`), or what makes a framing from limits.
        limits: the bounds on lines and frames.
        diagnostics: where the bytes of a bad frame go.
        **options: the framing's own, such as `end_marker` and `at_eof` of `"sse"`.

    Returns:
        A stage. A frame that is no frame, or over its bound, is a `FramingError` after the frames before it; bytes that
        end inside a frame are `TruncatedFrameError`.

    Raises:
        ValueError: there is no such framing.
    """
    make_framing = framing_factory(framing, **options)

    def make(observer: abc.ObserverBase[Any], flow: FlowScheduler) -> _Framer:
        return _Framer(observer, flow, make_framing(flow.scope.limits_for(limits)), diagnostics)

    return stage_operator(make)


def frame_sse(
    *,
    end_marker: bytes | None = b"[DONE]",
    at_eof: Literal["lenient", "strict"] = "lenient",
    limits: Limits | None = None,
    diagnostics: Diagnostics | None = None,
) -> Callable[[Observable[bytes]], Observable[SSEFrame]]:
    """Cut bytes into server-sent events, as `frame("sse")`.

        source  --data: x--LFLF--|
                frame_sse()
        output  -----------x-----|

    Args:
        end_marker: data that counts as whole at the end of the bytes although it is not JSON; None for none.
        at_eof: an event without its blank line at the end of the bytes: `"lenient"` delivers it where its data is the
            end marker or one complete JSON object or array and fails otherwise, `"strict"` discards it (WHATWG).
        limits: the bounds on lines and events.
        diagnostics: where the bytes of a bad event go.

    Returns:
        A stage, as `frame`. Source of the rules: WHATWG HTML 9.2.
    """
    return frame("sse", limits=limits, diagnostics=diagnostics, end_marker=end_marker, at_eof=at_eof)


class _Framer(Stage[bytes, Any]):
    """One subscription: the framing's state, and what it may not show."""

    __slots__ = ("_diagnostics", "_framing")

    def __init__(
        self,
        observer: abc.ObserverBase[Any],
        flow: FlowScheduler,
        framing: Framing[Any],
        diagnostics: Diagnostics | None,
    ) -> None:
        super().__init__(observer, flow)
        self._framing = framing
        self._diagnostics = diagnostics

    def expand(self, chunk: bytes) -> Iterable[Any]:
        return self._collect(self._framing.feed(chunk))

    def finish(self, error: Exception | None) -> Iterable[Any]:
        return () if error is not None else self._collect(self._framing.close())

    def _collect(self, frames: Iterable[Any]) -> list[Any]:
        out: list[Any] = []
        try:
            out.extend(frames)  # a list in one call; what came before a fault is in it
        except FramingError as error:
            self._flow.scope.keep_detail(error, self._diagnostics)
            self.end_with(error)
        return out
