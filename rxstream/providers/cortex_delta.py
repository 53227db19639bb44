"""Snowflake Cortex's own deltas, said as the chat wire says them.

    {"type": "text", "text": "Hi", "content": "Hi", "content_list": [...]}
    {"type": "tool_use", "tool_use_id": "t1", "name": "f", "content_list": [...]}
    {"type": "tool_use", "input": "{}", "content_list": [...]}

`content_list` repeats the rest. A call has an id in its first delta and none in the others, and no index.
"""

from __future__ import annotations

from typing import Final

from rxstream.providers.fields import JsonObject

__all__ = ("as_chat_delta",)

CORTEX_KEYS: Final = frozenset(("type", "text", "content_list", "tool_use_id", "name", "input"))


def as_chat_delta(delta: JsonObject) -> JsonObject:
    """The same delta with the chat wire's keys; unchanged where it is no delta of Cortex."""
    kind = delta.get("type")
    if kind not in ("text", "tool_use"):
        return delta
    plain: JsonObject = {key: value for key, value in delta.items() if key not in CORTEX_KEYS}
    if not plain.get("content"):
        plain["content"] = delta.get("text")
    if kind == "tool_use":
        function: JsonObject = {"name": delta.get("name"), "arguments": delta.get("input")}
        plain["tool_calls"] = [{"id": delta.get("tool_use_id"), "function": function}]
    return plain
