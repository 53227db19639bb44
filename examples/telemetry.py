"""What OpenTelemetry is told of a stream: a span on the console. Run: python examples/telemetry.py"""

from __future__ import annotations

import asyncio
import importlib.util

import rxstream as rxs
from rxstream import operators as ops
from rxstream.testing import Answer, openai_chat_sse


async def ask() -> None:
    from rxstream import otel

    body = openai_chat_sse(Answer(text=["Spans ", "end ", "once."]))
    events = rxs.from_chunks(body).pipe(
        ops.parse("openai-chat"),
        otel.observe(provider="openai", model="gpt-4o"),  # what stands above is inside the span
        ops.bounded_buffer(),
    )
    response = await rxs.collect(events)
    print(response.outcome, response.text)


def main() -> None:
    if importlib.util.find_spec("opentelemetry") is None or importlib.util.find_spec("opentelemetry.sdk") is None:
        print('this example needs: pip install "rxstream[otel]" opentelemetry-sdk')
        return
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter()))
    trace.set_tracer_provider(provider)
    asyncio.run(ask())


if __name__ == "__main__":
    main()
