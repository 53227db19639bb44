"""Chunks of the Gemini wire, written as tests say them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from rxstream.framing.frames import Payload
from rxstream.limits import Limits
from rxstream.providers.gemini import GeminiDecoder
from tests.providers.chat import Run, drive

TEXT = "text"


def chunk(*parts: dict[str, Any], finish: Any = None, index: Any = 0, top: Any = None, **more: Any) -> bytes:
    """A chunk with one candidate of these parts.

    Args:
        parts: the parts; without any, the candidate has no content.
        finish: its finish reason.
        index: its index; None leaves it out.
        top: further keys beside the candidates.
        more: further keys of the candidate.
    """
    candidate: dict[str, Any] = {"content": {"parts": list(parts), "role": "model"}} if parts else {}
    if finish is not None:
        candidate["finishReason"] = finish
    if index is not None:
        candidate["index"] = index
    return frame(candidates=[candidate | more], **(top or {}))


def frame(**top: Any) -> bytes:
    """A chunk with these top-level keys, beside an id and a model."""
    return json.dumps(top | {"modelVersion": "sample-1", "responseId": "r1"}, ensure_ascii=False).encode()


def text(piece: str, **more: Any) -> dict[str, Any]:
    """A part of text."""
    return {"text": piece, **more}


def call(name: str | None = None, args: Any = None, **more: Any) -> dict[str, Any]:
    """A part with a function call; what is None is left out."""
    fields = {"name": name, "args": args} | more
    return {"functionCall": {key: value for key, value in fields.items() if value is not None}}


def piece(path: str, *, goes_on: bool = True, more: bool = False, **value: Any) -> dict[str, Any]:
    """A part with one value of the arguments of an open call.

    Args:
        path: its JSONPath.
        goes_on: the call goes on.
        more: the string goes on.
        value: such as `stringValue="x"`.
    """
    entry = {"jsonPath": path, **value} | ({"willContinue": True} if more else {})
    return call(partialArgs=[entry], willContinue=True if goes_on else None)


def usage(prompt: int | None = None, candidates: int | None = None, **more: Any) -> dict[str, Any]:
    """Usage, to stand beside the candidates; what is None is left out."""
    counts = {"promptTokenCount": prompt, "candidatesTokenCount": candidates} | more
    return {"usageMetadata": {key: value for key, value in counts.items() if value is not None}}


STOP = chunk(finish="STOP")


def run(*payloads: Payload, limits: Limits | None = None) -> Run:
    """Decode a whole stream."""
    return drive(GeminiDecoder(limits=limits), payloads)


def as_sse(chunks: Iterable[bytes], end: bytes = b"\r\n") -> bytes:
    """Chunks as the server sends them where it is asked for events."""
    return b"".join(b"data: " + one + 2 * end for one in chunks)


def as_array(chunks: Iterable[bytes]) -> bytes:
    """Chunks as the server sends them where it is not."""
    return b"[" + b",\r\n".join(json.dumps(json.loads(one), indent=2).encode() for one in chunks) + b"\n]"
