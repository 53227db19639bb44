"""An answer as a message of the next request."""

from __future__ import annotations

import pytest

from rxstream.errors import RequestError
from rxstream.events import (
    Event,
    MediaDelta,
    ReasoningDelta,
    ReasoningSignature,
    RefusalDelta,
    ServerToolCall,
    ServerToolResult,
    TextDelta,
    ToolCall,
    ToolCallInvalid,
)
from rxstream.requests import (
    Content,
    ImageContent,
    Message,
    ReasoningContent,
    TextContent,
    ToolCallContent,
)
from rxstream.response import Accumulator


def message_of(*events: Event) -> Message:
    accumulator = Accumulator()
    for event in events:
        accumulator.apply(event)
    return accumulator.end().to_message()


def test_an_answer_keeps_its_parts_their_order_and_their_signatures() -> None:
    message = message_of(
        ReasoningDelta("hm, ", "0"),
        ReasoningDelta("so", "0"),
        ReasoningSignature("s1", "0"),
        ReasoningSignature("r1", "1", kind="redacted"),
        TextDelta("It is ", "2"),
        TextDelta("cold.", "2"),
        ToolCall("call_1", "f", '{"a":1}', part_id="3"),
        ReasoningSignature("s3", "3"),
        TextDelta("Bye.", "4"),
        ToolCall("call_2", "g", "free", "custom", "5"),
    )
    expected: list[Content] = [
        ReasoningContent(text="hm, so", signatures={"signature": "s1"}),
        ReasoningContent(signatures={"redacted": "r1"}),
        TextContent(text="It is cold."),
        ToolCallContent(call_id="call_1", name="f", arguments='{"a":1}', signatures={"signature": "s3"}),
        TextContent(text="Bye."),
        ToolCallContent(call_id="call_2", name="g", arguments="free", kind="custom"),
    ]
    assert message == Message.assistant(expected)


def test_a_refusal_is_what_the_model_said() -> None:
    assert message_of(RefusalDelta("No.")) == Message.assistant([TextContent(text="No.")])


def test_an_image_goes_back_whole() -> None:
    """Its pieces are padded each, as some wires send them."""
    message = message_of(MediaDelta("image/png", "aGk=", "0"), MediaDelta("image/png", "aGk=", "0"))
    assert message == Message.assistant([ImageContent.from_bytes(b"hihi", "image/png")])


def test_an_image_that_a_model_signed_goes_back_with_its_signature() -> None:
    message = message_of(MediaDelta("image/png", "aGk=", "0"), ReasoningSignature("s", "0"))
    image = ImageContent(data="aGk=", media_type="image/png", signatures={"signature": "s"})
    assert message == Message.assistant([image])


def test_what_the_provider_ran_itself_is_left_out() -> None:
    message = message_of(
        ServerToolCall("srv_1", "search", "{}", "0"),
        ServerToolResult("srv_1", "search", [], "1"),
        TextDelta("Cold.", "2"),
    )
    assert message == Message.assistant([TextContent(text="Cold.")])


def test_an_answer_of_nothing_is_a_message_of_nothing() -> None:
    assert message_of() == Message.assistant([])


def test_a_call_that_is_not_valid_has_no_place() -> None:
    with pytest.raises(RequestError, match="a tool call that is not valid") as caught:
        message_of(ToolCallInvalid("1", "f", '{"secret', "cut"))
    assert "secret" not in str(caught.value)


def test_audio_has_no_place() -> None:
    with pytest.raises(RequestError, match="media that are no image"):
        message_of(MediaDelta("audio/pcm", "aGk="))
