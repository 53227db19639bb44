"""Reasoning of earlier answers in chat completions: text in a field of its own, and what must go back with it beside.

OpenAI's API has neither; the fields are those of its compatible servers, and of our own encoder. `reasoning_details` is
a list of pieces: those with the same `index` and `id` are of one block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from rxstream.gateway.readers.node import Fields, Node
from rxstream.requests import ReasoningContent
from rxstream.requests.content import SignatureKind

__all__ = ("read_reasoning",)

PLAIN: Final = ("reasoning_content", "reasoning")

TYPES: Final = ("reasoning.text", "reasoning.summary", "reasoning.encrypted", "thinking", "redacted_thinking")


@dataclass(slots=True)
class _Block:
    texts: list[str] = field(default_factory=list)
    signatures: dict[SignatureKind, list[str]] = field(default_factory=dict)

    def content(self, text: str | None = None) -> ReasoningContent:
        signatures: dict[SignatureKind, str] = {kind: "".join(pieces) for kind, pieces in self.signatures.items()}
        return ReasoningContent(text="".join(self.texts) if text is None else text, signatures=signatures)


def read_reasoning(fields: Fields) -> Iterator[ReasoningContent]:
    """The reasoning of an assistant message."""
    plain = [text for name in PLAIN if (text := fields.text(name))]
    details = fields.take("reasoning_details")
    blocks = [] if details is None else list(_blocks(details))
    if not plain or any(block.texts for block in blocks):
        yield from (block.content() for block in blocks)
        return
    hidden = [block for block in blocks if "redacted" in block.signatures]
    open_ones = [block for block in blocks if "redacted" not in block.signatures]
    # Of several blocks nobody can tell whose text is whose, and a signature with another's text is refused.
    yield open_ones[0].content(plain[0]) if len(open_ones) == 1 else ReasoningContent(text=plain[0])
    yield from (block.content() for block in hidden)


def _blocks(node: Node) -> Iterator[_Block]:
    blocks: dict[Any, _Block] = {}
    for number, entry in enumerate(node.entries()):
        with entry.fields() as fields:
            key = _key(fields) or number
            _add(fields, blocks.setdefault(key, _Block()))
    return (block for block in blocks.values() if block.texts or block.signatures)


def _key(fields: Fields) -> tuple[Any, ...]:
    index, name = fields.take("index"), fields.take("id")
    return tuple(part for part in (index and ("index", index.whole()), name and ("id", name.text())) if part)


def _add(fields: Fields, block: _Block) -> None:
    fields.ignore("format")
    kind = fields.need("type").word(TYPES)
    block.texts += (text for name in ("text", "summary", "thinking") if (text := fields.text(name)))
    if signature := fields.text("signature"):
        block.signatures.setdefault("signature", []).append(signature)
    if data := fields.text("data"):
        block.signatures.setdefault("redacted" if kind == "redacted_thinking" else "encrypted", []).append(data)
