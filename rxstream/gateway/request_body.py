"""The JSON body of a request, within its bounds. Nothing of it is in an error."""

from __future__ import annotations

import asyncio
from typing import Any, Final, cast

from pydantic_core import from_json
from starlette.types import Receive, Scope

from rxstream.errors import LimitError
from rxstream.gateway.body_budget import BodyShare
from rxstream.gateway.body_values import MAX_VALUES, holds_too_many
from rxstream.gateway.refusals import Refusal, too_large, too_late, wrong_body
from rxstream.providers.payloads import check_depth

__all__ = ("ClientGone", "read_body")

JSON_TYPES: Final = ("application/json", "text/json")


class ClientGone(Exception):
    """The client left before its request was there."""


async def read_body(
    scope: Scope, receive: Receive, share: BodyShare, *, max_bytes: int, max_depth: int, timeout_seconds: float
) -> dict[str, Any]:
    """The object that a client sent.

    Args:
        scope: the request's.
        receive: gives its body.
        share: takes its bytes from what may be held in all.
        max_bytes: the longest body; one byte more is not kept.
        max_depth: how deep it may nest.
        timeout_seconds: how long the client may take.

    Raises:
        Refusal: it is too long, there is no room for it, it holds too many values, is no JSON, no object, nests too
            deep, or is not there in time.
        ClientGone: the client left.
    """
    headers = dict(scope["headers"])  # of several with one name the last counts
    _check_head(headers, max_bytes)
    try:
        async with asyncio.timeout(timeout_seconds):
            data = await _gather(receive, share, max_bytes)
    except TimeoutError:
        raise too_late(timeout_seconds) from None
    return _parse(data, max_depth)


def _check_head(headers: dict[bytes, bytes], max_bytes: int) -> None:
    media_type = headers.get(b"content-type", b"").split(b";")[0].strip().lower().decode("latin-1")
    # A page of another origin can send other types without being asked for permission.
    if media_type not in JSON_TYPES and not media_type.endswith("+json"):
        raise wrong_body("the body must be JSON: send it with `Content-Type: application/json`", status=415)
    if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
        raise wrong_body("the body must not be compressed: leave `Content-Encoding` out", status=415)
    length = headers.get(b"content-length", b"")
    if length.isdigit() and int(length) > max_bytes:
        raise too_large(max_bytes)


async def _gather(receive: Receive, share: BodyShare, max_bytes: int) -> bytes:
    data = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        piece = message.get("body", b"")
        if len(data) + len(piece) > max_bytes:
            raise too_large(max_bytes)
        share.take(len(piece))
        data += piece
        if not message.get("more_body", False):
            return bytes(data)


def _parse(data: bytes, max_depth: int) -> dict[str, Any]:
    refusal: Refusal
    if holds_too_many(data):
        raise wrong_body(f"the body holds more than {MAX_VALUES} values")
    try:
        value = from_json(data, allow_inf_nan=False)
        if isinstance(value, dict):
            check_depth(value, data, max_depth)
            return cast("dict[str, Any]", value)
        refusal = wrong_body("the body must be a JSON object")
    except LimitError:
        refusal = wrong_body(f"the body nests deeper than max_json_depth={max_depth}")
    except ValueError as error:
        # pydantic says what is wrong and where, and for a few kinds quotes a number of the body: only the place is told
        _, _, place = str(error).rpartition(" at line ")
        refusal = wrong_body("the body is not valid JSON" + (f", at line {place}" if place else ""))
    raise refusal
