"""A provider of your own in one file: its wire, its requests, its name. Run: python examples/own_provider.py

It speaks JSON lines: {"say": "..."} for text, {"stop": "..."} at the end. A provider that speaks a wire which is known
needs one line: rxs.register_provider("acme", base_url="https://api.acme.example/v1", keys=["ACME_API_KEY"]).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json

import rxstream as rxs
from rxstream.events import Event, Finish, ResponseStart, TextDelta
from rxstream.framing.frames import Payload
from rxstream.providers.provider_request import ProviderRequest
from rxstream.providers.service import Key, Service
from rxstream.testing import Reply, ScriptedProvider, Send


class ParrotDecoder:
    """From its lines to events. It sees one stream, and no socket, clock or chunk."""

    def __init__(self, *, limits: rxs.Limits | None = None) -> None:
        self.done = False

    def decode(self, payload: Payload, out: list[Event]) -> None:
        assert isinstance(payload, bytes)  # in this framing a payload is a line
        line = from_json(payload)
        if "say" in line:
            out.append(TextDelta(line["say"], part_id="0"))
        elif "stop" in line:
            out.append(Finish("stop", line["stop"]))
            self.done = True
        else:
            out.append(ResponseStart(provider="parrot"))

    def close(self, out: list[Event]) -> None:
        if not self.done:
            raise rxs.TruncatedStreamError()  # a part is never taken for the whole

    def abort(self, out: list[Event]) -> None:
        """Nothing is held back that could be lost."""


def parrot_request(
    request: rxs.ModelRequest | Mapping[str, Any], /, *, stream: bool, dialect: Any = None
) -> ProviderRequest:
    """From a request to its own words; what it has no words for is an error, never left out in silence."""
    if not isinstance(request, rxs.ModelRequest):
        return ProviderRequest("/repeat", dict(request))
    if request.tools:
        raise rxs.RequestError("a parrot calls no tools")
    return ProviderRequest("/repeat", {"words": [str(message.content) for message in request.messages]})


rxs.register_wire(
    "parrot",
    framing="ndjson",
    decoder=ParrotDecoder,
    request=parrot_request,
    service=Service("https://parrot.example", keys=(Key("PARROT_KEY", header="x-parrot-key"),)),
)


async def main() -> None:
    lines = [b'{"hello":1}\n', b'{"say":"Polly "}\n', b'{"say":"wants a cracker."}\n', b'{"stop":"fed"}\n']
    script = Reply([*map(Send, lines)], content_type="application/x-ndjson")
    async with ScriptedProvider(script) as provider:
        async with rxs.connect("parrot", base_url=provider.base_url, api_key="seed") as endpoint:
            response = await rxs.collect(endpoint.stream(rxs.ModelRequest.of("What do you want?")))
        asked = (await provider.request()).request
    print(f"asked {asked.method} {asked.path} {asked.json()}")
    print(f"{response.outcome}: {response.text} ({response.finish_reason_raw})")


if __name__ == "__main__":
    asyncio.run(main())
