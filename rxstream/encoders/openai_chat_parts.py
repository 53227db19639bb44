"""What OpenAI's chat wire has no place for, in the fields that its compatible servers and clients use for it."""

from __future__ import annotations

from pydantic import JsonValue

from rxstream.events import Annotation, SignatureKind

__all__ = ("annotation_entry", "call_signature", "image_entry", "reasoning_detail", "reasoning_text")


def reasoning_detail(kind: SignatureKind, data: str, part_id: str) -> dict[str, JsonValue]:
    """An entry of `reasoning_details`: what must go back with the reasoning. Its `id` keeps two blocks apart."""
    entry: dict[str, JsonValue] = {"id": part_id} if part_id else {}
    if kind == "signature":
        return entry | {"type": "reasoning.text", "signature": data}
    return entry | {"type": "reasoning.encrypted" if kind == "encrypted" else "redacted_thinking", "data": data}


def reasoning_text(text: str, part_id: str) -> dict[str, JsonValue]:
    """An entry of `reasoning_details`: the text of a block, where its `id` must tell it from others."""
    return {**({"id": part_id} if part_id else {}), "type": "reasoning.text", "text": text}


def call_signature(data: str) -> dict[str, JsonValue]:
    """What stands beside a call that is signed: the field in which Google's own compatible server has it."""
    return {"extra_content": {"google": {"thought_signature": data}}}


def image_entry(url: str) -> dict[str, JsonValue]:
    """An entry of `images`."""
    return {"type": "image_url", "image_url": {"url": url}}


def annotation_entry(event: Annotation) -> JsonValue:
    """An entry of `annotations`: the provider's own object, with its type."""
    if isinstance(event.data, dict):
        return {"type": event.kind, **event.data}
    return {"type": event.kind, "data": event.data}
