"""What a decoder makes of a stream, in a form that two runs can be compared by."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rxstream.errors import StreamError
from rxstream.events import EVENT_ADAPTER, Event
from rxstream.framing.frames import Framing
from rxstream.framing.sse import SSEParser
from rxstream.providers.decoder import Decoder
from rxstream.testing import cut

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
CUTS = (1, 2, 3, 7, 1024)


@dataclass
class Outcome:
    """The events of a stream, and the error that ended it."""

    events: list[Event] = field(default_factory=list)
    error: StreamError | None = None

    @property
    def facts(self) -> tuple[list[Event], type[StreamError] | None, str]:
        """All that a caller can see but the error's correlation id."""
        return self.events, None if self.error is None else type(self.error), str(self.error or "")

    def of(self, *kinds: type[Event]) -> list[Event]:
        """The events of some kinds."""
        return [event for event in self.events if isinstance(event, kinds)]


def decode_sse(make_decoder: Callable[[], Decoder], chunks: Iterable[bytes]) -> Outcome:
    """Frame and decode `chunks` of server-sent events."""
    return decode(SSEParser(), make_decoder(), chunks)


def decode(framing: Framing[Any], decoder: Decoder, chunks: Iterable[bytes]) -> Outcome:
    """Frame and decode `chunks` as the fused stage does, up to the end or the first error."""
    outcome = Outcome()
    try:
        for chunk in chunks:
            _decode(decoder, framing.feed_payloads(chunk), outcome.events)
            _raise(framing.error)
        _decode(decoder, framing.close_payloads(), outcome.events)
        if not decoder.done:
            _raise(framing.error)
        decoder.close(outcome.events)
    except StreamError as error:
        decoder.abort(outcome.events)
        outcome.error = error
    return outcome


def _decode(decoder: Decoder, payloads: Iterable[bytes | object], out: list[Event]) -> None:
    for payload in payloads:
        if decoder.done:
            return
        decoder.decode(payload, out)  # type: ignore[arg-type]  # the parser's own list


def _raise(error: StreamError | None) -> None:
    if error is not None:
        raise error


def sizes_of(wire: bytes) -> list[list[bytes]]:
    """`wire` whole, and in chunks of each size."""
    return [[wire], *(cut(wire, size) for size in CUTS)]


def expected_of(path: Path) -> tuple[list[Event], tuple[str, str] | None]:
    """The expectation beside a wire sample: its events, and its error's type and category.

    An event names its type and what is not the default.
    """
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    error = expected["error"]
    events: list[Event] = [EVENT_ADAPTER.validate_python(event) for event in expected["events"]]
    return events, None if error is None else (error["type"], error["category"])
