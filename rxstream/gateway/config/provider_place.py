"""Settings of a model that say where at its provider it is asked, which `connect` reads from the environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rxstream.providers.registry import find_wire

__all__ = ("PLACES", "placed_environ", "variables_of")

PLACES: Final = ("region", "api_version")
"""The settings."""


def variables_of(provider: str, setting: str) -> tuple[str, ...]:
    """The environment variables that say a setting of a provider; none where it has no such thing.

    Args:
        provider: its name.
        setting: one of `PLACES`.
    """
    service = find_wire(provider).service
    if setting == "api_version":
        return () if service.version_variable is None else (service.version_variable,)
    return service.places.get(setting, ())


def placed_environ(
    environ: Mapping[str, str], provider: str, said: Mapping[str, str | None], *, has_address: bool
) -> Mapping[str, str]:
    """The environment as one model's endpoint is to see it: the settings of the model win over it.

    Args:
        environ: the process's.
        provider: who is asked.
        said: the model's value for each of `PLACES`.
        has_address: the model has a `base_url`; without one a region must not lose to an address in the environment.
    """
    named = {
        variable: value
        for setting, value in said.items()
        if value is not None
        for variable in variables_of(provider, setting)
    }
    hidden = find_wire(provider).service.base_url_variables if said.get("region") and not has_address else ()
    return {**{name: value for name, value in environ.items() if name not in hidden}, **named}
