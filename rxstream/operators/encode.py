"""Events to wire bytes, for who has a client of some API to serve."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from reactivex import Observable, abc

from rxstream.diagnostics import Diagnostics
from rxstream.encoders import Encoder, encoder
from rxstream.encoders.encoding import Encoding
from rxstream.events import Cancelled, Event, cancelled_events
from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.stage import Stage, stage_operator
from rxstream.limits import Limits

__all__ = ("encode",)


def encode(
    format: str | Callable[..., Encoder],
    *,
    limits: Limits | None = None,
    diagnostics: Diagnostics | None = None,
    **options: Any,
) -> Callable[[Observable[Event]], Observable[bytes]]:
    """Write a stream of events as the bytes of an API.

        source  --a-b-T-F|
                encode("openai-chat")
        output  --a-b-T-(F|)                   (the last item is finish and end marker)

        source  --a-b-#
                encode("openai-chat")
        output  --a-b-(e|)                     (e is the format's error frame)

    Every item is one or more whole frames and never empty, so that a keep-alive may stand between any two of them.

    Args:
        format: a name of `rxstream.encoders.encoder_names()`, or what makes an encoder of your own; one is made for
            each subscription.
        limits: what may be kept of the answer, in a format that must keep some of it; an encoder of your own is given
            them only where you say them here.
        diagnostics: where the protected detail of an error goes: the client is told its safe sentence alone.
        options: the encoder's own, such as `include_usage=True` of `openai-chat`.

    Returns:
        A stage that always completes. An error, an end without the model's word and a cancellation are frames too, for
        this is the last place that can tell the client; a client that has gone away is told nothing. An encoder's own
        error (an image over `Limits.max_media_bytes`) ends the stream in the same way.

    Raises:
        ValueError: there is no such format.
        TypeError: it has no such option.
    """

    def make_encoder(bounds: Limits | None) -> Encoder:
        if isinstance(format, str):
            return encoder(format, limits=bounds, **options)
        return format(**options) if limits is None else format(limits=limits, **options)

    make_encoder(limits)  # a wrong name or option is told now, not when somebody subscribes

    def make(observer: abc.ObserverBase[bytes], flow: FlowScheduler) -> _EncodeStage:
        return _EncodeStage(observer, flow, Encoding(make_encoder(flow.scope.limits_for(limits))), diagnostics)

    return stage_operator(make)


class _EncodeStage(Stage[Event, bytes]):
    """One subscription."""

    __slots__ = ("_diagnostics", "_encoding")

    def __init__(
        self,
        observer: abc.ObserverBase[bytes],
        flow: FlowScheduler,
        encoding: Encoding,
        diagnostics: Diagnostics | None,
    ) -> None:
        super().__init__(observer, flow)
        self._encoding = encoding
        self._diagnostics = diagnostics

    def expand(self, event: Event) -> Iterable[bytes]:
        try:
            frames = self._encoding.write(event)
        except Exception as error:
            self.end_with()
            return self._last_frames(error)
        return (frames,) if frames else ()

    def finish(self, error: Exception | None) -> Iterable[bytes]:
        self.end_with()
        return self._last_frames(error)

    def _last_frames(self, error: Exception | None) -> tuple[bytes, ...]:
        verdict, _ = self._encoding.judge(error)
        if verdict.error is not None:
            self._flow.scope.keep_detail(verdict.error, self._diagnostics)
        frames = self._encoding.end(verdict)
        return (frames,) if frames else ()

    def _cancel(self, event: Cancelled) -> None:
        """Here a cancellation is not passed on, for what is below takes bytes: it becomes the last of them."""
        told = map(self._encoding.write, cancelled_events(event))
        frames = b"".join((*told, *self._last_frames(None)))
        if frames:
            super()._cancel(frames)
        else:
            self._complete()

    def _complete(self) -> None:
        observer = self._observer
        self._stop()
        if observer is not None:
            observer.on_completed()
