"""Reasoning in a chat delta: the keys it stands under, said once.

Servers use one of several keys, and some use two for the same text (`reasoning` beside `reasoning_details`). The plain
text comes from the first key that has any; the details give the blocks it is cut into, where they agree with it, and
the signatures, which may come in a delta of their own without text.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from rxstream.events import SignatureKind
from rxstream.providers.fields import JsonObject, WrongTypeError, string_field

__all__ = ("BLOCK_KEYS", "REASONING_KEYS", "ReasoningPiece", "read_reasoning")

PLAIN_KEYS: Final = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
DETAIL_KEYS: Final = ("reasoning_details", "thinking_blocks")
OPAQUE_KEYS: Final = ("reasoning_opaque", "reasoning_signature")
BLOCK_KEYS: Final = frozenset((*DETAIL_KEYS, *OPAQUE_KEYS))
"""Keys that say more than a plain text."""

REASONING_KEYS: Final = BLOCK_KEYS.union(PLAIN_KEYS)

TEXT_KEYS: Final = ("text", "summary", "thinking")


@dataclass(slots=True)
class ReasoningPiece:
    """A piece of reasoning, or what must go back with it.

    Args:
        text: a piece of its text.
        signature: a piece of its signature, or its encrypted data.
        signature_kind: which of them.
        key: the wire's own name of the block; None where it has none.
        raw: the wire's own object, where it must go back whole.
    """

    text: str = ""
    signature: str = ""
    signature_kind: SignatureKind = "signature"
    key: Hashable = None
    raw: JsonValue = None


def read_reasoning(delta: JsonObject) -> Iterator[ReasoningPiece]:
    """Read the reasoning of a delta.

    Raises:
        WrongTypeError: a key has a type that cannot be understood.
    """
    plain = _plain_text(delta)
    details = [piece for key in DETAIL_KEYS for piece in _details(key, delta.get(key))]
    if plain and "".join(detail.text for detail in details) != plain:
        yield ReasoningPiece(plain)
        for detail in details:
            detail.text = ""
    for detail in details:
        if detail.text or detail.signature:
            yield detail
    for key in OPAQUE_KEYS:
        if data := string_field(delta, key):
            yield ReasoningPiece(signature=data, signature_kind="encrypted" if key == OPAQUE_KEYS[0] else "signature")


def _plain_text(delta: JsonObject) -> str:
    for key in PLAIN_KEYS:
        value = delta.get(key)
        if isinstance(value, dict):
            value = value.get("content", value.get("text"))
        if isinstance(value, list):
            value = "".join(piece.text for piece in _details(key, value))
        if value is not None and not isinstance(value, str):
            raise WrongTypeError(key, value)
        if value:
            return value
    return ""


def _details(key: str, value: JsonValue) -> Iterator[ReasoningPiece]:
    if value is None:
        return
    for entry in value if isinstance(value, list) else [value]:
        if isinstance(entry, str):
            yield ReasoningPiece(entry)
        elif isinstance(entry, dict):
            yield _detail(entry)
        else:
            raise WrongTypeError(key, entry)


def _detail(entry: JsonObject) -> ReasoningPiece:
    text = next((string_field(entry, key) for key in TEXT_KEYS if entry.get(key)), "")
    data, signature = string_field(entry, "data"), string_field(entry, "signature")
    kind: SignatureKind = "signature"
    if data:
        kind = "redacted" if entry.get("type") == "redacted_thinking" else "encrypted"
    return ReasoningPiece(text, data or signature, kind, _block_key(entry), entry if data or signature else None)


def _block_key(entry: JsonObject) -> Hashable:
    """`index` and `id` together name a block; text has no id where its signature has none."""
    index, name = entry.get("index"), entry.get("id")
    parts = tuple(value for value in (index, name) if isinstance(value, (int, str)) and value != "")
    return parts or None
