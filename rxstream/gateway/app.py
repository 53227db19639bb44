"""The gateway as an ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rxstream.gateway.config import Config, ServerConfig
from rxstream.gateway.errors import error_response, format_of
from rxstream.gateway.gateway import Gateway
from rxstream.gateway.guard import Guard
from rxstream.gateway.headers import RequestIds
from rxstream.gateway.model_route import ModelRoute
from rxstream.gateway.openapi import openapi_route
from rxstream.gateway.page.assets import page_routes
from rxstream.gateway.page.socket import page_socket_route
from rxstream.gateway.refusals import Refusal
from rxstream.gateway.routes import health_routes, model_list_routes, no_resume_route
from rxstream.gateway.security import Security, configured_tokens

__all__ = ("create_app",)

EXPOSED: Final = ("x-request-id", "request-id", "x-upstream-request-id", "retry-after", "retry-after-ms")


NOTHING_HERE: Final = (
    "there is nothing at this path: the base URL of OpenAI's clients ends with /v1, that of Anthropic's does not; "
    "GET /openapi.json lists what is served"
)


def create_app(config: Config, *, client: Any = None) -> Starlette:
    """Make the gateway.

        uvicorn.run(create_app(load_config("gateway.toml")), http="h11")    # or `rxstream serve`, which bounds more

    Inside another application (`Mount`) its lifespan is not run: `await app.state.gateway.aclose()` is yours to call.

    Args:
        config: the settings.
        client: sends the requests to providers, an `httpx.AsyncClient` or one with its interface, and stays yours to
            close; None makes one.

    Returns:
        The application; `app.state.gateway` is what its routes share.

    Raises:
        CatalogueError: a model cannot be offered; the message says what to set.
        SettingError: the variable that `server.tokens_env` names is not set.
    """
    tokens = configured_tokens(config.server)
    gateway = Gateway(config, client)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await gateway.aclose()

    app = Starlette(
        routes=_routes(gateway, needs_token=bool(tokens)),
        middleware=[
            Middleware(RequestIds),
            Middleware(Guard, log=gateway.log),
            *_cross_origin(config.server),
            Middleware(Security, server=config.server, tokens=tokens),
        ],
        exception_handlers={HTTPException: _not_here},
        lifespan=lifespan,
    )
    app.state.gateway = gateway
    app.router.redirect_slashes = False  # a POST is not sent twice, and a redirect would repeat what `Host` says
    return app


def _routes(gateway: Gateway, *, needs_token: bool) -> list[BaseRoute]:
    model_routes = (
        ModelRoute(gateway, "/v1/chat/completions", "openai-chat"),
        ModelRoute(gateway, "/v1/responses", "openai-responses"),
        ModelRoute(gateway, "/v1/messages", "anthropic"),
        ModelRoute(gateway, "/api/chat", "ai-sdk-ui", needs_model=False),
    )
    return [
        *(Route(route.path, route, methods=["POST"]) for route in model_routes),
        *model_list_routes(gateway),
        no_resume_route(),
        *health_routes(gateway),
        openapi_route(),
        *page_routes(needs_token=needs_token),
        page_socket_route(gateway),
    ]


def _cross_origin(server: ServerConfig) -> list[Middleware]:
    if not server.allowed_origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=server.allowed_origins,
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
            expose_headers=EXPOSED,
        )
    ]


async def _not_here(request: Request, error: Exception) -> Response:
    """A path or a method that is not served, in the client's own words."""
    assert isinstance(error, HTTPException)
    sentence = f"{request.method} is not served here" if error.status_code == 405 else NOTHING_HERE
    refusal = Refusal(
        sentence, status=error.status_code, category="not_found" if error.status_code == 404 else "invalid_request"
    )
    response = error_response(refusal, format_of(request.scope))
    response.headers.update(error.headers or {})
    return response
