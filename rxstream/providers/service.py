"""Where a wire is served and how one is let in, as data: what an endpoint needs besides the wire itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

__all__ = ("ANYWHERE", "AUTHORIZATION", "Key", "Service")

AUTHORIZATION: Final = "authorization"


@dataclass(frozen=True, slots=True)
class Key:
    """An environment variable that may hold a key, and how a key of that sort is sent.

    Args:
        variable: its name.
        header: the header that carries the key: as it is, but for `authorization`, which says `Bearer` before it.
    """

    variable: str
    header: str = AUTHORIZATION


@dataclass(frozen=True, slots=True)
class Service:
    """Where a wire is served.

    Args:
        base_url: where, unless the caller or the environment says otherwise; None where there is no such place. A name
            in braces is filled in by `places`.
        keys: the sorts of key it takes, in the order in which the environment is asked. A key that is given as an
            argument is of the first sort.
        base_url_variables: environment variables with another base URL, in order.
        prefix: the path between host and request, added where a base URL names only a host.
        headers: sent with each request.
        header_variables: headers whose value is in the environment, by header; left out where it is not.
        custom_headers_variable: an environment variable with more headers, `Name: value` in each line.
        other_apis: paths of other APIs at the same place: where a base URL ends with one, it is taken off.
        places: environment variables that fill in `base_url`, by the name in braces; the first that is set counts.
        version_variable: an environment variable with a version of the API, sent as the query `api-version`.
        dated_prefix: the prefix where that version is a date; `{model}` in it is the request's model.
        signs_as: requests without a key are signed by AWS's rules, under this name of a service.
        home: the provider that serves the wire where no base URL is said: its row then stands for this one.
    """

    base_url: str | None = None
    keys: tuple[Key, ...] = ()
    base_url_variables: tuple[str, ...] = ()
    prefix: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    header_variables: Mapping[str, str] = field(default_factory=dict)
    custom_headers_variable: str | None = None
    other_apis: tuple[str, ...] = ()
    places: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    version_variable: str | None = None
    dated_prefix: str | None = None
    signs_as: str | None = None
    home: str | None = None


ANYWHERE: Final = Service()
"""No place of its own: the caller says where, and a key goes as `Bearer`."""
