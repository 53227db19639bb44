"""A client's body as what a provider is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rxstream.gateway.catalogue import Target
from rxstream.gateway.history import readable_history
from rxstream.gateway.refusals import wrong_body
from rxstream.providers.dialects import ChatDialect
from rxstream.providers.registry import find_wire
from rxstream.requests import ModelRequest

__all__ = ("PreparedRequest", "model_name", "prepare_request")

OWN_KEYS = ("stream", "stream_options")
"""What the gateway says itself: it always asks for a stream, and for usage."""


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """What the provider is asked, and how the client wants to be answered.

    Args:
        request: for `Endpoint.stream`: the client's own body where the provider speaks the same API.
        stream: whether the client wants a stream.
        encoder_options: for the encoder of the answer.
        parameters: the client's name for each field of a request that was read; none where its body is passed on.
    """

    request: ModelRequest | Mapping[str, Any] = field(repr=False)
    stream: bool
    encoder_options: dict[str, Any]
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def body_options(self) -> dict[str, Any]:
        """For the encoder of a whole answer, which always has its usage."""
        return {name: value for name, value in self.encoder_options.items() if name != "include_usage"}


def model_name(body: Mapping[str, Any], default: str | None = None) -> str:
    """The client's name for the model.

    Raises:
        Refusal: it says none, or something that is no name.
    """
    model = body.get("model", default)
    if model is None:
        raise wrong_body("`model` is missing: GET /v1/models lists what there is")
    if not isinstance(model, str) or not model:
        raise wrong_body("`model` must be the name of a model: GET /v1/models lists what there is")
    return model


def prepare_request(format: str, body: Mapping[str, Any], target: Target) -> PreparedRequest:
    """What a client's body asks for, once its model is found.

    Where the provider speaks the client's API the body is passed on as it is, so that no parameter is lost.

    Raises:
        RequestError: a part of it is wrong, or cannot be carried to this provider.
    """
    if target.wire == format:
        return PreparedRequest(
            _passed_on(body, target), _wants_stream(body), _with_name(format, _chat_options(body), target)
        )
    from rxstream.gateway.readers import read_request

    read = read_request(format, body)
    request = readable_history(read.request.model_copy(update={"model": target.model}), target.endpoint.provider)
    return PreparedRequest(request, read.stream, _with_name(format, read.encoder_options, target), read.parameters)


def _passed_on(body: Mapping[str, Any], target: Target) -> dict[str, Any]:
    passed = {key: value for key, value in body.items() if key not in OWN_KEYS and key != "model"}
    dialect = find_wire(target.endpoint.provider).dialect
    if isinstance(dialect, ChatDialect) and dialect.refused_limit_field is not None:
        _rename_limit(passed, dialect.refused_limit_field, dialect.token_limit_field)
    return passed if target.model is None else {"model": target.model, **passed}


def _rename_limit(body: dict[str, Any], refused: str, taken: str) -> None:
    """Say the most tokens by the one of their two names that the server takes: a client cannot know who it asks."""
    if body.get(refused) is None:
        body.pop(refused, None)
    elif body.get(taken) is None:
        body[taken] = body.pop(refused)


def _wants_stream(body: Mapping[str, Any]) -> bool:
    stream = body.get("stream")
    if stream is not None and not isinstance(stream, bool):
        raise wrong_body("`stream` must be true or false")
    return bool(stream)


def _chat_options(body: Mapping[str, Any]) -> dict[str, Any]:
    options = body.get("stream_options")
    if options is not None and not isinstance(options, Mapping):
        raise wrong_body("`stream_options` must be an object")
    return {"include_usage": True} if options and options.get("include_usage") is True else {}


def _with_name(format: str, options: Mapping[str, Any], target: Target) -> dict[str, Any]:
    """With the name that the client asked for, which is what it sees as the model that answered."""
    return dict(options) if format == "ai-sdk-ui" else {**options, "model": target.name}
