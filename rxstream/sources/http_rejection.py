"""Answers that are no stream: an HTTP error, a redirect, a web page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Final

from rxstream.errors import RetryHint, StreamError, TransportError
from rxstream.limits import Limits
from rxstream.providers.http_errors import error_from_response
from rxstream.sources.body import Body, open_body
from rxstream.sources.http_request import HTTPResponse

__all__ = ("is_rejection", "rejection")

WEB_PAGES: Final = ("text/html", "application/xhtml+xml")
"""What no provider streams in: a login page, a proxy's notice, a wrong address. JSON may be an array of answers."""


def is_rejection(response: HTTPResponse) -> bool:
    """Whether the head of the answer says that no stream follows."""
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return response.status_code >= 300 or media_type in WEB_PAGES


async def rejection(response: HTTPResponse, chunks: AsyncGenerator[bytes, None], limits: Limits) -> StreamError:
    """The error that such an answer stands for.

    Args:
        response: the answer.
        chunks: its raw body, of which `max_error_body_bytes` are read, in at most `max_cleanup_seconds`: a body that
            drips keeps nobody waiting.
        limits: these two bounds.
    """
    if 300 <= response.status_code < 400:
        return _redirect(response)
    text, is_whole = await _read(response.headers.get("content-encoding", ""), chunks, limits)
    return error_from_response(response.status_code, response.headers, text, truncated=not is_whole)


def _redirect(response: HTTPResponse) -> TransportError:
    return TransportError(
        f"the server answered with a redirect (status {response.status_code}), which is not followed, because a "
        "request is never sent a second time: use the address that it names",
        status=response.status_code,
        phase="before_stream",
        retry=RetryHint(),
        detail=f"location: {response.headers.get('location', '')}",
    )


async def _read(encoding: str, chunks: AsyncGenerator[bytes, None], limits: Limits) -> tuple[bytes, bool]:
    """The beginning of the body, and whether that is all of it. What goes wrong on the way only makes it shorter."""
    text = bytearray()
    is_whole = False
    try:
        async with asyncio.timeout(limits.max_cleanup_seconds):
            body = open_body(encoding, limits.max_chunk_bytes)
            is_whole = await _fill(text, body, chunks, limits.max_error_body_bytes)
    except Exception:
        pass  # the status is the error; a second one on the way to its body tells nothing more
    return bytes(text[: limits.max_error_body_bytes]), is_whole


async def _fill(text: bytearray, body: Body, chunks: AsyncGenerator[bytes, None], max_bytes: int) -> bool:
    """Read on until one byte over the bound has come, which tells a body that just fits from a longer one."""
    async for chunk in chunks:
        text += body.feed(chunk)
        while body.has_more and len(text) <= max_bytes:
            text += body.take()
        if len(text) > max_bytes:
            return False
    return True
