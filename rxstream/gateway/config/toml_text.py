"""Settings as the text of a TOML file: plain values, tables, and lists of tables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

__all__ = ("toml_text",)

BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(tables: Mapping[str, Any]) -> str:
    """The text of top-level tables; a list of mappings is a list of tables.

    Args:
        tables: a mapping of values, or a list of such mappings, by name. Empty ones are left out.
    """
    blocks = []
    for name, table in tables.items():
        if isinstance(table, Mapping):
            if table:
                blocks.append("\n".join((f"[{_key(name)}]", *_lines(table))))
        else:
            blocks += ("\n".join((f"[[{_key(name)}]]", *_lines(entry))) for entry in table)
    return "\n\n".join(blocks) + "\n"


def _lines(table: Mapping[str, Any]) -> Iterator[str]:
    return (f"{_key(name)} = {_value(value)}" for name, value in table.items() if value is not None)


def _key(name: str) -> str:
    return name if BARE_KEY.fullmatch(name) else _value(name)


def _value(value: str | float | bool | Sequence[Any]) -> str:
    if isinstance(value, str):
        # A basic string is JSON's but for U+007F, which it must escape as well (TOML 1.0, String).
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value)
