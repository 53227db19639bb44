"""The bytes that everybody reads: written here, in the shapes of the providers."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ("Corpus", "anthropic_text", "openai_text", "openai_tool_call", "words")

WORDS = (
    "the",
    " quick",
    " brown",
    " fox",
    " jumps",
    " over",
    " a",
    " lazy",
    " dog",
    ".",
    "\n",
    " and",
    " then",
    "…",
    " naïve",
)
CHUNK_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class Corpus:
    """One answer's events, each with its blank line, and how many pieces of content they carry."""

    events: tuple[bytes, ...]
    pieces: int

    def in_large_chunks(self) -> list[bytes]:
        """As a fast transport delivers them."""
        body = b"".join(self.events)
        return [body[start : start + CHUNK_BYTES] for start in range(0, len(body), CHUNK_BYTES)]

    def one_event_a_chunk(self) -> list[bytes]:
        """As a model that thinks delivers them."""
        return list(self.events)


def words(count: int) -> Iterator[str]:
    """So many pieces of text, the same each time."""
    dice = random.Random(7)
    return (dice.choice(WORDS) for _ in range(count))


def openai_text(pieces: int) -> Corpus:
    """An OpenAI chat stream of text, with the random padding that OpenAI sends."""
    dice = random.Random(7)

    def padding() -> str:
        return "".join(
            dice.choices("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", k=dice.randint(1, 9))
        )

    bodies = [_chat_chunk({"role": "assistant", "content": "", "refusal": None}, padding())]
    bodies += [_chat_chunk({"content": dice.choice(WORDS)}, padding()) for _ in range(pieces)]
    bodies.append(_chat_chunk({}, padding(), finish="stop"))
    return Corpus((*map(_data, bodies), b"data: [DONE]\n\n"), pieces)


def openai_tool_call(size: int, fragment: int) -> Corpus:
    """One call whose arguments are `size` bytes of JSON, in fragments."""
    arguments = '{"text":"' + "x" * (size - 11) + '"}'
    fragments = [arguments[start : start + fragment] for start in range(0, size, fragment)]
    first = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "write", "arguments": ""}}
    bodies = [_chat_chunk({"role": "assistant", "content": None, "tool_calls": [first]})]
    bodies += [_chat_chunk({"tool_calls": [{"index": 0, "function": {"arguments": text}}]}) for text in fragments]
    bodies.append(_chat_chunk({}, finish="tool_calls"))
    return Corpus((*map(_data, bodies), b"data: [DONE]\n\n"), len(fragments))


def anthropic_text(pieces: int) -> Corpus:
    """An Anthropic Messages stream of text."""
    return Corpus(tuple(_named(event) for event in _anthropic_events(pieces)), pieces)


def _anthropic_events(pieces: int) -> Iterator[dict[str, object]]:
    dice = random.Random(7)
    usage = {"input_tokens": 12, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1}
    message = {"id": "msg_01", "type": "message", "role": "assistant", "model": "claude-sonnet-4", "content": []}
    yield {"type": "message_start", "message": message | {"stop_reason": None, "stop_sequence": None, "usage": usage}}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    for _ in range(pieces):
        delta = {"type": "text_delta", "text": dice.choice(WORDS)}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    stop = {"stop_reason": "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": pieces}}
    yield {"type": "message_stop"}


def _chat_chunk(
    delta: dict[str, object], padding: str | None = None, *, finish: str | None = None
) -> dict[str, object]:
    chunk: dict[str, object] = {
        "id": "chatcmpl-BsCqvZx1y7MxY0pX3n8w2uT9rKfLd",
        "object": "chat.completion.chunk",
        "created": 1_750_000_000,
        "model": "gpt-4o-2024-08-06",
        "service_tier": "default",
        "system_fingerprint": "fp_07871e2ad8",
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
        "usage": None,
    }
    return chunk if padding is None else chunk | {"obfuscation": padding}


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _data(value: object) -> bytes:
    return b"data: " + _json(value) + b"\n\n"


def _named(value: dict[str, object]) -> bytes:
    return b"event: " + str(value["type"]).encode() + b"\ndata: " + _json(value) + b"\n\n"
