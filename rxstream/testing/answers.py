"""Whole answers of a scripted model, as replies of a scripted provider.

async with ScriptedProvider(answer("Hel", "lo", wire="anthropic")) as provider: ...
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from rxstream.events import FinishReason, ToolCall, Usage
from rxstream.testing.script import Reply, json_reply
from rxstream.testing.scripted_answer import Answer
from rxstream.testing.steps import Pause, Send, Step
from rxstream.testing.wires import WIRES

__all__ = ("answer",)


def answer(
    *text: str,
    wire: str = "openai-chat",
    reasoning: Sequence[str] = (),
    tool_calls: Sequence[ToolCall] = (),
    usage: Usage | None = None,
    finish: FinishReason | None = None,
    model: str = "scripted-1",
    pacing_seconds: float = 0.0,
    stream: bool = True,
    **reply: Any,
) -> Reply:
    """A complete, well-formed answer: one HTTP chunk for each frame, or one JSON body.

    Args:
        text: the pieces of the text, one delta each.
        wire: one of `rxstream.testing.wires.WIRES`, such as `"openai-chat"` or `"anthropic"`.
        reasoning: the pieces of the reasoning, before the text.
        tool_calls: calls of the client's tools, after the text.
        usage: token counts.
        finish: why the model stopped; None is `tool_calls` where there are any, else `stop`.
        model: the model's name.
        pacing_seconds: pause between two frames, in seconds of the loop's clock.
        stream: False gives the answer to a request that did not ask for a stream; it has no pacing.
        reply: more arguments of `Reply`, such as `framing` or `encoding`.

    Raises:
        ValueError: no such wire, the wire has no word for `finish` or for what is said, or it has streams only.
    """
    if wire not in WIRES:
        raise ValueError(f"no scripted model speaks {wire!r}: one of {', '.join(WIRES)}")
    said = Answer(text, reasoning, tool_calls, usage, finish, model)
    scripted = WIRES[wire]
    if not stream:
        if scripted.body is None:
            raise ValueError(f"a scripted model speaks {wire!r} in streams only")
        return dataclasses.replace(json_reply(scripted.body(said)), **reply)
    steps = tuple(_paced(scripted.stream(said), pacing_seconds))
    return Reply(steps, **{"content_type": scripted.content_type, **reply})


def _paced(frames: Sequence[bytes], pacing_seconds: float) -> Iterator[Step]:
    for number, frame in enumerate(frames):
        if number and pacing_seconds > 0:
            yield Pause(pacing_seconds)
        yield Send(frame)
