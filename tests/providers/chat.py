"""Small builders for the chat wire, and one way to run a stream of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from rxstream.errors import StreamError
from rxstream.events import Event, Finish, TextDelta, Usage, UsageUpdate
from rxstream.framing.frames import Payload
from rxstream.limits import Limits
from rxstream.providers.decoder import Decoder
from rxstream.providers.dialects import ChatDialect
from rxstream.providers.openai_chat import OpenAIChatDecoder

DONE = b"[DONE]"

EventT = TypeVar("EventT")


def frame(**top: Any) -> bytes:
    """A payload with these top-level keys, beside an id and a model."""
    return json.dumps({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"} | top).encode()


def choices(*entries: dict[str, Any], **top: Any) -> bytes:
    """A chunk with these entries of `choices`."""
    return frame(choices=list(entries), **top)


def delta(*, index: int = 0, finish: Any = None, top: dict[str, Any] | None = None, **keys: Any) -> bytes:
    """A chunk whose one choice has a delta of these keys."""
    return choices({"index": index, "delta": keys, "finish_reason": finish}, **(top or {}))


def text(content: str, index: int = 0) -> bytes:
    """A plain piece of text."""
    return delta(content=content, index=index)


def finish(reason: Any = "stop", index: Any = 0, **top: Any) -> bytes:
    """A finish chunk, with an empty delta."""
    return choices({"index": index, "delta": {}, "finish_reason": reason}, **top)


def usage(prompt: int, completion: int, **more: Any) -> bytes:
    """A usage chunk, with no choices."""
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return frame(choices=[], usage=counts | more)


def call(
    index: Any = None, call_id: Any = None, name: Any = None, arguments: Any = None, **more: Any
) -> dict[str, Any]:
    """An entry of `tool_calls`; a key that is None is left out."""
    function = {"name": name, "arguments": arguments}
    entry = {"index": index, "id": call_id, "function": {key: v for key, v in function.items() if v is not None}}
    return {key: value for key, value in entry.items() if value is not None} | more


def calls(*entries: dict[str, Any], finish: Any = None) -> bytes:
    """A chunk with these entries of `tool_calls`."""
    return delta(tool_calls=list(entries), finish=finish)


@dataclass
class Run:
    """What came of a stream."""

    events: list[Event]
    error: StreamError | None
    is_done: bool

    def of(self, *kinds: type[EventT]) -> list[EventT]:
        """Events of these kinds, in order."""
        return [event for event in self.events if isinstance(event, kinds)]

    @property
    def text(self) -> str:
        """All text of all choices."""
        return "".join(event.text for event in self.of(TextDelta))

    @property
    def finish(self) -> Finish:
        """The only finish."""
        (only,) = self.of(Finish)
        return only

    @property
    def usage(self) -> Usage:
        """The last usage."""
        return self.of(UsageUpdate)[-1].usage


def drive(decoder: Decoder, payloads: Sequence[Payload]) -> Run:
    """Decode `payloads` and close, as the stage does."""
    out: list[Event] = []
    try:
        for payload in payloads:
            decoder.decode(payload, out)
        decoder.close(out)
    except StreamError as error:
        decoder.abort(out)
        return Run(out, error, decoder.done)
    return Run(out, None, decoder.done)


def run(*payloads: Payload, dialect: ChatDialect | None = None, limits: Limits | None = None) -> Run:
    """Decode a whole stream of the chat wire."""
    return drive(OpenAIChatDecoder(dialect or ChatDialect(), limits=limits), payloads)
