"""The table of providers: what `--provider` and `connect` know, where it is, and which variable holds its key."""

from __future__ import annotations

from collections.abc import Iterator

from rxstream.providers.registry import Wire, find_wire, wire_names

__all__ = ("provider_lines",)

HEAD = ("PROVIDER", "WIRE", "BASE URL", "KEY")


def provider_lines() -> Iterator[str]:
    """The table, line by line, with its head."""
    rows = [HEAD, *(_row(find_wire(name)) for name in wire_names())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _row(wire: Wire) -> tuple[str, str, str, str]:
    served = find_wire(wire.service.home) if wire.service.home else wire
    keys = " or ".join(key.variable for key in served.service.keys)
    return wire.name, wire.speaks, served.service.base_url or _asked(wire), keys or "-"


def _asked(wire: Wire) -> str:
    """Where a base URL comes from that is nobody's but the user's."""
    return " or ".join(("--base-url", *wire.service.base_url_variables))
