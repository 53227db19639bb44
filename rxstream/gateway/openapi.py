"""What the gateway serves, as an OpenAPI document: enough to find one's way and to be tested from.

The bodies are those of the APIs that the routes speak, whose own documents describe every field; here stands what a
request must have, and anything beside it is let through.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from rxstream.gateway.doctor.self_test import MAX_FRAMES, MAX_INTERVAL_MS, SELF_TEST_PATH

__all__ = ("openapi_document", "openapi_route")

MODEL: Final = {"type": "string", "description": "one of `GET /v1/models`"}
STREAM: Final = {"type": "boolean", "default": False}
TEXT_OR_PARTS: Final = {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "object"}}]}

OPENAI_ERROR: Final = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type"],
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "code": {"type": ["string", "integer", "null"]},
                "param": {"type": ["string", "null"]},
                "correlation_id": {"type": "string"},
            },
        }
    },
}
ANTHROPIC_ERROR: Final = {
    "type": "object",
    "required": ["type", "error"],
    "properties": {
        "type": {"const": "error"},
        "error": {
            "type": "object",
            "required": ["type", "message"],
            "properties": {"type": {"type": "string"}, "message": {"type": "string"}},
        },
    },
}

STATUSES: Final[Mapping[str, str]] = {
    "400": "the request is wrong",
    "401": "no token, or none that is known",
    "403": "this page or this host is not served",
    "404": "there is no such model",
    "408": "the request did not arrive in time",
    "413": "the body is too long",
    "415": "the body is not said to be JSON",
    "429": "too much is asked, of the provider or of this gateway; `retry-after` says when to come again",
    "502": "the provider did not answer, or with something that is no answer",
    "503": "the provider has too much to do, or this gateway is shutting down",
    "504": "the model did not answer in time",
}


def openapi_document() -> dict[str, Any]:
    """The document, in OpenAPI 3.1."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "rxstream gateway",
            "version": metadata.version("rxstream"),
            "description": "Language models of any provider, in the words of the API that the client speaks.",
        },
        "paths": {
            "/v1/chat/completions": _asking(
                "OpenAI's Chat Completions", _body(messages=_list_of(_message("content", TEXT_OR_PARTS)))
            ),
            "/v1/responses": _asking("OpenAI's Responses", _body(input=TEXT_OR_PARTS)),
            "/v1/messages": _asking(
                "Anthropic's Messages",
                _body(
                    messages=_list_of(_message("content", TEXT_OR_PARTS)), max_tokens={"type": "integer", "minimum": 1}
                ),
                overloaded="529",
                error={"application/json": {"schema": ANTHROPIC_ERROR}},
            ),
            "/api/chat": _asking(
                "a UI message stream of the AI SDK",
                {
                    "type": "object",
                    "required": ["messages"],
                    "properties": {
                        "id": {"type": "string"},
                        "model": MODEL,
                        "messages": _list_of(_message("parts", {"type": "array", "items": {"type": "object"}})),
                    },
                },
                error={"text/plain": {"schema": {"type": "string"}}},
                whole=False,
            ),
            "/api/chat/{id}/stream": {
                "get": {
                    "summary": "Join an answer that still runs: there is none that could be",
                    "parameters": [_path_parameter("id")],
                    "responses": {"204": {"description": "nothing to join"}, **_refusals("401", "403")},
                }
            },
            "/v1/models": {
                "get": {
                    "summary": "The models there are",
                    "responses": {"200": _json("the list"), **_refusals("401", "403")},
                }
            },
            "/v1/models/{name}": {
                "get": {
                    "summary": "One model",
                    "parameters": [_path_parameter("name")],
                    "responses": {"200": _json("the model"), **_refusals("401", "403", "404")},
                }
            },
            "/healthz": {"get": {"summary": "Whether it runs", "responses": {"200": _json("it does")}}},
            SELF_TEST_PATH: {
                "get": {
                    "summary": "A few small frames, one each moment, for `rxstream doctor`",
                    "parameters": [
                        _number_parameter("n", MAX_FRAMES),
                        _number_parameter("interval_ms", MAX_INTERVAL_MS),
                    ],
                    "responses": {
                        "200": {"description": "the frames", "content": {"text/event-stream": {}}},
                        **_refusals("400", "401", "403", "429"),
                    },
                }
            },
            "/readyz": {
                "get": {
                    "summary": "Whether it would take a request to a model",
                    "responses": {"200": _json("it would"), "503": _json("it would not")},
                }
            },
        },
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "x-api-key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
                "api-key": {"type": "apiKey", "in": "header", "name": "api-key"},
            }
        },
        "security": [{}, {"bearer": []}, {"x-api-key": []}, {"api-key": []}],
    }


def openapi_route() -> BaseRoute:
    """`/openapi.json`."""
    document = openapi_document()

    async def serve(_: Request) -> Response:
        return JSONResponse(document)

    return Route("/openapi.json", serve)


def _asking(
    api: str,
    body: dict[str, Any],
    *,
    overloaded: str | None = None,
    error: dict[str, Any] | None = None,
    whole: bool = True,
) -> dict[str, Any]:
    """A route that asks a model."""
    answers = {"text/event-stream": {"schema": {"type": "string"}}}
    if whole:
        answers["application/json"] = {"schema": {"type": "object"}}
    shown = error or {"application/json": {"schema": OPENAI_ERROR}}
    refusals = {status: {"description": sentence, "content": shown} for status, sentence in STATUSES.items()}
    if overloaded is not None:
        refusals[overloaded] = {"description": "the provider has too much to do", "content": shown}
    return {
        "post": {
            "summary": f"Ask a model, in the words of {api}",
            "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
            "responses": {"200": {"description": "the answer", "content": answers}, **refusals},
        }
    }


def _body(**fields: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["model", *fields],
        "properties": {"model": MODEL, "stream": STREAM, **fields},
    }


def _message(content: str, schema: dict[str, Any]) -> dict[str, Any]:
    fields = {"role": {"type": "string"}, content: schema}
    return {"type": "object", "required": list(fields), "properties": fields}


def _list_of(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "minItems": 1, "items": items}


def _path_parameter(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}


def _number_parameter(name: str, limit: int) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": limit}}


def _json(description: str) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": {"type": "object"}}}}


def _refusals(*statuses: str) -> dict[str, Any]:
    shown = {"application/json": {"schema": OPENAI_ERROR}}
    return {status: {"description": STATUSES[status], "content": shown} for status in statuses}
