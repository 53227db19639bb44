"""What is sent to a provider, and what the files that write requests share.

A provider's file has one function, a `RequestWriter`: from a `ModelRequest`, or from a body in the provider's own
words, to a `ProviderRequest`. What the provider cannot express is a `RequestError`, never left out in silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from rxstream.errors import RequestError
from rxstream.requests import ModelRequest

__all__ = (
    "InexpressibleError",
    "ProviderRequest",
    "RequestWriter",
    "cannot_express",
    "no_reasoning",
    "refuse_signatures",
    "sampling_fields",
    "say_stream",
    "take_model",
    "with_extra",
)

SAMPLING: Final = ("temperature", "top_p", "top_k", "frequency_penalty", "presence_penalty", "seed")
"""The fields of a `ModelRequest` that are one number each."""


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """One request, but for where it goes and who asks.

    Args:
        path: behind the base URL, with the wire's version where that is part of the path.
        body: as it will be sent, as JSON.
        headers: those that the wire itself asks for.
        method: the HTTP method.
    """

    path: str
    body: dict[str, Any] = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    method: str = "POST"


class RequestWriter(Protocol):
    """Writes a provider's requests."""

    def __call__(
        self, request: ModelRequest | Mapping[str, Any], /, *, stream: bool, dialect: Any = None
    ) -> ProviderRequest:
        """The provider's request.

        Args:
            request: what to ask; a mapping is the body in the provider's own words, and is not changed.
            stream: whether the answer is to be streamed.
            dialect: what the server does in its own way; None for the plain wire.

        Raises:
            RequestError: the provider has no way to express it.
        """
        ...


class InexpressibleError(RequestError):
    """A request that a provider has no words for. `what` and `instead` never quote content.

    Args:
        what: what it cannot express, as the end of a sentence.
        provider: who cannot.
        field: the field of the `ModelRequest` that asks for it, such as `seed` or `reasoning.effort`.
        instead: what to ask for instead, whoever asks; empty where there is nothing.
        in_code: the same for who writes a `ModelRequest`, where that can be said more exactly.
    """

    def __init__(self, what: str, provider: str, *, field: str, instead: str = "", in_code: str = "") -> None:
        advice = in_code or instead
        super().__init__(f"{provider} cannot express {what}{': ' + advice if advice else ''}")
        self.what = what
        self.provider = provider
        self.field = field
        self.instead = instead


def cannot_express(what: str, provider: str, instead: str = "", *, field: str, in_code: str = "") -> InexpressibleError:
    """The error for what a provider has no words for; its arguments are those of the error."""
    return InexpressibleError(what, provider, field=field, instead=instead, in_code=in_code)


def no_reasoning(what: str, provider: str) -> InexpressibleError:
    """The error for reasoning that a provider does not take back: the caller decides that it is left out."""
    return cannot_express(what, provider, field="messages", in_code="send request.without_reasoning() to leave it out")


def refuse_signatures(part: Any, provider: str) -> None:
    """Raise where a part that takes none on this wire carries a signature."""
    if part.signatures:
        raise no_reasoning(f"the signature of a {part.type} part", provider)


def say_stream(body: dict[str, Any], *, stream: bool) -> None:
    """Ask for a stream, or for none.

    Raises:
        RequestError: the body itself asks for the other.
    """
    said = body.get("stream")
    if said is not None and bool(said) != stream:
        other = "complete()" if stream else "stream()"
        raise RequestError(f"the request says stream={bool(said)}; leave it out, or call {other}")
    if stream:
        body["stream"] = True


def sampling_fields(request: ModelRequest, names: Mapping[str, str], provider: str) -> Iterable[tuple[str, Any]]:
    """The numbers that a request says, by the provider's names.

    Args:
        request: the request.
        names: the provider's name of each field that it knows.
        provider: who it is, for the error.

    Raises:
        RequestError: a field that it does not know is asked for.
    """
    for name in SAMPLING:
        value = getattr(request, name)
        if value is None:
            continue
        if name not in names:
            in_code = "what it calls by another name goes into extra={...}"
            raise cannot_express(name, provider, field=name, in_code=in_code)
        yield names[name], value


def with_extra(body: dict[str, Any], extra: Mapping[str, Any], joined: Iterable[str] = ()) -> dict[str, Any]:
    """The body with a request's `extra`, which wins.

    Args:
        body: what the request's own fields came to.
        extra: `ModelRequest.extra`.
        joined: fields of the body that only hold other fields: what `extra` says of them is put into them.
    """
    inside = {
        name: {**body[name], **extra[name]}
        for name in joined
        if isinstance(body.get(name), dict) and isinstance(extra.get(name), Mapping)
    }
    return {**body, **extra, **inside}


def take_model(body: dict[str, Any], provider: str) -> str:
    """The model of a body, taken out of it: for a wire that has it in the path.

    Raises:
        RequestError: the body says none, or one that would lead to another path.
    """
    model = body.pop("model", None)
    if not isinstance(model, str) or not model.strip():
        raise RequestError(f"{provider!r} needs a model: name it in the request, or connect(..., model=...)")
    if not {"", ".", ".."}.isdisjoint(model.split("/")):
        raise RequestError(f"{provider!r} has the model in its path, where no part of a name can be empty, '.' or '..'")
    return model
