"""Whole answers of a scripted model, as replies of a scripted provider.

async with ScriptedProvider(answer("Hel", "lo", wire="anthropic")) as provider: ...
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rxstream.events import FinishReason, ToolCall, Usage
from rxstream.testing.script import Reply
from rxstream.testing.steps import Pause, Send, Step
from rxstream.testing.wires import WIRES, Answer

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
    **reply: Any,
) -> Reply:
    """A whole, well-formed answer: one HTTP chunk for each frame.

    Args:
        text: the pieces of the text, one delta each.
        wire: `"openai-chat"` or `"anthropic"`.
        reasoning: the pieces of the reasoning, before the text.
        tool_calls: calls of the client's tools, after the text.
        usage: token counts.
        finish: why the model stopped; None is `tool_calls` where there are any, else `stop`.
        model: the model's name.
        pacing_seconds: pause between two frames, in seconds of the loop's clock.
        reply: more arguments of `Reply`, such as `framing` or `encoding`.

    Raises:
        ValueError: no such wire, or the wire has no word for `finish`.
    """
    if wire not in WIRES:
        raise ValueError(f"no scripted model speaks {wire!r}: one of {', '.join(WIRES)}")
    said = Answer(text, reasoning, tool_calls, usage, finish, model)
    return Reply(tuple(_paced(WIRES[wire](said), pacing_seconds)), **reply)


def _paced(frames: Sequence[bytes], pacing_seconds: float) -> Iterator[Step]:
    for number, frame in enumerate(frames):
        if number and pacing_seconds > 0:
            yield Pause(pacing_seconds)
        yield Send(frame)
