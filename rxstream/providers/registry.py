"""Which wire a name stands for: a table of rows, each naming files that are imported when they are first asked for.

A further wire is one file for each direction, one row here and one in `services`. A further server of the chat wire is
one row in `dialects` and one in `chat_services`. A user's own is `register_provider` where it speaks a wire that
is here, `register_wire` where it does not, or an entry point of a package: a function of the group `rxstream.providers`
that calls one of the two, found by the provider's name and called when that name is first asked for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from rxstream.limits import Limits
from rxstream.providers.chat_services import CHAT_SERVICES
from rxstream.providers.decoder import Decoder
from rxstream.providers.dialects import CHAT_DIALECTS
from rxstream.providers.service import ANYWHERE, Key, Service
from rxstream.providers.services import SERVICES

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from rxstream.providers.provider_request import RequestWriter

__all__ = (
    "UNREAD_WIRES",
    "ENTRY_POINTS",
    "Wire",
    "find_wire",
    "get_wire",
    "register_provider",
    "register_wire",
    "wire_names",
)

ENTRY_POINTS: Final = "rxstream.providers"
"""The group of entry points in which a package offers its providers."""


@dataclass(frozen=True, slots=True)
class Wire:
    """How one provider's bytes become events, and how it is asked.

    What has a file of its own may be there already, or be named as `"module:name"` and imported at first use.

    Args:
        name: what it is called.
        framing: the name of its framing, such as `"sse"` or `"ndjson"`.
        decoder: makes the decoder of one stream: called with the dialect, where there is one, and `limits=`.
        dialect: what its server does in its own way, as data that `decoder` and `request` understand; None where it has
            none.
        body_decoder: makes the decoder of an answer that was not streamed, likewise; None where there is none.
        request: writes its requests; None where it can only be read.
        service: where it is served.
        speaks: the wire that it is a dialect of; its own name where it is none.
    """

    name: str
    framing: str
    decoder: str | Callable[..., Decoder]
    dialect: Any = None
    body_decoder: str | Callable[..., Decoder] | None = None
    request: str | RequestWriter | None = None
    service: Service = ANYWHERE
    speaks: str = ""

    def make_decoder(self, limits: Limits | None = None) -> Decoder:
        """A decoder for one stream, within `limits`.

        Raises:
            TypeError: what was made is no decoder.
        """
        make: Callable[..., Decoder] = _load(self.decoder)
        decoder = make(limits=limits) if self.dialect is None else make(self.dialect, limits=limits)
        missing = [name for name in ("done", "decode", "close", "abort") if not hasattr(decoder, name)]
        if missing:
            kind = type(decoder).__name__
            raise TypeError(f"a decoder has done, decode, close and abort; {kind} has no {', no '.join(missing)}")
        return decoder

    def not_streamed(self) -> Wire | None:
        """The wire of the same answers where they come whole; None where nobody can read those."""
        return (
            None if self.body_decoder is None else dataclasses.replace(self, framing="whole", decoder=self.body_decoder)
        )

    def write_request(self) -> RequestWriter | None:
        """What writes its requests; None where it can only be read."""
        return None if self.request is None else _load(self.request)


def _row(framing: str, decoder: str, body_decoder: str, request: str, service: str = "", **facts: Any) -> Wire:
    room, served = "rxstream.providers.", SERVICES.get(service, ANYWHERE)
    names = {"body_decoder": room + body_decoder, "request": room + request}
    return Wire("", framing, room + decoder, service=served, **names, **facts)


_CHAT: Final = _row(
    "sse",
    "openai_chat:OpenAIChatDecoder",
    "openai_chat_body:OpenAIChatBodyDecoder",
    "openai_chat_request:chat_request",
    speaks="openai-chat",
)

_GEMINI: Final = "gemini:GeminiDecoder"  # a whole answer of this wire is one chunk that is its last

_OLLAMA: Final = "ollama:OllamaDecoder"  # a whole answer of this wire is its last line

_ROWS: Final[dict[str, Wire]] = {
    "anthropic": _row(
        "sse",
        "anthropic:AnthropicDecoder",
        "anthropic_body:AnthropicBodyDecoder",
        "anthropic_request:anthropic_request",
        "anthropic",
    ),
    "bedrock-converse": _row(
        "eventstream",
        "bedrock_converse:ConverseDecoder",
        "bedrock_body:ConverseBodyDecoder",
        "bedrock_request:converse_request",
        "bedrock-converse",
    ),
    "bedrock-invoke": _row(
        "eventstream",
        "bedrock_invoke:InvokeDecoder",
        "bedrock_invoke_body:InvokeBodyDecoder",
        "bedrock_request:invoke_request",
        "bedrock-invoke",
    ),
    "cohere-v1": Wire("", "sse_or_json_lines", "rxstream.providers.cohere_v1:CohereV1Decoder"),
    "cohere-v2": _row(
        "sse",
        "cohere_v2:CohereV2Decoder",
        "cohere_v2_body:CohereV2BodyDecoder",
        "cohere_request:cohere_request",
        "cohere-v2",
    ),
    "gemini": _row("sse_or_json_values", _GEMINI, _GEMINI, "gemini_request:gemini_request", "gemini"),
    "gemini-array": _row(
        "json_values", _GEMINI, _GEMINI, "gemini_request:gemini_array_request", "gemini-array", speaks="gemini"
    ),
    "gemini-interactions": Wire("", "sse", "rxstream.providers.gemini_interactions:GeminiInteractionsDecoder"),
    "openai-completions": _row(
        "sse",
        "openai_completions:OpenAICompletionsDecoder",
        "openai_completions:OpenAICompletionsBodyDecoder",
        "openai_completions_request:completions_request",
        "openai-completions",
    ),
    "openai-responses": _row(
        "sse",
        "openai_responses:OpenAIResponsesDecoder",
        "openai_responses_body:OpenAIResponsesBodyDecoder",
        "openai_responses_request:responses_request",
        "openai-responses",
    ),
    "ollama": _row("ndjson", _OLLAMA, _OLLAMA, "ollama_request:ollama_request", "ollama"),
    **{
        name: dataclasses.replace(_CHAT, dialect=dialect, service=CHAT_SERVICES.get(name, ANYWHERE))
        for name, dialect in CHAT_DIALECTS.items()
    },
}


UNREAD_WIRES: Final[Mapping[str, str]] = {
    "openai-assistants": "the API of runs and threads, which OpenAI has retired",
    "openai-transcription": "the transcript of an audio file, which is no model's answer",
    "replicate": "text without any word of how the answer ended",
    "writer-completions": "text without any word of how the answer ended",
}
"""Wires that are known and not read, and why: whether such a stream was whole could never be told."""


def wire_names() -> tuple[str, ...]:
    """The names of all wires and dialects, sorted; those that installed packages offer among them."""
    return tuple(sorted({*_ROWS, *_offers()}))


def get_wire(name: str) -> Wire:
    """Find a wire; its file is imported now, if nobody asked before.

    Raises:
        ValueError: no wire has that name, or a package offers it and then does not register it.
    """
    wire = find_wire(name)
    return dataclasses.replace(wire, decoder=_load(wire.decoder))


def find_wire(name: str) -> Wire:
    """Find a wire, to be looked at: of those that are here nothing is imported.

    Raises:
        ValueError: as `get_wire`.
    """
    row = _ROWS.get(name) or _take_offer(name)
    if name in UNREAD_WIRES and row is None:
        raise ValueError(
            f"the wire {name!r} is not read ({UNREAD_WIRES[name]}); take its frames with ops.frame_sse(), or give it a "
            "decoder of your own with register_wire"
        )
    if row is None:
        known = wire_names()
        near = get_close_matches(name, known, n=2, cutoff=0.7)
        hint = f"is it {' or '.join(map(repr, near))}? " if near else ""
        raise ValueError(f"there is no wire or provider {name!r}: {hint}known are {', '.join(known)}")
    return dataclasses.replace(row, name=name, speaks=row.speaks or name)


def register_wire(
    name: str,
    *,
    framing: str,
    decoder: str | Callable[..., Decoder],
    dialect: Any = None,
    body_decoder: str | Callable[..., Decoder] | None = None,
    request: str | RequestWriter | None = None,
    service: Service = ANYWHERE,
    replace: bool = False,
) -> None:
    """Add a wire of one's own, for the whole process. The arguments are those of `Wire`.

        rxs.register_wire("parrot", framing="ndjson", decoder=ParrotDecoder)
        events = rxs.from_chunks(body).pipe(ops.parse("parrot"))

    Args:
        name: what `parse`, `decode` and `connect` will know it by.
        framing: the name of its framing, one that `ops.frame` knows: `"sse"`, `"ndjson"`, `"json_array"`, ...
        decoder: makes the decoder of one stream, called with `limits=`: an object with `decode(payload, out)`,
            `close(out)`, `abort(out)` and `done`, as `rxstream.providers.decoder.Decoder` says; or where that is, as
            `"module:name"`, for later import.
        dialect: handed to `decoder` first, where it is not None.
        body_decoder: makes the decoder of an answer that was not streamed; `complete` needs it.
        request: writes its requests; `connect` needs it.
        service: where it is served, and which keys it takes.
        replace: take the place of a wire that has the name already.

    Raises:
        ValueError: the name is empty, taken, or holds a `/` or `:`; or something does not say where it is.
    """
    for reference in (decoder, body_decoder, request):
        if isinstance(reference, str) and not all(reference.partition(":")):
            raise ValueError(f"what is imported later is named as 'module:name', not {reference!r}")
    _add(name, Wire(name, framing, decoder, dialect, body_decoder, request, service), may_replace=replace)


def register_provider(
    name: str,
    *,
    wire: str = "openai-chat",
    base_url: str | None = None,
    keys: Iterable[str | Key] = (),
    base_url_variables: Iterable[str] = (),
    prefix: str | None = None,
    headers: Mapping[str, str] | None = None,
    dialect: Any = None,
    replace: bool = False,
) -> None:
    """Add a provider that speaks a known wire, for the whole process.

        rxs.register_provider("acme", base_url="https://api.acme.example/v1", keys=["ACME_API_KEY"])
        endpoint = rxs.connect("acme/some-model")

    Args:
        name: what `connect`, `parse` and `decode` will know it by.
        wire: the wire it speaks.
        base_url: where it is; None where the caller or the environment says it.
        keys: environment variables that may hold its key, sent as `Bearer`, or as a `Key` says.
        base_url_variables: environment variables with another base URL, in order.
        prefix: the path of its API, added where a base URL names only a host; None is the wire's own.
        headers: sent with each request, besides the wire's own.
        dialect: what it does in its own way; None is the wire's own, with this provider's name in it where there is
            room for one.
        replace: take the place of a provider that has the name already.

    Raises:
        ValueError: the name is empty, taken, or holds a `/` or `:`; or there is no such wire.
    """
    row = get_wire(wire)
    service = Service(
        base_url,
        tuple(Key(key) if isinstance(key, str) else key for key in keys),
        tuple(base_url_variables),
        row.service.prefix if prefix is None else prefix,
        {**row.service.headers, **(headers or {})},
        other_apis=row.service.other_apis,
    )
    said = _named(row.dialect, name) if dialect is None else dialect
    _add(name, dataclasses.replace(row, service=service, dialect=said), may_replace=replace)


def _named(dialect: Any, provider: str) -> Any:
    """The dialect with the name of who speaks it, where it has a field for that."""
    has_name = dataclasses.is_dataclass(dialect) and not isinstance(dialect, type) and hasattr(dialect, "provider")
    return dataclasses.replace(dialect, provider=provider) if has_name else dialect


def _add(name: str, row: Wire, *, may_replace: bool) -> None:
    if not name or "/" in name or ":" in name:
        raise ValueError(f"a wire needs a name without '/' and ':', which part it from a model; not {name!r}")
    if name in _ROWS and not may_replace:
        raise ValueError(f"there is a wire {name!r} already; pass replace=True to take its place")
    _ROWS[name] = row


def _offers() -> dict[str, EntryPoint]:
    """What installed packages offer, by name; what is registered already is no offer."""
    from importlib.metadata import entry_points  # slow to import, and rarely asked

    return {entry.name: entry for entry in entry_points(group=ENTRY_POINTS) if entry.name not in _ROWS}


def _take_offer(name: str) -> Wire | None:
    entry = _offers().get(name)
    if entry is None:
        return None
    entry.load()()
    if name not in _ROWS:
        raise ValueError(f"the package that offers {name!r} did not register it (entry point {entry.value!r})")
    return _ROWS[name]


def _load(reference: Any) -> Any:
    if not isinstance(reference, str):
        return reference
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)
