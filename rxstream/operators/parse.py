"""Bytes to events: framing and decoding as one stage."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from reactivex import Observable, abc

from rxstream.diagnostics import Diagnostics
from rxstream.errors import StreamError
from rxstream.events import Event
from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.stage import stage_operator
from rxstream.framing.frames import Framing, Payload
from rxstream.limits import Limits
from rxstream.operators.decode import Decoding, OnBadFrame, check_on_bad_frame
from rxstream.operators.framings import framing_factory
from rxstream.providers.decoder import Decoder
from rxstream.providers.registry import Wire, get_wire

__all__ = ("parse",)


def parse(
    provider: str | Wire,
    *,
    on_bad_frame: OnBadFrame = "fail",
    limits: Limits | None = None,
    diagnostics: Diagnostics | None = None,
) -> Callable[[Observable[bytes]], Observable[Event]]:
    """Read a provider's bytes as events: `frame` and `decode` in one stage, and faster than the two.

        source  --by-te--s-----|
                parse("openai-chat")
        output  ---a-b---(cT)--(F|)            (a chunk may hold many events, an event many chunks)

    Args:
        provider: the wire or dialect, such as `"openai-chat"` or `"anthropic"` (`rxstream providers` lists them), or a
            `Wire` itself.
        on_bad_frame: as in `decode`.
        limits: the bounds on lines, frames and the arguments of one call.
        diagnostics: where the bytes of a bad frame and the provider's error body go.

    Returns:
        A stage. Demand stops inside a chunk: no event goes down that was not asked for. Errors as in `frame` and
        `decode`; a JSON error sent in place of a stream is the provider's error.

    Raises:
        ValueError: no wire has that name, or `on_bad_frame` is neither.
    """
    wire = provider if isinstance(provider, Wire) else get_wire(provider)
    make_framing = framing_factory(wire.framing)
    check_on_bad_frame(on_bad_frame)

    def make(observer: abc.ObserverBase[Event], flow: FlowScheduler) -> _Parser:
        bounds = flow.scope.limits_for(limits)
        return _Parser(observer, flow, make_framing(bounds), wire.make_decoder(bounds), on_bad_frame, diagnostics)

    return stage_operator(make)


class _Parser(Decoding[bytes]):
    """One subscription: the framing, then the decoder, a chunk at a time."""

    __slots__ = ("_feed", "_framing")

    def __init__(
        self,
        observer: abc.ObserverBase[Event],
        flow: FlowScheduler,
        framing: Framing[object],
        decoder: Decoder,
        on_bad_frame: OnBadFrame,
        diagnostics: Diagnostics | None,
    ) -> None:
        super().__init__(observer, flow, decoder, on_bad_frame, diagnostics)
        self._framing = framing
        self._feed: Callable[[bytes], list[Payload]] = framing.feed_payloads

    def expand(self, chunk: bytes) -> Iterable[Event]:
        try:
            payloads = self._feed(chunk)
        except TypeError:
            if isinstance(chunk, bytes | bytearray | memoryview):
                raise
            raise TypeError(
                f"parse reads bytes, and {type(chunk).__name__} came: does it stand in its place?"
            ) from None
        out = self.read(payloads) if payloads else []
        if self._framing.error is not None and self._end is None:
            self.fail_with(self._framing.error, out)
        return out

    def finish(self, error: Exception | None) -> Iterable[Event]:
        if error is not None:
            out: list[Event] = []
            self.abort(error, out)
            return out
        out = self.read(self._framing.close_payloads())
        if isinstance(self._end, StreamError):
            pass  # the last frame was the fault
        elif self._framing.error is not None and not self._decoder.done:
            self.fail_with(self._framing.error, out)
        else:
            self.close(out, getattr(self._framing, "unframed", b""))
        return out
