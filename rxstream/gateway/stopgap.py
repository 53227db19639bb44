"""Until the encoders' own table and the sink are there."""

from __future__ import annotations

from typing import Any

from starlette.responses import StreamingResponse

import rxstream as rxs
from rxstream import operators as ops
from rxstream.encoders.anthropic_words import error_event
from rxstream.encoders.encoder import EncoderEnd
from rxstream.encoders.frames import SSE_HEADERS, json_bytes
from rxstream.encoders.openai_errors import error_object
from rxstream.errors import StreamError

STATUS = {
    "invalid_request": 400,
    "authentication": 401,
    "permission": 403,
    "not_found": 404,
    "too_large": 413,
    "rate_limited": 429,
    "overloaded": 503,
    "provider": 502,
    "timeout": 504,
    "internal": 500,
}


def http_status(error: BaseException, format: str) -> int:
    return STATUS.get(error.public.category, 502) if isinstance(error, StreamError) else 500


def error_body(format: str, error: BaseException) -> bytes:
    if format == "anthropic":
        return json_bytes(error_event(EncoderEnd("failed", error if isinstance(error, Exception) else None)))
    return json_bytes({"error": error_object(error)})


def retry_headers(error: BaseException) -> dict[str, str]:
    after = error.public.retry.after_seconds if isinstance(error, StreamError) else None
    return {} if after is None else {"retry-after": str(round(after))}


def stream_response(events: Any, format: str, on_end: Any = None, **options: Any) -> StreamingResponse:
    async def body() -> Any:
        async with rxs.iterate(events.pipe(ops.encode(format, **options))) as frames:
            async for frame in frames:
                yield frame
        on_end("completed")

    return StreamingResponse(body(), headers=dict(SSE_HEADERS))
