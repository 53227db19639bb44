"""Any wire by its name: framed and decoded as the fused stage does, without the stage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rxstream.errors import ProviderError, StreamError, TruncatedStreamError
from rxstream.events import Event, ToolCall, ToolCallDelta, ToolCallInvalid, ToolCallStart
from rxstream.framing.frames import Payload
from rxstream.limits import Limits
from rxstream.operators.framings import framing_factory
from rxstream.providers.decoder import Decoder
from rxstream.providers.http_errors import error_from_response
from rxstream.providers.registry import get_wire
from tests.providers.decoding import Outcome

__all__ = ("check_calls", "decode_wire")


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
        unframed = None
        if not decoder.done:
            _raise(framing.error)
            unframed = _unframed_error(getattr(framing, "unframed", b""))
        _raise(unframed if isinstance(unframed, ProviderError) else None)
        try:
            decoder.close(outcome.events)
        except TruncatedStreamError:
            _raise(unframed)
            raise
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
    return error_from_response(200, {}, body, content_type="application/json") if body else None


def _raise(error: StreamError | None) -> None:
    if error is not None:
        raise error


def check_calls(events: Sequence[Event]) -> None:
    """Every call that starts is decided once, after its pieces, and its arguments are the sum of them."""
    started = [event.call_id for event in events if isinstance(event, ToolCallStart)]
    assert len(set(started)) == len(started)
    for call_id in started:
        own = [event for event in events if getattr(event, "call_id", None) == call_id]
        assert isinstance(own[0], ToolCallStart)
        decided = [event for event in own if isinstance(event, (ToolCall, ToolCallInvalid))]
        assert decided == own[-1:]
        assert decided[0].arguments == "".join(event.arguments for event in own if isinstance(event, ToolCallDelta))
