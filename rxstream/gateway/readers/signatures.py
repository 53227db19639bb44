"""What a model signed and a client sends back, where OpenAI's APIs have no field of their own for it."""

from __future__ import annotations

from rxstream.gateway.readers.node import Node

__all__ = ("read_call_signature",)


def read_call_signature(node: Node) -> dict[str, str]:
    """The `extra_content` of a call: what Gemini behind these APIs signs it with, and where our own encoders put it."""
    with node.fields() as beside:
        if (google := beside.take("google")) is None:
            return {}
        with google.fields() as fields:
            signature = fields.text("thought_signature")
            return {"signature": signature} if signature else {}
