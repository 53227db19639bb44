"""What must go back with reasoning, in the one field that every client of the Responses wire sends back.

That wire has `encrypted_content` and nothing else, and clients keep no field that they do not know. It is opaque to
them: only who made it reads it. So what another provider signed or redacted travels in it behind a mark; what is
encrypted is as it came, for it is its provider that must read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rxstream.events import SignatureKind

__all__ = ("seal", "unseal")

MARKS: Final[Mapping[SignatureKind, str]] = {
    "signature": "rxstream.signature:",
    "redacted": "rxstream.redacted:",
    "encrypted": "",
}


def seal(kind: SignatureKind, data: str) -> str:
    """The `encrypted_content` that carries `data`."""
    return MARKS[kind] + data


def unseal(content: str) -> tuple[SignatureKind, str]:
    """What an `encrypted_content` carries, and its kind."""
    for kind, mark in MARKS.items():
        if content.startswith(mark):
            return kind, content.removeprefix(mark)
    raise AssertionError("the empty mark begins every text")
