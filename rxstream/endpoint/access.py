"""Who asks: the headers of every request, the key among them. Nothing here is ever shown."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Final

from rxstream.errors import RequestError
from rxstream.providers.service import AUTHORIZATION, Key, Service

__all__ = ("check_headers", "request_headers")

HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A token: RFC 9110, 5.1 and 5.6.2."""

HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")
"""What a client sends as it is; any other character would be quoted in the client's error."""


def request_headers(
    provider: str,
    service: Service,
    *,
    api_key: str | None,
    headers: Mapping[str, str] | None,
    environ: Mapping[str, str],
    needs_key: bool,
) -> dict[str, str]:
    """The headers of every request, names in small letters.

    Later ones win: the service's own, those that the environment says, the key, those of the caller.

    Args:
        provider: who is asked, for the error.
        service: its row.
        api_key: the key; None asks the environment, an empty text sends none.
        headers: the caller's.
        environ: the environment.
        needs_key: whether it is an error to have none.

    Raises:
        RequestError: there is no key, or a value that no header can hold.
    """
    own = {name.lower(): value.strip() for name, value in (headers or {}).items()}
    known = {
        **{name.lower(): value for name, value in service.headers.items()},
        **dict(_environment_headers(service, environ)),
        **_key_header(service, api_key, environ),
        **own,
    }
    carriers = {key.header for key in service.keys} | {AUTHORIZATION}
    if needs_key and api_key is None and carriers.isdisjoint(known):
        names = " or ".join(key.variable for key in service.keys)
        ways = f"set {names}, or pass api_key=..." if names else "pass api_key=..."
        raise RequestError(f"there is no key for {provider!r}: {ways}", category="authentication")
    check_headers(known)
    return known


def check_headers(headers: Mapping[str, str]) -> None:
    """Raise `RequestError` where a name or a value is none that a header can have; no value is in the message."""
    for name, value in headers.items():
        if not HEADER_NAME.fullmatch(name):
            raise RequestError(f"{name!r} is no name of a header")
        if not HEADER_VALUE.fullmatch(value):
            raise RequestError(f"the value of the header {name!r} has characters that no header can hold")


def _environment_headers(service: Service, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for header, variable in service.header_variables.items():
        if value := environ.get(variable, "").strip():
            yield header.lower(), value
    lines = environ.get(service.custom_headers_variable or "", "").splitlines()
    for name, colon, value in (line.partition(":") for line in lines):
        if colon and name.strip():
            yield name.strip().lower(), value.strip()


def _key_header(service: Service, api_key: str | None, environ: Mapping[str, str]) -> dict[str, str]:
    if api_key is not None:
        given = api_key.strip()
        header = service.keys[0].header if service.keys else AUTHORIZATION
        return {header: _carried(header, given)} if given else {}
    found = [(key, value) for key in service.keys if (value := environ.get(key.variable, "").strip())]
    if not found:
        return {}
    _warn_of_several(found)
    key, value = found[0]
    return {key.header: _carried(key.header, value)}


def _carried(header: str, key: str) -> str:
    return f"Bearer {key}" if header == AUTHORIZATION else key


def _warn_of_several(found: list[tuple[Key, str]]) -> None:
    if len({value for _, value in found}) > 1:
        names = [key.variable for key, _ in found]
        warnings.warn(f"{' and '.join(names)} are both set: {names[0]} is used", stacklevel=5)
