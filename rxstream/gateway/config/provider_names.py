"""Names of providers, as a person writes them into settings."""

from __future__ import annotations

from difflib import get_close_matches

from rxstream.providers.registry import find_wire, wire_names

__all__ = ("check_provider", "spoken_wire")


def check_provider(name: str) -> None:
    """Whether requests can be sent to it.

    Raises:
        ValueError: there is no such provider, or its wire is only read.
    """
    if any(mark in name for mark in "/:"):
        provider, model = _parted(name)
        raise ValueError(f"a provider has no model in its name: write provider = {provider!r} and model = {model!r}")
    try:
        wire = find_wire(name)
    except ValueError:
        wire = None
    if wire is None:
        near = get_close_matches(name, wire_names(), n=3)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "`rxstream providers` lists them"
        raise ValueError(f"there is no provider {name!r}: {hint}")
    if wire.request is None:
        raise ValueError(f"answers of {name!r} can be read, but no requests are written for it")


def spoken_wire(provider: str) -> str:
    """The wire that a provider speaks, such as `openai-chat`."""
    return find_wire(provider).speaks


def _parted(name: str) -> tuple[str, str]:
    place = min(place for mark in "/:" if (place := name.find(mark)) >= 0)
    return name[:place], name[place + 1 :]
