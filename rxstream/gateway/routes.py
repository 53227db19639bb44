"""The routes that ask no model."""

from __future__ import annotations

import time

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from rxstream.errors import RequestError
from rxstream.gateway.doctor.self_test import self_test_route
from rxstream.gateway.errors import error_response, format_of
from rxstream.gateway.gateway import Gateway
from rxstream.gateway.metrics import METRICS_CONTENT_TYPE

__all__ = ("health_routes", "model_list_routes", "no_resume_route")


def health_routes(gateway: Gateway) -> list[BaseRoute]:
    """`/healthz`, `/readyz`, `/metrics`, and the stream for `rxstream doctor`."""

    async def healthz(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def readyz(_: Request) -> Response:
        slots = gateway.slots
        about = {
            "ready": gateway.is_ready,
            "draining": slots.is_closed,
            "models": len(gateway.catalogue.names()),
            "streams": slots.taken,
            "max_concurrent_streams": slots.limit,
        }
        return JSONResponse(about, 200 if gateway.is_ready else 503)

    async def metrics(_: Request) -> Response:
        return Response(gateway.metrics.exposition(), media_type=METRICS_CONTENT_TYPE)

    self_test = self_test_route(lambda: gateway.slots.is_closed)
    routes: list[BaseRoute] = [Route("/healthz", healthz), Route("/readyz", readyz), self_test]
    return [*routes, Route("/metrics", metrics)] if gateway.config.telemetry.metrics else routes


def model_list_routes(gateway: Gateway) -> list[BaseRoute]:
    """`/v1/models` and `/v1/models/{name}`."""
    created = int(time.time())

    def about(name: str, provider: str) -> dict[str, object]:
        # Fields of OpenAI's list, and those that Anthropic's clients read beside them.
        return {
            "id": name,
            "object": "model",
            "created": created,
            "owned_by": provider,
            "type": "model",
            "display_name": name,
            "created_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(created)),
        }

    async def models(_: Request) -> Response:
        data = [about(name, target.provider) for name, target in gateway.catalogue.listed().items()]
        ends = {"first_id": data[0]["id"] if data else None, "last_id": data[-1]["id"] if data else None}
        return JSONResponse({"object": "list", "data": data, "has_more": False, **ends})

    async def model(request: Request) -> Response:
        problem: RequestError | None = None
        try:
            name, target = gateway.catalogue.show(request.path_params["name"])
            return JSONResponse(about(name, target.provider))
        except RequestError as error:
            problem = error
        return error_response(problem, format_of(request.scope))

    return [Route("/v1/models", models), Route("/v1/models/{name:path}", model)]


def no_resume_route() -> BaseRoute:
    """Where the AI SDK asks whether an answer still runs that it could join: none is kept."""

    async def resume(_: Request) -> Response:
        return Response(status_code=204)

    return Route("/api/chat/{id}/stream", resume)
