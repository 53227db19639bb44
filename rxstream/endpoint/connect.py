"""From a name to an endpoint."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from rxstream.diagnostics import Diagnostics
from rxstream.endpoint.access import request_headers
from rxstream.endpoint.address import find_address
from rxstream.endpoint.aws import find_signer
from rxstream.endpoint.endpoint import Endpoint, Observe
from rxstream.limits import Limits
from rxstream.providers.registry import Wire, get_wire
from rxstream.providers.service import AUTHORIZATION

__all__ = ("connect",)

CONNECT_SECONDS = 10.0
WRITE_SECONDS = 60.0


def connect(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    client: Any = None,
    model: str | None = None,
    headers: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    diagnostics: Diagnostics | None = None,
    environ: Mapping[str, str] | None = None,
    observe: Observe | None = None,
) -> Endpoint:
    """Make an endpoint of a provider. Nothing is sent yet.

        async with rxs.connect("anthropic/claude-sonnet-4-5") as endpoint:
            response = await rxs.collect(endpoint.stream(rxs.ModelRequest.of("Why is the sky blue?")))

    Args:
        name: the provider (`rxstream providers` lists them), or provider and model as `provider/model` or
            `provider:model`; the first `/` or `:` parts them, and the model may hold more of both.
        base_url: where it is, with or without the version; else a variable of the provider's (`OPENAI_BASE_URL`), else
            its own address. `address` has the rule.
        api_key: the key; else a variable of the provider's (`OPENAI_API_KEY`). Only the provider's own address needs
            one. An empty text sends none, whatever the environment says. Amazon Bedrock takes AWS credentials as well,
            where it is given no key: `rxstream[bedrock]` is what signs with them.
        client: `httpx.AsyncClient`, or any with its interface; it stays yours to close. Without one the endpoint makes
            its own and closes it with `async with` or `aclose()`: 10 s to connect, no limit on how long a model thinks.
        model: for requests that name none; it wins over the one in `name`.
        headers: sent with each request; they win over the endpoint's own.
        limits: the bounds of its sources and parsers.
        diagnostics: where protected detail of errors goes.
        environ: read in place of the process's environment.
        observe: gives the operator that the events of each request go through; `otel.observing()` makes spans of them.

    Returns:
        An endpoint: `stream(request)`, `complete(request)`, `stream_bytes(request)`; it goes into `async with`.

    Raises:
        ValueError: there is no such provider.
        RequestError: there is no key or no address; the message names the variable.
    """
    environ = os.environ if environ is None else environ
    provider, named_model = _parted(name)
    wire = _at_home(get_wire(provider), base_url, environ)
    address = find_address(wire.name, wire.service, base_url, environ)
    known = request_headers(
        wire.name,
        wire.service,
        api_key=api_key,
        headers=headers,
        environ=environ,
        needs_key=not (address.is_given or address.is_loopback or wire.service.signs_as),
    )
    is_signed = api_key is None and AUTHORIZATION not in known
    return Endpoint(
        wire,
        address,
        known,
        _own_client() if client is None else client,
        owns_client=client is None,
        model=model or named_model,
        limits=limits,
        diagnostics=diagnostics,
        auth=find_signer(wire.name, wire.service, address, environ) if is_signed else None,
        observe=observe,
    )


def _parted(name: str) -> tuple[str, str | None]:
    """Provider and model; without a separator all of it is the provider."""
    found = re.search("[/:]", name)
    return (name, None) if found is None else (name[: found.start()], name[found.end() :] or None)


def _at_home(wire: Wire, base_url: str | None, environ: Mapping[str, str]) -> Wire:
    """The wire of whoever serves it, where no base URL says who that is."""
    home = wire.service.home
    said = (base_url, *map(environ.get, wire.service.base_url_variables))
    return wire if home is None or any(text and text.strip() for text in said) else get_wire(home)


def _own_client() -> Any:
    import httpx  # slow to import, and not needed by who brings a client

    return httpx.AsyncClient(
        # How many streams run at once is the application's business; without a bound on idle connections httpcore
        # looks at all of them whenever one is closed.
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
        timeout=httpx.Timeout(CONNECT_SECONDS, read=None, write=WRITE_SECONDS, pool=None),
    )
