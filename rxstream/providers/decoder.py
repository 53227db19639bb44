"""What every wire's decoder is: a state machine from payloads to events.

A decoder sees one stream. It appends to a list that the stage owns, so that events which came before a fault are in the
list when it raises. It never sees a chunk, a clock or a socket.
"""

from __future__ import annotations

from typing import Protocol

from rxstream.events import Event
from rxstream.framing.frames import Payload

__all__ = ("Decoder",)


class Decoder(Protocol):
    """Payloads to events, for one stream of one wire."""

    done: bool
    """The wire's last word was seen (`[DONE]`): nothing that follows counts, and no more needs to be read."""

    def decode(self, payload: Payload, out: list[Event]) -> None:
        """Append to `out` what `payload` means.

        Raises:
            DecodeError: the payload is not what the wire says; `out` holds what came before it. `decode` may be called
                again with the next payload (`on_bad_frame="event"`).
            ProviderError: the payload is the provider's own error; what was held back is in `out`. It ends the stream.
        """
        ...

    def close(self, out: list[Event]) -> None:
        """The bytes have ended cleanly: append what was held back (`Finish`, calls that stayed open).

        Raises:
            TruncatedStreamError: the end signal never came.
        """
        ...

    def abort(self, out: list[Event]) -> None:
        """The stream fails from outside (transport, framing): append what must not be lost, a finish that was seen."""
        ...
