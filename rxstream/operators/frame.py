"""Bytes to frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from reactivex import Observable, abc

from rxstream.diagnostics import Diagnostics
from rxstream.errors import FramingError
from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.stage import Stage, stage_operator
from rxstream.framing.frames import EventStreamFrame, Framing, SSEFrame
from rxstream.limits import Limits
from rxstream.operators.framings import FramingFactory, framing_factory

__all__ = ("frame", "frame_eventstream", "frame_json_array", "frame_ndjson", "frame_sse")


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
        framing: its name (`"sse"`, `"ndjson"`, `"json_array"`, `"eventstream"`), or what makes a framing from limits.
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


def frame_ndjson(
    *,
    at_eof: Literal["lenient", "strict"] = "lenient",
    blank_lines: Literal["skip", "fail"] = "skip",
    limits: Limits | None = None,
    diagnostics: Diagnostics | None = None,
) -> Callable[[Observable[bytes]], Observable[bytes]]:
    """Cut bytes into the lines of newline-delimited JSON, as `frame("ndjson")`.

        source  --{"a":--1}LF{"b":2}--|
                frame_ndjson()
        output  ---------x------------(y|)    (x is {"a":1}, y is {"b":2})

    A line that has its LF is not read: whether it is JSON is asked by whoever decodes it.

    Args:
        at_eof: a last line without LF: `"lenient"` delivers it where it is one complete JSON text and fails otherwise,
            `"strict"` takes it for cut.
        blank_lines: `"skip"` them, or `"fail"`.
        limits: the bounds on lines.
        diagnostics: where the bytes of a bad line go.

    Returns:
        A stage, as `frame`; each line without the blanks around it. Source of the rules: NDJSON 1.0, jsonlines.org.
    """
    return frame("ndjson", limits=limits, diagnostics=diagnostics, at_eof=at_eof, blank_lines=blank_lines)


def frame_json_array(
    *,
    bare_object: bool = False,
    concatenated: bool = False,
    utf8_errors: Literal["strict", "replace"] = "strict",
    limits: Limits | None = None,
    diagnostics: Diagnostics | None = None,
) -> Callable[[Observable[bytes]], Observable[bytes]]:
    """Cut bytes into the elements of a JSON array, as `frame("json_array")`; each is out as soon as it is known.

        source  --[{"a":1--}--,--{"b":"]"}--]--|
                frame_json_array()
        output  -----------x-----y-------------|    (x is {"a":1}, y is {"b":"]"})

    Args:
        bare_object: take an object in place of the array as the only element: an error often comes so.
        concatenated: let further arrays (and, with `bare_object`, objects) follow the first.
        utf8_errors: an element that is not UTF-8: `"strict"` fails, `"replace"` delivers it with U+FFFD in it.
        limits: the bounds on an element and its nesting.
        diagnostics: where the bytes of a bad element go.

    Returns:
        A stage, as `frame`. A missing closing bracket is `TruncatedFrameError`; what is no array, or no JSON, is a
        `FramingError` whose `kind` names the fault. Source of the rules: RFC 8259.
    """
    options = {"bare_object": bare_object, "concatenated": concatenated, "utf8_errors": utf8_errors}
    return frame("json_array", limits=limits, diagnostics=diagnostics, **options)


def frame_eventstream(
    *, limits: Limits | None = None, diagnostics: Diagnostics | None = None
) -> Callable[[Observable[bytes]], Observable[EventStreamFrame]]:
    """Cut bytes into the messages of an AWS event stream, as `frame("eventstream")`.

        source  --prelude--headers--payload--crc--|
                frame_eventstream()
        output  -----------------------------x----|

    Messages of the types `exception` and `error` are frames like any other.

    Args:
        limits: `max_eventstream_frame_bytes` bounds a message, `max_eventstream_headers_bytes` its headers.
        diagnostics: where the bytes of a bad message go.

    Returns:
        A stage, as `frame`. A wrong checksum, length or header is a `FramingError` whose `kind` names it, and the end:
        nothing in the stream marks where the next message would begin.
    """
    return frame("eventstream", limits=limits, diagnostics=diagnostics)


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
        if error is not None:
            return ()
        frames = self._collect(self._framing.close())
        self._flow.scope.unframed = getattr(self._framing, "unframed", b"")  # for who decodes below
        return frames

    def _collect(self, frames: Iterable[Any]) -> list[Any]:
        out: list[Any] = []
        try:
            out.extend(frames)  # a list in one call; what came before a fault is in it
        except FramingError as error:
            self._flow.scope.keep_detail(error, self._diagnostics)
            self.end_with(error)
        return out
