"""What the page's small queue has no room for is left out, and nothing else is."""

from __future__ import annotations

import pytest

from rxstream.events import (
    Annotation,
    Event,
    Finish,
    MediaDelta,
    ProviderEvent,
    ReasoningDelta,
    ReasoningSignature,
    RefusalDelta,
    ResponseFinal,
    ResponseStart,
    ServerToolCall,
    ServerToolResult,
    TextDelta,
    ToolCallDelta,
    ToolResult,
    Usage,
    UsageUpdate,
    Violation,
)
from rxstream.gateway.page.chat import MAX_BYTES
from rxstream.gateway.page.events import for_page
from rxstream.operators.event_size import event_bytes

LARGE = "x" * 100_000

WITH_LARGE_PARTS: list[Event] = [
    Annotation("url_citation", {"url": LARGE, "title": LARGE, "snippet": LARGE}),
    Finish("stop", "stop", detail=LARGE),
    MediaDelta("image/png", LARGE),
    ProviderEvent("heartbeat", {"padding": LARGE}),
    ReasoningSignature(LARGE),
    ResponseFinal({"output": LARGE}, text=LARGE),
    ServerToolCall("c", "search", LARGE, raw=LARGE),
    ServerToolResult("c", "search", LARGE),
    ToolResult("c", "search", LARGE),
    UsageUpdate(Usage(1, 2, raw={"padding": LARGE})),
    TextDelta("a", logprobs=[LARGE]),
]


@pytest.mark.parametrize("event", WITH_LARGE_PARTS, ids=lambda event: event.type)
def test_an_event_with_large_parts_fits_and_is_what_it_was(event: Event) -> None:
    shown = for_page(event)
    assert event_bytes(shown) < MAX_BYTES / 4
    assert type(shown) is type(event)


@pytest.mark.parametrize(
    "event",
    [
        ResponseStart("id", "model", "provider"),
        TextDelta("text", "p"),
        ReasoningDelta("text", "p"),
        RefusalDelta("text", "p"),
        ToolCallDelta("c", "{}"),
        Violation("code", "message"),
    ],
    ids=lambda event: event.type,
)
def test_what_the_page_shows_passes_as_it_is(event: Event) -> None:
    assert for_page(event) is event


def test_counts_and_reasons_stay() -> None:
    assert for_page(UsageUpdate(Usage(3, 4, raw={"a": 1}))) == UsageUpdate(Usage(3, 4))
    assert for_page(Finish("length", "max_tokens", 1, "why")) == Finish("length", "max_tokens", 1)


@pytest.mark.parametrize(
    "data",
    [
        {"url": "https://a.example", "title": "A", "more": 1},
        {"type": "url_citation", "url_citation": {"url": "https://a.example", "title": "A"}},
        {"web": {"url": "https://a.example", "title": "A"}},
    ],
)
def test_a_source_keeps_its_address_wherever_its_provider_puts_it(data: dict[str, object]) -> None:
    shown = for_page(Annotation("source", data, "p", 1))  # type: ignore[arg-type]
    assert shown == Annotation("source", {"url": "https://a.example", "title": "A"}, "p", 1)
