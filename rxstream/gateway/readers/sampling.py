"""The settings that are one value each: how each may look, and by which name a format has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

from rxstream.gateway.readers.node import Fields, Node
from rxstream.requests.options import ReasoningEffort

__all__ = ("read_effort", "read_settings")

EFFORTS: Final[tuple[ReasoningEffort, ...]] = get_args(ReasoningEffort)


def read_effort(node: Node) -> ReasoningEffort:
    """How much to think, in a word."""
    return node.word(EFFORTS)


def _stop(node: Node) -> tuple[str, ...]:
    return (node.text(),) if node.is_text else tuple(entry.text() for entry in node.entries())


_RULES: Final[Mapping[str, Callable[[Node], Any]]] = {
    "model": Node.name,
    "max_output_tokens": lambda node: node.whole(1),
    "stop": _stop,
    "temperature": lambda node: node.number(0),
    "top_p": lambda node: node.number(0, 1),
    "top_k": lambda node: node.whole(1),
    "frequency_penalty": Node.number,
    "presence_penalty": Node.number,
    "seed": Node.whole,
    "parallel_tool_calls": Node.flag,
}
"""How each field of a `ModelRequest` that is one value is read."""


def read_settings(fields: Fields, names: Mapping[str, str]) -> dict[str, Any]:
    """The settings of a body.

    Args:
        fields: the body's.
        names: the `ModelRequest`'s name of each setting, by the format's.
    """
    said: dict[str, Any] = {}
    for name, ours in names.items():
        if (node := fields.take(name)) is None:
            continue
        value = _RULES[ours](node)
        if said.setdefault(ours, value) != value:
            raise node.refuse("says otherwise than another name of the same setting")
    return said
