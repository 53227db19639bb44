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

A query stays at the end (`?api-version=...`). Without a scheme (`localhost:11434`) it is `http` where the host is this
machine, else `https`; a host alone takes the port of the service's own address.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from rxstream.errors import RequestError
from rxstream.providers.service import Service

__all__ = ("Address", "find_address")


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

    def url(self, path: str) -> str:
        """The URL of a request whose path is `path`."""
        base = _segments(self.parts.path) or _segments(self.prefix)
        behind = _segments(path)
        joined = "/".join((*base, *behind[_overlap(base, behind) :]))
        return self.parts._replace(path=f"/{joined}", fragment="").geturl()


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
    text = given or service.base_url
    if text is None:
        ways = " or ".join(("pass base_url=...", *(f"set {name}" for name in service.base_url_variables)))
        raise RequestError(f"{provider!r} has no address of its own: {ways}")
    return Address(_read(provider, text, service.base_url), service.prefix, given is not None)


def _read(provider: str, text: str, default: str | None) -> SplitResult:
    problem = "it needs the form http://host or https://host"
    try:
        parts = urlsplit(text if "://" in text else _with_scheme(text, default))
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 0) >= 0
    except ValueError:
        is_url = False
    if not is_url:
        raise RequestError(f"the base URL for {provider!r} is not valid: {problem}")
    return parts


def _with_scheme(text: str, default: str | None) -> str:
    parts = urlsplit(f"//{text}")
    own = urlsplit(default or "")
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
