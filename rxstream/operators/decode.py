"""Frames to events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Literal

from reactivex import Observable, abc

from rxstream.diagnostics import Diagnostics
from rxstream.errors import DecodeError, ProviderError, StreamError, TruncatedStreamError
from rxstream.events import CONTENT_EVENTS, Event, ProviderEvent
from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.stage import InT, Stage, stage_operator
from rxstream.framing.frames import Payload
from rxstream.limits import Limits
from rxstream.providers.decoder import Decoder
from rxstream.providers.http_errors import error_from_response
from rxstream.providers.registry import get_wire

__all__ = ("Decoding", "OnBadFrame", "decode")

OnBadFrame = Literal["fail", "event"]

_CONTENT: Final = frozenset(CONTENT_EVENTS)


def decode(
    provider: str,
    on_bad_frame: OnBadFrame = "fail",
    *,
    limits: Limits | None = None,
    diagnostics: Diagnostics | None = None,
) -> Callable[[Observable[Any]], Observable[Event]]:
    """Read a provider's frames as events.

        source  --f-f---f--|
                decode("openai-chat")
        output  --a-b-(cT)-(F|)                (one frame may hold several events; Finish comes last)

    Args:
        provider: the wire or dialect, such as `"openai-chat"` or `"anthropic"` (`rxstream providers` lists them).
        on_bad_frame: a frame that is not what the wire says ends the stream (`"fail"`), or becomes a `ProviderEvent`
            named `bad_frame` and the stream goes on (`"event"`). It is never dropped.
        limits: the bounds of what the decoder holds (arguments of one call).
        diagnostics: where the bytes of a bad frame and the provider's error body go.

    Returns:
        A stage. The provider's own error is a `ProviderError`, also one that `frame` above found in place of a frame;
        bytes that end without the wire's end signal are `TruncatedStreamError`; both after everything that came before.
        A key that nobody knows is a `ProviderEvent`, unless it stands beside a plain piece of a text that flows: of
        such frames no more is read than proves what they are.

    Raises:
        ValueError: no wire has that name, or `on_bad_frame` is neither.
    """
    wire = get_wire(provider)
    check_on_bad_frame(on_bad_frame)

    def make(observer: abc.ObserverBase[Event], flow: FlowScheduler) -> _FrameDecoder:
        decoder = wire.make_decoder(flow.scope.limits_for(limits))
        return _FrameDecoder(observer, flow, decoder, on_bad_frame, diagnostics)

    return stage_operator(make)


def check_on_bad_frame(on_bad_frame: str) -> None:
    """Raise `ValueError` where it is neither of the two."""
    if on_bad_frame not in ("fail", "event"):
        raise ValueError(f"on_bad_frame must be 'fail' or 'event', not {on_bad_frame!r}")


class Decoding(Stage[InT, Event]):
    """What every stage that decodes shares: the decoder's state, and the phase of an error."""

    __slots__ = ("_decoder", "_diagnostics", "_has_content", "_is_strange", "_on_bad_frame")

    def __init__(
        self,
        observer: abc.ObserverBase[Event],
        flow: FlowScheduler,
        decoder: Decoder,
        on_bad_frame: OnBadFrame,
        diagnostics: Diagnostics | None,
    ) -> None:
        super().__init__(observer, flow)
        self._decoder = decoder
        self._on_bad_frame = on_bad_frame
        self._diagnostics = diagnostics
        self._has_content = False
        self._is_strange: bool | None = None  # whether no event is of this wire; None: there was none

    def read(self, payloads: Iterable[Payload]) -> list[Event]:
        """The events of `payloads`. The wire's last word, or a fault, ends the stream after them."""
        out: list[Event] = []
        decoder, rest = self._decoder, iter(payloads)
        decode = decoder.decode
        try:
            for payload in rest:
                decode(payload, out)
        except StreamError as error:
            self._recover(error, rest, out)
        if not self._has_content:
            self._has_content = any(type(event) in _CONTENT for event in out)
        if out and self._is_strange is not False:
            self._is_strange = all(type(event) is ProviderEvent for event in out)
        if decoder.done and self._end is None:
            self._close_decoder(out)
            if self._end is None:
                self.end_with()
        return out

    def _recover(self, fault: StreamError, rest: Iterator[Payload], out: list[Event]) -> None:
        """End with what was raised, or make an event of each bad frame and go on behind it."""
        error: StreamError | None = fault
        while error is not None:
            if self._on_bad_frame == "fail" or not isinstance(error, DecodeError):
                self.fail_with(error, out)
                return
            out.append(ProviderEvent("bad_frame", {"error": error.public.message, "frame": _raw(error)}))
            error = self._decode_up_to_a_fault(rest, out)

    def _decode_up_to_a_fault(self, rest: Iterator[Payload], out: list[Event]) -> StreamError | None:
        try:
            for payload in rest:
                self._decoder.decode(payload, out)
        except StreamError as error:
            return error
        return None

    def close(self, out: list[Event], unframed: bytes) -> None:
        """The bytes ended: what the decoder held back, and its verdict.

        A body that stood in place of events, or between two of them, may know better. What says that the provider
        failed is true whatever the events said; any other is the reason only where the end signal is missing.
        """
        error = _error_of(unframed) if unframed and not self._decoder.done else None
        if isinstance(error, ProviderError):
            error.phase = None if self._has_content else error.phase
            self.fail_with(error, out)
            return
        self._close_decoder(out)
        if error is not None and isinstance(self._end, TruncatedStreamError):
            self.end_with(self._known(error, out))

    def _close_decoder(self, out: list[Event]) -> None:
        try:
            self._decoder.close(out)
        except StreamError as error:
            self.end_with(self._known(self._perhaps_of_another_wire(error), out))

    def _perhaps_of_another_wire(self, error: StreamError) -> StreamError:
        """An answer that was read by the decoder of another wire is empty; that it was not is worth a word."""
        if not self._is_strange or not isinstance(error, TruncatedStreamError):
            return error
        hint = "nothing that came is of this wire: is it the one that was asked?"
        return TruncatedStreamError(f"{error.public.message}; {hint}", retry=error.public.retry, phase=error.phase)

    def abort(self, error: Exception, out: list[Event]) -> None:
        """The stream fails from outside: what must not be lost goes out before `error`."""
        self._decoder.abort(out)
        self.end_with(self._known(error, out) if isinstance(error, StreamError) else error)

    def fail_with(self, error: StreamError, out: list[Event]) -> None:
        """End with an error that the decoder raised; what it held back is in `out` where it is a `ProviderError`."""
        self._decoder.abort(out)
        self.end_with(self._known(error, out))

    def _known(self, error: StreamError, out: list[Event]) -> StreamError:
        if error.phase is None:
            has_content = self._has_content or any(type(event) in _CONTENT for event in out)
            error.phase = "mid_stream" if has_content else "before_content"
        self._flow.scope.keep_detail(error, self._diagnostics)
        return error


class _FrameDecoder(Decoding[Any]):
    """One subscription of `decode`: a frame at a time."""

    __slots__ = ()

    def expand(self, frame: Payload | str) -> Iterable[Event]:
        return self.read((frame.encode() if isinstance(frame, str) else frame,))

    def finish(self, error: Exception | None) -> Iterable[Event]:
        out: list[Event] = []
        if error is None:
            scope = self._flow.scope
            unframed, scope.unframed = scope.unframed, b""
            self.close(out, unframed)
        else:
            self.abort(error, out)
        return out


def _error_of(body: bytes) -> StreamError:
    kind = "text/html" if body.lstrip()[:1] == b"<" else "application/json"
    return error_from_response(200, {}, body, content_type=kind, truncated=False)


def _raw(error: DecodeError) -> str:
    detail = error.take_detail()
    if isinstance(detail, bytes | bytearray):
        return bytes(detail).decode("utf-8", "replace")
    return detail if isinstance(detail, str) else repr(detail)
