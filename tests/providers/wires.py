"""Any wire by its name: framed and decoded as the fused stage does, without the stage."""

from __future__ import annotations

from collections.abc import Iterable

from rxstream.errors import ProviderError, StreamError
from rxstream.framing.frames import Payload
from rxstream.limits import Limits
from rxstream.operators.framings import framing_factory
from rxstream.providers.decoder import Decoder
from rxstream.providers.http_errors import error_from_response
from rxstream.providers.registry import get_wire
from tests.providers.decoding import Outcome

__all__ = ("decode_wire",)


def decode_wire(name: str, chunks: Iterable[bytes], limits: Limits | None = None) -> Outcome:
    """What `chunks` give on the wire `name`, up to the end or the first error."""
    wire = get_wire(name)
    framing, decoder = framing_factory(wire.framing)(limits), wire.make_decoder(limits)
    outcome = Outcome()
    try:
        for chunk in chunks:
            _decode(decoder, framing.feed_payloads(chunk), outcome)
            _raise(framing.error)
            if decoder.done:
                break
        else:
            _decode(decoder, framing.close_payloads(), outcome)
        if not decoder.done:
            _raise(framing.error)
            _raise(_unframed_error(getattr(framing, "unframed", b"")))
        decoder.close(outcome.events)
    except StreamError as error:
        decoder.abort(outcome.events)
        outcome.error = error
    return outcome


def _decode(decoder: Decoder, payloads: Iterable[Payload], outcome: Outcome) -> None:
    for payload in payloads:
        if decoder.done:
            return
        decoder.decode(payload, outcome.events)


def _unframed_error(body: bytes) -> StreamError | None:
    error = error_from_response(200, {}, body, content_type="application/json") if body else None
    return error if isinstance(error, ProviderError) else None


def _raise(error: StreamError | None) -> None:
    if error is not None:
        raise error
