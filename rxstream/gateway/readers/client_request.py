"""What a client asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from rxstream.errors import RequestError
from rxstream.requests import ModelRequest

__all__ = ("ClientRequest", "make_request")


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """A request, and how its answer is to come back.

    Args:
        request: what to ask the model.
        stream: whether the answer is to be streamed.
        encoder_options: options of the encoder of the client's format, such as `include_usage`.
        parameters: the client's name for each field of a `ModelRequest` that a provider may refuse: `thinking` for
            `reasoning`, say.
    """

    request: ModelRequest
    stream: bool
    encoder_options: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict, compare=False)


def make_request(**fields: Any) -> ModelRequest:
    """The request of fields that were read; those that are None ask for nothing.

    Raises:
        RequestError: they do not fit each other; what a single one may be was looked at where it was read.
    """
    problems: list[str]
    try:
        return ModelRequest(**{name: value for name, value in fields.items() if value is not None})
    except ValidationError as error:
        # The sentences of our own checks tell what is wrong without what was said.
        problems = [entry["msg"].removeprefix("Value error, ") for entry in error.errors(include_input=False)]
    raise RequestError("; ".join(problems))
