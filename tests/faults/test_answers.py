"""What whole answers must be, where other libraries have lost or delayed them."""

from __future__ import annotations

import asyncio
import sys
import threading

import pytest

import rxstream as rxs
from rxstream import operators as ops
from rxstream.sources import from_chunks, http_stream
from rxstream.testing import Answer, answer, run_virtual
from rxstream.testing.wires import WIRES
from tests.sources.http_streams import serving
from tests.testing.clients import HTTP_CLIENTS

HTTPX = HTTP_CLIENTS[0]


NO_WORD_FOR_LENGTH = {"gemini-interactions"}


@pytest.mark.parametrize("wire", sorted(WIRES.keys() - NO_WORD_FOR_LENGTH))
def test_a_length_finish_keeps_the_text_and_is_incomplete(wire: str) -> None:
    frames = WIRES[wire].stream(Answer(["par", "tial"], finish="length"))

    async def main() -> rxs.Response:
        return await rxs.collect(from_chunks(frames).pipe(ops.parse(wire)))

    response = run_virtual(main())
    assert (response.outcome, response.text, response.finish_reason) == ("incomplete", "partial", "length")
    assert response.raise_for_outcome() is response


def test_text_arrives_as_it_is_said() -> None:
    """A piece every 50 ms: each is there within the batching window and not at the end."""
    pieces = [f"{number} " for number in range(40)]

    async def main() -> list[tuple[float, str]]:
        loop = asyncio.get_running_loop()
        arrived: list[tuple[float, str]] = []
        async with serving(HTTPX, answer(*pieces, pacing_seconds=0.05)) as (provider, client):
            body = http_stream(client, "POST", provider.base_url)
            events = body.pipe(ops.parse("openai-chat"), ops.batch_text(), ops.bounded_buffer())
            async for event in rxs.iterate(events):
                if isinstance(event, rxs.TextDelta):
                    arrived.append((loop.time(), event.text))
        return arrived

    arrived = run_virtual(main())
    assert [text for _, text in arrived] == pieces
    first = arrived[0][0]
    assert [round(when - first, 3) for when, _ in arrived] == [round(0.05 * number, 3) for number in range(40)]


def test_many_streams_start_no_thread_and_import_nothing() -> None:
    frames = WIRES["openai-chat"].stream(Answer(["x"] * 450))

    async def read() -> str:
        events = from_chunks(frames).pipe(ops.parse("openai-chat"), ops.batch_text(), ops.bounded_buffer())
        return (await rxs.collect(events)).text

    async def main() -> None:
        assert await read() == "x" * 450  # what is imported at first use is imported now
        threads, modules = threading.active_count(), set(sys.modules)
        assert set(await asyncio.gather(*(read() for _ in range(30)))) == {"x" * 450}
        assert (threading.active_count(), set(sys.modules)) == (threads, modules)

    run_virtual(main())
