"""Where requests go: a base URL as people write it, and the path that a wire's request has behind it.

Conventions differ: OpenAI's clients are given `https://host/v1`, Anthropic's `https://host`, and people paste the whole
address. One rule reads all of them:

1. A base URL that names only a host gets the prefix of the service (`v1` on the chat wire).
2. The request's path follows, but for those of its first segments with which the base URL ends already.

    openai-chat  http://127.0.0.1:8080         -> http://127.0.0.1:8080/v1/chat/completions
                 https://host/api/paas/v4      -> https://host/api/paas/v4/chat/completions
    anthropic    https://api.anthropic.com     -> https://api.anthropic.com/v1/messages
                 https://host/anthropic/v1/    -> https://host/anthropic/v1/messages
    any          .../v1/chat/completions       -> as it is

A query stays at the end (`?api-version=...`), before that of the request. Without a scheme (`localhost:11434`) it is
`http` where the host is this machine, else `https`; a host alone takes the port of the service's own address. `0.0.0.0`
is where a server listens: it is reached at this machine's own address.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final
from urllib.parse import SplitResult, parse_qs, quote, urlsplit

from rxstream.errors import RequestError
from rxstream.providers.service import Service

__all__ = ("Address", "find_address")

PLACE: Final = re.compile(r"[A-Za-z0-9-]+")
"""What may be filled into a base URL: a name that cannot make it another URL."""

VERSION_QUERY: Final = "api-version"


@dataclass(frozen=True, slots=True, repr=False)
class Address:
    """A base URL, read.

    Args:
        parts: what `urlsplit` makes of it; it may hold a password or a query, and is never shown.
        prefix: the path of the service, for a base URL that names only a host.
        is_given: the caller or the environment said it; else it is the service's own.
    """

    parts: SplitResult
    prefix: str
    is_given: bool

    @property
    def shown(self) -> str:
        """The base URL without what might be secret: user, password, query."""
        host = self.parts.netloc.rpartition("@")[2]
        return f"{self.parts.scheme}://{host}{self.parts.path}"

    @property
    def is_loopback(self) -> bool:
        """Whether it is this machine."""
        return _is_loopback(self.parts.hostname or "")

    @property
    def host(self) -> str:
        """The name of the host."""
        return self.parts.hostname or ""

    def url(self, path: str, model: str | None = None) -> str:
        """The URL of a request.

        Args:
            path: its path, and its query where it has one.
            model: its model, where the path of the service has a place for it.

        Raises:
            RequestError: the path has a place for a model, and there is none.
        """
        path, _, query = path.partition("?")
        base = _segments(self.parts.path) or _segments(_with_model(self.prefix, model))
        behind = _segments(path)
        joined = "/".join((*base, *behind[_overlap(base, behind) :]))
        queries = "&".join(filter(None, (self.parts.query, query)))
        return self.parts._replace(path=f"/{joined}", query=queries, fragment="").geturl()


def find_address(provider: str, service: Service, base_url: str | None, environ: Mapping[str, str]) -> Address:
    """The base URL: the argument, else the environment, else the service's own.

    Args:
        provider: who it is, for the error.
        service: its row.
        base_url: the argument; None or empty where there is none.
        environ: the environment.

    Raises:
        RequestError: there is none, or it is no URL of http or https.
    """
    said = (base_url, *(environ.get(variable) for variable in service.base_url_variables))
    given = next((text for text in (each.strip() for each in said if each) if text), None)
    text = given or _own_url(provider, service, environ)
    parts = _read(provider, text, service.base_url)
    parts = parts._replace(path=_without_other_api(parts.path, service.other_apis))
    prefix = service.prefix
    if version := environ.get(service.version_variable or "", "").strip():
        prefix = service.dated_prefix or prefix if version[0].isdigit() else prefix
        parts = _with_version(parts, version)
    return Address(parts, prefix, given is not None)


def _own_url(provider: str, service: Service, environ: Mapping[str, str]) -> str:
    """The service's own base URL, its places filled in."""
    if service.base_url is None:
        ways = " or ".join(("pass base_url=...", *(f"set {name}" for name in service.base_url_variables)))
        raise RequestError(f"{provider!r} has no address of its own: {ways}")
    url = service.base_url
    for place, variables in service.places.items():
        value = next((text for name in variables if (text := environ.get(name, "").strip())), "")
        if not PLACE.fullmatch(value):
            problem = "is not valid" if value else "is not known"
            ways = f"set {' or '.join(variables)}, or pass base_url=..."
            raise RequestError(f"the {place} of {provider!r} {problem}: {ways}")
        url = url.replace(f"{{{place}}}", value)
    return url


def _without_other_api(path: str, other_apis: Sequence[str]) -> str:
    segments = _segments(path)
    for other in map(_segments, other_apis):
        if segments[-len(other) :] == other:
            return "".join(f"/{segment}" for segment in segments[: -len(other)])
    return path


def _with_version(parts: SplitResult, version: str) -> SplitResult:
    """The URL with the version in its query, unless it says one itself."""
    if VERSION_QUERY in parse_qs(parts.query):
        return parts
    return parts._replace(query="&".join(filter(None, (parts.query, f"{VERSION_QUERY}={quote(version, safe='')}"))))


def _with_model(prefix: str, model: str | None) -> str:
    if "{model}" not in prefix:
        return prefix
    if not model:
        raise RequestError("this address needs a model: name it in the request, or connect(..., model=...)")
    return prefix.replace("{model}", quote(model, safe=""))


def _read(provider: str, text: str, default: str | None) -> SplitResult:
    problem = "it needs the form http://host or https://host"
    try:
        parts = urlsplit(text if "://" in text else _with_scheme(text, default))
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 0) >= 0
    except ValueError:
        is_url = False
    if not is_url:
        raise RequestError(f"the base URL for {provider!r} is not valid: {problem}")
    return _reachable(parts)


def _reachable(parts: SplitResult) -> SplitResult:
    """The URL, where its host is an address to listen at, with this machine's own."""
    for everywhere, here in (("0.0.0.0", "127.0.0.1"), ("::", "::1")):
        if parts.hostname == everywhere:
            return parts._replace(netloc=parts.netloc.replace(everywhere, here, 1))
    return parts


def _with_scheme(text: str, default: str | None) -> str:
    own = urlsplit(default or "")
    parts = urlsplit(f"//{own.hostname or ''}{text}" if text.startswith(":") else f"//{text}")
    scheme = "http" if _is_loopback(parts.hostname or "") else "https"
    if parts.port is None and own.port is not None:
        parts = parts._replace(netloc=f"{parts.netloc.rstrip(':')}:{own.port}")
    return parts._replace(scheme=own.scheme if own.scheme == "http" else scheme).geturl()


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _segments(path: str) -> list[str]:
    return [segment for segment in path.split("/") if segment]


def _overlap(base: Sequence[str], path: Sequence[str]) -> int:
    """How many of the first segments of `path` are the last ones of `base`."""
    longest = min(len(base), len(path))
    return next((count for count in range(longest, 0, -1) if base[-count:] == path[:count]), 0)
