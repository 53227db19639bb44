"""Packed messages of an AWS event stream are what the parser and the format's description say."""

from __future__ import annotations

from uuid import UUID

import pytest

from rxstream.framing.eventstream import EventStreamParser
from rxstream.framing.frames import EventStreamFrame
from rxstream.testing import pack_event, pack_exception, pack_message
from rxstream.testing.eventstream import PackedValue

ERROR = (
    "0000005800000048154692c10d3a6d6573736167652d747970650700056572726f720b3a6572726f722d636f646507000d496e7465726e61"
    "6c4572726f720e3a6572726f722d6d657373616765070004626f6f6d961cb456"
)
"""An error of the code InternalError with the message boom, and no payload."""


def read(*messages: bytes) -> list[EventStreamFrame]:
    parser = EventStreamParser()
    frames = [*parser.feed(b"".join(messages))]
    return [*frames, *parser.close()]


def test_a_message_is_these_bytes() -> None:
    packed = pack_message({":message-type": "error", ":error-code": "InternalError", ":error-message": "boom"})
    assert packed.hex() == ERROR


def test_every_sort_of_value_comes_back() -> None:
    uuid = UUID(int=7)
    headers: dict[str, PackedValue] = {
        "yes": True,
        "no": False,
        "number": -3,
        "text": "grün",
        "bytes": b"\x00\xff",
        "uuid": uuid,
    }
    (frame,) = read(pack_message(headers, b"payload"))
    assert list(frame.headers.items()) == [*list(headers.items())[:-1], ("uuid", str(uuid))]
    assert frame.payload == b"payload"


def test_events_and_exceptions_have_their_headers_and_json() -> None:
    event, exception = read(pack_event("messageStart", {"role": "ä"}), pack_exception("throttlingException", b"{}"))
    assert (event.message_type, event.event_type, event.payload) == ("event", "messageStart", '{"role":"ä"}'.encode())
    assert (exception.message_type, exception.exception_type) == ("exception", "throttlingException")
    assert exception.payload == b"{}"
    assert exception.content_type == "application/json"


@pytest.mark.parametrize("headers", [{"": "x"}, {"n" * 256: "x"}, {"ü" * 128: "x"}, {"x": "v" * 65_536}])
def test_what_no_header_can_hold_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(ValueError):
        pack_message(headers)
