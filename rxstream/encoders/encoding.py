"""One stream on its way to wire bytes: an encoder, and what must be known to tell it how the stream ended."""

from __future__ import annotations

from rxstream.encoders.encoder import Encoder, EncoderEnd
from rxstream.events import CancelCause, Cancelled, Event
from rxstream.response.outcome import Verdict
from rxstream.response.report import StreamReport
from rxstream.response.tracker import Tracker

__all__ = ("Encoding",)


class Encoding:
    """Events in, frames out; at the end the frames that its outcome asks for. In constant space.

    Every result is empty or whole frames. What stands before the first event comes with the first frames that say
    something, so that nothing is sent before there is something to say.

    Args:
        encoder: a fresh one.
    """

    __slots__ = ("_encode", "_has_begun", "_note", "encoder", "tracker")

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self.tracker = Tracker()
        self._encode = encoder.encode
        self._note = self.tracker.note
        self._has_begun = False

    @property
    def has_content(self) -> bool:
        """Whether anything of an answer came: before that, an HTTP status can still tell a failure."""
        return self.tracker.has_content

    def write(self, event: Event) -> bytes:
        """The frames of one event.

        Raises:
            Exception: what the encoder raised; `end` with it is the last thing to do.
        """
        self._note(event)
        frames = self._encode(event)
        if self._has_begun or not frames:
            return frames
        return self._begun(frames)

    def judge(self, error: Exception | None) -> tuple[Verdict, StreamReport]:
        """How the stream ends, if it ends with `error` now."""
        return self.tracker.judge(error)

    @property
    def cause(self) -> CancelCause | None:
        """Who cancelled the stream; None while nobody did."""
        cancelled = self.tracker.cancelled
        return None if cancelled is None else cancelled.cause

    def end(self, verdict: Verdict) -> bytes:
        """The last frames."""
        return self._begun(self.encoder.end(EncoderEnd(verdict.outcome, verdict.error, self.cause)))

    def cancel(self, event: Cancelled) -> None:
        """The stream was cancelled: nothing but its end follows."""
        self._note(event)

    def _begun(self, frames: bytes) -> bytes:
        if self._has_begun:
            return frames
        self._has_begun = True
        return self.encoder.start() + frames
