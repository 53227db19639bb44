"""What an encoder is, and what it is told at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol, Self

from rxstream.events import CancelCause, Event
from rxstream.response.response import Outcome, Response

__all__ = ("UNKNOWN_MODEL", "Encoder", "EncoderEnd", "End")

UNKNOWN_MODEL: Final = "unknown"
"""The model's name where nobody said it, for clients that must have one."""


class End(Protocol):
    """How a stream ended. A sink's `StreamEnd` is one."""

    @property
    def outcome(self) -> Outcome:
        """One of the five outcomes."""
        ...

    @property
    def error(self) -> Exception | None:
        """What ended it, for `failed` and `indeterminate`."""
        ...

    @property
    def cause(self) -> CancelCause | None:
        """Who cancelled, for `cancelled`."""
        ...


@dataclass(slots=True, frozen=True)
class EncoderEnd:
    """How a stream ended, for who has no `StreamEnd`; the fields are those of `End`."""

    outcome: Outcome
    error: Exception | None = None
    cause: CancelCause | None = None

    @classmethod
    def of(cls, response: Response) -> Self:
        """How a whole answer ended."""
        return cls(response.outcome, response.error, response.cancel_cause)


class Encoder(Protocol):
    """The bytes of one stream.

    `start` once, `encode` for each event in its order, `end` once. Every result is empty or whole frames, so that who
    sends it may put a keep-alive between any two results and never inside a frame. After `end` all results are empty.
    """

    @property
    def content_type(self) -> str:
        """The media type of the bytes."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Every header that the response needs, `content-type` included."""
        ...

    def start(self) -> bytes:
        """What stands before the first event. Once it is sent, an HTTP status can say nothing any more."""
        ...

    def encode(self, event: Event) -> bytes:
        """The frames of one event; empty where the format has nothing to say for it.

        Raises:
            LimitError: what must be sent whole is over its limit.
        """
        ...

    def keep_alive(self) -> bytes:
        """A frame that says nothing, to be sent while the model is silent; empty where the format has none."""
        ...

    def end(self, end: End) -> bytes:
        """The last frames, for every outcome. Only an answer that ended by the model's word ends as one here."""
        ...
