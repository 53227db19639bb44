"""Five ways an answer ends, and how to tell them apart. Run: python examples/how_it_ended.py"""

from __future__ import annotations

import asyncio

import rxstream as rxs
from rxstream import operators as ops

TEXT = b'data: {"choices":[{"index":0,"delta":{"content":"The answer is"},"finish_reason":null}]}\n\n'
STOP = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
LENGTH = STOP.replace(b'"stop"', b'"length"')
ERROR = b'data: {"error":{"message":"the model is busy","type":"overloaded_error"}}\n\n'


async def main() -> None:
    stop = rxs.Cancellation()
    stop.cancel("deadline")
    cases = {
        "said to the end": rxs.from_chunks([TEXT, STOP]),
        "cut at a length": rxs.from_chunks([TEXT, LENGTH]),
        "the provider failed": rxs.from_chunks([TEXT, ERROR]),
        "somebody stopped it": rxs.from_chunks([TEXT, STOP]).pipe(ops.cancel_on(stop)),
        "the line broke off": rxs.from_chunks([TEXT]),
    }
    for what, body in cases.items():
        response = await rxs.collect(body.pipe(ops.parse("openai-chat")))
        error = f" ({response.error})" if response.error else ""
        print(f"{what:<20} {response.outcome:<14} {response.text!r}{error}")


if __name__ == "__main__":
    asyncio.run(main())
