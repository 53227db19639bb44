"""The table of providers: what `--provider` and `connect` know, where it is, which variable holds its key, and what can
be asked of it. The page of the documentation is the same table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass

from rxstream.providers.features import Features, features_of
from rxstream.providers.registry import UNREAD_WIRES, Wire, find_wire, wire_names

__all__ = ("provider_lines", "provider_page")

NO, YES = "-", "yes"

INTRODUCTION = """\
# Providers

What `rxs.connect(NAME)` and `rxstream chat --provider NAME` know. Written by `rxstream providers --markdown`; a test
holds this page to the code.

- **Base URL**: where requests go unless `base_url=` or a variable says otherwise. `{region}` is `AWS_REGION`, else
  `AWS_DEFAULT_REGION`. Where there is none, it has to be said.
- **Keys**: the variables that may hold one, in the order in which they are asked. At an address of your own none is
  needed. Amazon Bedrock takes AWS credentials as well (`pip install 'rxstream[bedrock]'`).
- **Stream, whole**: answers can be streamed, or come whole (`endpoint.complete`).
- **Images**: as their bytes, or by their address.
- **Reasoning**: of earlier answers goes back as plain text, with the provider's signature, or encrypted. What a
  provider does not take is an error before anything is sent; `request.without_reasoning()` leaves it out.
- **Format**: the answer can be held to a JSON Schema, or to some JSON.

A wire that can only be read (`ops.parse`) has no more than its name here. What a model can do is the model's business.
"""


UNREAD = """## Known and not read

Whether such a stream was whole could never be told. Its frames can be had (`ops.frame_sse()`), and a decoder of your
own can be registered.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One provider, in words."""

    provider: str
    wire: str
    base_url: str
    key: str
    stream: str = NO
    whole: str = NO
    tools: str = NO
    images: str = NO
    reasoning: str = NO
    format: str = NO


HEAD = Row("PROVIDER", "WIRE", "BASE URL", "KEY", "STREAM", "WHOLE", "TOOLS", "IMAGES", "REASONING", "FORMAT")


def provider_lines() -> Iterator[str]:
    """The table, line by line, with its head."""
    rows = [astuple(HEAD), *(astuple(_row(find_wire(name), "--base-url")) for name in wire_names())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def provider_page() -> str:
    """The page of the documentation, in Markdown."""
    rows = (astuple(_row(find_wire(name), "base_url=")) for name in wire_names())
    head = [cell.capitalize() for cell in astuple(HEAD)]
    table = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *map(_as_markdown, rows))]
    unread = [f"- `{name}`: {reason}." for name, reason in UNREAD_WIRES.items()]
    return "\n".join((INTRODUCTION, *table, "", UNREAD, *unread, ""))


def _row(wire: Wire, argument: str) -> Row:
    served = find_wire(wire.service.home) if wire.service.home else wire
    features = features_of(served)
    if features is None:
        return Row(wire.name, wire.speaks, NO, NO)
    keys = " or ".join(key.variable for key in served.service.keys)
    url = served.service.base_url or " or ".join((argument, *served.service.base_url_variables))
    return Row(wire.name, wire.speaks, url, keys or NO, *_cells(features))


def _cells(features: Features) -> Iterator[str]:
    for value in features:
        if isinstance(value, tuple):
            yield ",".join(value) or NO
        else:
            yield YES if value else NO


def _as_markdown(row: tuple[str, ...]) -> list[str]:
    *names, stream, whole, tools, images, reasoning, form = row
    lists = (cell.replace(",", ", ") for cell in (images, reasoning, form))
    return [*map(_as_code, names), stream, whole, tools, *lists]


def _as_code(cell: str) -> str:
    return cell if cell == NO else " or ".join(f"`{name}`" for name in cell.split(" or "))
