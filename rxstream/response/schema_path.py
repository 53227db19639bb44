"""What a JSON Schema says about the strings at one place: may they be shown while they grow?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

__all__ = ("grows_at", "has_fixed_strings")

WHOLE_ONLY: Final = ("enum", "const", "format")
"""What makes a string one of a few, or one with a form: a part of it is another one, or none."""

BRANCHES: Final = ("anyOf", "oneOf", "allOf")

MAX_BRANCHES: Final = 256
"""So many alternatives are looked at; a schema with more shows its strings as they grow."""

Schema = dict[str, Any]


def has_fixed_strings(schema: Any) -> bool:
    """Whether any string of the schema is to be shown only whole: where none is, no path needs to be looked up."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if any(word in node for word in WHOLE_ONLY):
                return True
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
    return False


def grows_at(schema: Schema, path: Sequence[str | int]) -> bool:
    """Whether a string at `path` may be shown while it grows.

    It may not where the schema allows only strings that are one of a few or have a form. Where it says nothing, it may.

    Args:
        schema: as pydantic makes it, with `$defs` at the top.
        path: keys and indexes from the top.
    """
    nodes = _resolved(schema, [schema])
    for step in path:
        nodes = _resolved(schema, [child for node in nodes for child in _children(node, step)])
        if not nodes:
            return True
    strings = [node for node in nodes if _takes_strings(node)]
    return not strings or any(not any(word in node for word in WHOLE_ONLY) for node in strings)


def _takes_strings(node: Schema) -> bool:
    kind = node.get("type")
    if kind is None:
        values = node.get("enum", [node["const"]] if "const" in node else [""])
        return any(isinstance(value, str) for value in values)
    return kind == "string" or (isinstance(kind, list) and "string" in kind)


def _resolved(schema: Schema, nodes: list[Any]) -> list[Schema]:
    """The nodes with references followed, and their alternatives in place of those that have some."""
    found: list[Schema] = []
    waiting, left = nodes[::-1], MAX_BRANCHES
    while waiting and left:
        node, left = waiting.pop(), left - 1
        if not isinstance(node, dict):
            continue
        target = _target(schema, node.get("$ref"))
        branches = [branch for word in BRANCHES for branch in node.get(word, ())]
        if target is not None:
            waiting.append(target)
        elif branches:
            waiting.extend(branches)
        else:
            found.append(node)
    return found if left else []


def _target(schema: Schema, reference: Any) -> Any:
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    node: Any = schema
    for name in reference[2:].split("/"):
        node = node.get(name.replace("~1", "/").replace("~0", "~")) if isinstance(node, dict) else None
    return node


def _children(node: Schema, step: str | int) -> Iterator[Any]:
    if isinstance(step, str):
        properties = node.get("properties", {})
        yield properties[step] if step in properties else node.get("additionalProperties")
        return
    prefix = node.get("prefixItems", ())
    yield prefix[step] if step < len(prefix) else node.get("items")
