"""Which wire a name stands for: a table of rows, each naming a file that is imported when it is first asked for.

A further wire is one file and one row. A further server of the chat wire is one row in `dialects`. A user's own is
`register_wire`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from rxstream.limits import Limits
from rxstream.providers.decoder import Decoder
from rxstream.providers.dialects import CHAT_DIALECTS

__all__ = ("Wire", "get_wire", "register_wire", "wire_names")


@dataclass(frozen=True, slots=True)
class Wire:
    """How one provider's bytes become events.

    Args:
        name: what it is called.
        framing: the name of its framing, such as `"sse"` or `"ndjson"`.
        decoder: makes the decoder of one stream: called with the dialect, where there is one, and `limits=`.
        dialect: what its server does in its own way, as data that `decoder` understands; None where it has none.
    """

    name: str
    framing: str
    decoder: Callable[..., Decoder]
    dialect: Any = None

    def make_decoder(self, limits: Limits | None = None) -> Decoder:
        """A decoder for one stream, within `limits`."""
        return self.decoder(limits=limits) if self.dialect is None else self.decoder(self.dialect, limits=limits)


@dataclass(frozen=True, slots=True)
class _Row:
    """A wire whose decoder is named as `module:name`, or is there already."""

    framing: str
    decoder: str | Callable[..., Decoder]
    dialect: Any = None


_ROWS: Final[dict[str, _Row]] = {
    "anthropic": _Row("sse", "rxstream.providers.anthropic:AnthropicDecoder"),
    **{
        name: _Row("sse", "rxstream.providers.openai_chat:OpenAIChatDecoder", dialect)
        for name, dialect in CHAT_DIALECTS.items()
    },
}


def wire_names() -> tuple[str, ...]:
    """The names of all wires and dialects, sorted."""
    return tuple(sorted(_ROWS))


def get_wire(name: str) -> Wire:
    """Find a wire; its file is imported now, if nobody asked before.

    Raises:
        ValueError: no wire has that name.
    """
    row = _ROWS.get(name)
    if row is None:
        raise ValueError(f"there is no wire {name!r}; known are {', '.join(wire_names())}")
    return Wire(name, row.framing, _load(row.decoder), row.dialect)


def register_wire(
    name: str, *, framing: str, decoder: str | Callable[..., Decoder], dialect: Any = None, replace: bool = False
) -> None:
    """Add a wire, or a dialect of one, for the whole process.

    Args:
        name: what `parse`, `decode` and `connect` will know it by.
        framing: the name of its framing.
        decoder: makes the decoder of one stream, as in `Wire`; or where it is, as `"module:name"`, for later import.
        dialect: handed to `decoder` first, where it is not None. A server of the chat wire is
            `decoder=get_wire("openai-chat").decoder, dialect=ChatDialect(...)`.
        replace: take the place of a wire that has the name already.

    Raises:
        ValueError: the name is empty or taken, or `decoder` does not say where it is.
    """
    if not name:
        raise ValueError("a wire needs a name")
    if name in _ROWS and not replace:
        raise ValueError(f"there is a wire {name!r} already; pass replace=True to take its place")
    if isinstance(decoder, str) and not all(decoder.partition(":")):
        raise ValueError(f"a decoder is named as 'module:name', not {decoder!r}")
    _ROWS[name] = _Row(framing, decoder, dialect)


def _load(decoder: str | Callable[..., Decoder]) -> Callable[..., Decoder]:
    if not isinstance(decoder, str):
        return decoder
    module, _, name = decoder.partition(":")
    loaded: Callable[..., Decoder] = getattr(import_module(module), name)
    return loaded
