"""Every wire's text in its provider's shape, and the floor for it: cut, `from_json`, one look-up, a slots dataclass."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import httpx
from pydantic_core import from_json

from benchmarks.contenders import URL, Contender
from benchmarks.corpus import Corpus, anthropic_text, openai_text, words
from benchmarks.transport import client_of
from rxstream.events import TextDelta
from rxstream.testing.eventstream import pack_message

__all__ = ("WIRE_BENCHES", "WireBench")

Cut = Callable[[bytes], tuple[list[bytes], bytes]]
TextOf = Callable[[Any], str | None]


@dataclass(frozen=True, slots=True)
class WireBench:
    """What is measured of a wire.

    Args:
        corpus: makes its bytes.
        cut: the floor's framing: payloads and the rest.
        text_of: the floor's look-up in a payload's JSON.
    """

    corpus: Callable[[int], Corpus]
    cut: Cut
    text_of: TextOf

    @property
    def floor(self) -> Contender:
        """The least that gives typed events: it bounds nothing and checks nothing."""
        cut, text_of = self.cut, self.text_of

        async def read(chunks: Sequence[bytes]) -> int:
            seen, rest = 0, b""
            async with client_of(httpx, chunks) as client, client.stream("POST", URL) as response:
                async for chunk in response.aiter_raw():
                    payloads, rest = cut(rest + chunk)
                    for payload in payloads:
                        if payload == b"[DONE]":
                            break
                        text = text_of(from_json(payload))
                        if text:
                            TextDelta(text)
                            seen += 1
            return seen

        return read


# Framing, as little of it as gives payloads --------------------------------------------------------------------------


def _cut_data(data: bytes) -> tuple[list[bytes], bytes]:
    *blocks, rest = data.split(b"\n\n")
    return [block[6:] for block in blocks], rest


def _cut_data_crlf(data: bytes) -> tuple[list[bytes], bytes]:
    *blocks, rest = data.split(b"\r\n\r\n")
    return [block[6:] for block in blocks], rest


def _cut_named(data: bytes) -> tuple[list[bytes], bytes]:
    *blocks, rest = data.split(b"\n\n")
    return [block[block.index(b"\ndata: ") + 7 :] for block in blocks], rest


def _cut_lines(data: bytes) -> tuple[list[bytes], bytes]:
    *lines, rest = data.split(b"\n")
    return lines, rest


def _cut_messages(data: bytes) -> tuple[list[bytes], bytes]:
    payloads, at = [], 0
    while len(data) - at >= 12:
        size = int.from_bytes(data[at : at + 4])
        if len(data) - at < size:
            break
        headers = int.from_bytes(data[at + 4 : at + 8])
        if crc32(data[at : at + 8]) != int.from_bytes(data[at + 8 : at + 12]):
            raise ValueError("prelude")
        if crc32(data[at : at + size - 4]) != int.from_bytes(data[at + size - 4 : at + size]):
            raise ValueError("message")
        payloads.append(data[at + 12 + headers : at + size - 4])
        at += size
    return payloads, data[at:]


# Text in each provider's shape ---------------------------------------------------------------------------------------


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _completions(pieces: int) -> Iterator[bytes]:
    base = {"id": "cmpl-7", "object": "text_completion", "created": 1_750_000_000, "model": "gpt-3.5-turbo-instruct"}
    for word in words(pieces):
        choice = {"text": word, "index": 0, "logprobs": None, "finish_reason": None}
        yield b"data: " + _json(base | {"choices": [choice]}) + b"\n\n"
    yield b"data: " + _json(base | {"choices": [{"text": "", "index": 0, "finish_reason": "stop"}]}) + b"\n\n"
    yield b"data: [DONE]\n\n"


def _responses(pieces: int) -> Iterator[bytes]:
    item = {"id": "msg_1", "type": "message", "status": "in_progress", "role": "assistant", "content": []}
    at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": "resp_1", "model": "gpt-5", "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.content_part.added", **at, "part": {"type": "output_text", "text": "", "annotations": []}},
    ]
    said = list(words(pieces))
    events += [{"type": "response.output_text.delta", **at, "delta": word, "logprobs": []} for word in said]
    events.append({"type": "response.output_text.done", **at, "text": "".join(said)})
    output = [item | {"status": "completed", "content": [{"type": "output_text", "text": "".join(said)}]}]
    done = {"id": "resp_1", "model": "gpt-5", "status": "completed", "output": output}
    events.append({"type": "response.completed", "response": done})
    for number, event in enumerate(events):
        name = str(event["type"]).encode()
        yield b"event: " + name + b"\ndata: " + _json(event | {"sequence_number": number}) + b"\n\n"


def _gemini(pieces: int) -> Iterator[bytes]:
    base = {"modelVersion": "gemini-2.5-flash", "responseId": "r1"}
    for number, word in enumerate(words(pieces)):
        usage = {"promptTokenCount": 12, "candidatesTokenCount": number, "totalTokenCount": 12 + number}
        candidate: dict[str, Any] = {"content": {"parts": [{"text": word}], "role": "model"}, "index": 0}
        if number == pieces - 1:
            candidate["finishReason"] = "STOP"
        yield b"data: " + _json({"candidates": [candidate], "usageMetadata": usage, **base}) + b"\r\n\r\n"


def _cohere_v2(pieces: int) -> Iterator[bytes]:
    def event(kind: str, **more: Any) -> bytes:
        return b"event: " + kind.encode() + b"\ndata: " + _json({"type": kind, **more}) + b"\n\n"

    yield event("message-start", id="m1", delta={"message": {"role": "assistant", "content": []}})
    yield event("content-start", index=0, delta={"message": {"content": {"type": "text", "text": ""}}})
    for word in words(pieces):
        yield event("content-delta", index=0, delta={"message": {"content": {"text": word}}})
    yield event("content-end", index=0)
    yield event("message-end", delta={"finish_reason": "COMPLETE", "usage": {"tokens": {"input_tokens": 3}}})


def _ollama(pieces: int) -> Iterator[bytes]:
    base = {"model": "llama3.2", "created_at": "2025-06-01T12:00:00.000000Z"}
    for word in words(pieces):
        yield _json(base | {"message": {"role": "assistant", "content": word}, "done": False}) + b"\n"
    end = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop", "eval_count": pieces}
    yield _json(base | end) + b"\n"


def _message(kind: str, payload: object) -> bytes:
    headers = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    return pack_message(headers, _json(payload))


def _converse(pieces: int) -> Iterator[bytes]:
    yield _message("messageStart", {"role": "assistant", "p": "abcd"})
    for word in words(pieces):
        yield _message("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": word}, "p": "abcdefgh"})
    yield _message("contentBlockStop", {"contentBlockIndex": 0, "p": "ab"})
    yield _message("messageStop", {"stopReason": "end_turn", "p": "ab"})
    yield _message("metadata", {"usage": {"inputTokens": 3, "outputTokens": 5, "totalTokens": 8}, "p": "ab"})


def _invoke(pieces: int) -> Iterator[bytes]:
    for event in anthropic_text(pieces).events:
        data = event[event.index(b"\ndata: ") + 7 : -2]
        yield _message("chunk", {"bytes": base64.b64encode(data).decode(), "p": "abcd"})


def _corpus(make: Callable[[int], Iterable[bytes]]) -> Callable[[int], Corpus]:
    return lambda pieces: Corpus(tuple(make(pieces)), pieces)


def _chat_text(chunk: Any) -> str | None:
    choices = chunk["choices"]
    return choices[0]["delta"].get("content") if choices else None


def _invoke_text(chunk: Any) -> str | None:
    return _anthropic_text(from_json(base64.b64decode(chunk["bytes"])))


def _anthropic_text(event: Any) -> str | None:
    return event["delta"]["text"] if event["type"] == "content_block_delta" else None


WIRE_BENCHES: dict[str, WireBench] = {
    "openai-chat": WireBench(openai_text, _cut_data, _chat_text),
    "openai-completions": WireBench(_corpus(_completions), _cut_data, lambda chunk: chunk["choices"][0]["text"]),
    "openai-responses": WireBench(
        _corpus(_responses),
        _cut_named,
        lambda event: event["delta"] if event["type"] == "response.output_text.delta" else None,
    ),
    "anthropic": WireBench(anthropic_text, _cut_named, _anthropic_text),
    "gemini": WireBench(
        _corpus(_gemini), _cut_data_crlf, lambda chunk: chunk["candidates"][0]["content"]["parts"][0]["text"]
    ),
    "cohere-v2": WireBench(
        _corpus(_cohere_v2),
        _cut_named,
        lambda event: event["delta"]["message"]["content"]["text"] if event["type"] == "content-delta" else None,
    ),
    "ollama": WireBench(_corpus(_ollama), _cut_lines, lambda line: line["message"]["content"]),
    "bedrock-converse": WireBench(
        _corpus(_converse), _cut_messages, lambda payload: payload["delta"]["text"] if "delta" in payload else None
    ),
    "bedrock-invoke": WireBench(_corpus(_invoke), _cut_messages, _invoke_text),
}
"""One row a wire."""
