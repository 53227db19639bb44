"""One request as the user described it, built anew for each subscription."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from functools import lru_cache
from typing import Any, Final, Protocol

from rxstream.errors import RequestError

__all__ = ("HTTPClient", "HTTPResponse", "RequestSpec")

MAX_PORT: Final = 65535

SEND_OPTIONS: Final = ("auth",)
"""What of the options a client takes when it sends, not when it builds."""


class HTTPClient(Protocol):
    """What is asked of a client: the interface of `httpx.AsyncClient`, not its type."""

    @property
    def build_request(self) -> Callable[..., Any]:
        """`build_request(method, url, **options)`."""
        ...

    @property
    def send(self) -> Callable[..., Awaitable[Any]]:
        """`await send(request, stream=True, follow_redirects=False)`."""
        ...


class HTTPResponse(Protocol):
    """What is asked of a response."""

    status_code: int

    @property
    def headers(self) -> Mapping[str, str]:
        """Its headers; names in any case are found."""
        ...

    def aiter_raw(self) -> AsyncGenerator[bytes, None]:
        """The body as it came, not decompressed."""
        ...

    async def aclose(self) -> None:
        """Let the connection go."""
        ...


class RequestSpec:
    """Everything of a request but the request itself.

    Args:
        client: builds and sends it.
        method: the HTTP method.
        url: its URL, absolute or below the client's `base_url`.
        options: those of the client's `build_request`, and `auth`.

    Raises:
        TypeError: an option that the client does not know.
    """

    __slots__ = ("_build_options", "_client", "_is_spent", "_method", "_send_options", "_url")

    def __init__(self, client: HTTPClient, method: str, url: Any, options: Mapping[str, Any]) -> None:
        self._client = client
        self._method = method
        self._url = url
        self._build_options = {name: value for name, value in options.items() if name not in SEND_OPTIONS}
        self._send_options = {name: value for name, value in options.items() if name in SEND_OPTIONS}
        self._is_spent = False
        _check_call(client.build_request, method, url, **self._build_options)

    def build(self) -> Any:
        """A request of its own for one subscription.

        Raises:
            RequestError: the client is closed, the URL's port is none, or the body was an iterator that an earlier
                subscription has read.
        """
        if self._is_spent:
            raise RequestError("the request's body is an iterator, which one subscription has read: give bytes or json")
        self._is_spent = _is_iterator(self._build_options.get("content"))
        if getattr(self._client, "is_closed", False):
            raise RequestError("the HTTP client is closed: keep it open for as long as its streams are read")
        request = self._client.build_request(self._method, self._url, **self._build_options)
        port = getattr(getattr(request, "url", None), "port", None)
        if isinstance(port, int) and not 0 <= port <= MAX_PORT:  # the client would find out in a task group
            raise RequestError(f"the URL's port is {port}, and ports go from 0 to {MAX_PORT}")
        # The client's own default is to accept whatever it can inflate; a stream asks for bytes that need no inflating.
        if not _names_header(self._build_options.get("headers"), "accept-encoding"):
            request.headers["accept-encoding"] = "identity"
        return request

    async def send(self, request: Any) -> HTTPResponse:
        """Send it, once: to follow a redirect would be to send it again."""
        response: HTTPResponse = await self._client.send(
            request, stream=True, follow_redirects=False, **self._send_options
        )
        return response


def _check_call(function: Callable[..., Any], *args: Any, **options: Any) -> None:
    plain = getattr(function, "__func__", None)  # a method's own function is the same for every client of a class
    signature = _signature_of(function) if plain is None else _method_signature(plain)
    if signature is not None:
        signature.bind(*(() if plain is None else (None,)), *args, **options)


def _signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    """None for a callable that tells none: it is asked when it is called."""
    try:
        return inspect.signature(function)
    except ValueError:
        return None


_method_signature: Final = lru_cache(maxsize=16)(_signature_of)


def _is_iterator(content: Any) -> bool:
    """Whether reading it uses it up: a client would send what is left, an empty body, without a word."""
    return hasattr(content, "__anext__") or hasattr(content, "__next__")


def _names_header(headers: Any, name: str) -> bool:
    """Whether headers in any form that a client takes (a mapping or pairs, of text or bytes) have this one."""
    if headers is None:
        return False
    names = headers if hasattr(headers, "keys") else (pair[0] for pair in headers)
    return any(_as_text(each).lower() == name for each in names)


def _as_text(name: str | bytes) -> str:
    return name.decode("latin-1") if isinstance(name, bytes) else name
