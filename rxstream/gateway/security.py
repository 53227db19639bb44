"""Who may use the gateway: whoever has a token, or, while there are none, programs of this machine and no web page.

A page that a user visits can send requests to this machine's own addresses. Two things give it away: it cannot leave
`Origin` out, and where its own name was made to point at this machine (DNS rebinding) that name is in `Host`.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from rxstream.gateway.config import ServerConfig, SettingError, SettingProblem
from rxstream.gateway.errors import error_response, format_of, own_path
from rxstream.gateway.refusals import Refusal, not_allowed, wrong_token

__all__ = ("Security", "configured_tokens", "is_loopback_host")

OPEN_PATHS: Final = ("/", "/healthz", "/readyz", "/favicon.ico")
"""What needs no token: probes, and the page, which asks for one itself."""

OPEN_FOLDERS: Final = ("/static/",)

TOKEN_HEADERS: Final = (b"x-api-key", b"api-key")

SOCKET_TOKEN: Final = "rxstream.token."
"""The subprotocol by which a page says its token, for it can set no header of a WebSocket; behind it stands the token
as hex digits of its UTF-8."""


class Security:
    """Refuses what must not pass, before anything of it is read.

    Args:
        app: the application behind it.
        server: the settings.
        tokens: what clients may send; empty where everybody of this machine may.
    """

    def __init__(self, app: ASGIApp, server: ServerConfig, tokens: tuple[str, ...]) -> None:
        self._app = app
        self._tokens = tuple(token.encode() for token in tokens)
        self._origins = frozenset(origin.rstrip("/").lower() for origin in server.allowed_origins)
        self._hosts = frozenset(host.lower() for host in server.allowed_hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refusal = self._judge(scope)
        if refusal is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": str(refusal)[:120]})
        else:
            await error_response(refusal, format_of(scope))(scope, receive, send)

    def _judge(self, scope: Scope) -> Refusal | None:
        headers = dict(scope["headers"])
        origin = headers.get(b"origin", b"").decode("latin-1").lower()
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if self._tokens:
            if not _is_open(own_path(scope)) and not self._is_known(_tokens_of(scope, headers)):
                return wrong_token()
        elif not (is_loopback_host(_host_name(host)) or _host_name(host) in self._hosts):
            return not_allowed(
                "the Host header names another machine: without tokens this gateway serves its own machine only "
                "([server] tokens_env or allowed_hosts in its settings)"
            )
        is_page = origin and not self._is_welcome(origin, host)
        if is_page and (not self._tokens or scope["type"] == "websocket"):
            return not_allowed(
                "a page of this origin may not use this gateway ([server] allowed_origins in its settings)"
            )
        return None

    def _is_known(self, said: Iterable[bytes]) -> bool:
        # Every token is compared with every one that is known, so that the time tells nothing.
        matches = [hmac.compare_digest(token, known) for token in said for known in self._tokens]
        return any(matches)

    def _is_welcome(self, origin: str, host: str) -> bool:
        return origin in self._origins or "*" in self._origins or (bool(host) and _address(origin) == host)


def configured_tokens(server: ServerConfig) -> tuple[str, ...]:
    """The tokens of the settings, and those in the variable that they name.

    Raises:
        SettingError: that variable is not set.
    """
    tokens = [token.get_secret_value() for token in server.tokens]
    if server.tokens_env is not None:
        found = [each.strip() for each in os.environ.get(server.tokens_env, "").split(",") if each.strip()]
        if not found:
            problem = f"server.tokens_env: the variable {server.tokens_env} is not set"
            raise SettingError(SettingProblem(("server", "tokens_env"), problem))
        tokens += found
    return tuple(dict.fromkeys(tokens))


def is_loopback_host(host: str) -> bool:
    """Whether a name or an address is this machine's own."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _host_name(host: str) -> str:
    """The name in a `Host` header, without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if host.count(":") == 1 else host


def _address(origin: str) -> str:
    """Name and port of an origin; empty where it is none (`null`, or what no browser sends)."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _is_open(path: str) -> bool:
    return path in OPEN_PATHS or path.startswith(OPEN_FOLDERS)


def _tokens_of(scope: Scope, headers: dict[bytes, bytes]) -> list[bytes]:
    found = [headers[name] for name in TOKEN_HEADERS if name in headers]
    scheme, _, credentials = headers.get(b"authorization", b"").partition(b" ")
    if scheme.lower() == b"bearer":
        found.append(credentials.strip())
    for protocol in scope.get("subprotocols", ()):
        if protocol.startswith(SOCKET_TOKEN):
            try:
                found.append(bytes.fromhex(protocol.removeprefix(SOCKET_TOKEN)))
            except ValueError:
                pass
    return found
