"""What follows a turn: the next request, or the reason why there is none."""

from __future__ import annotations

from typing import Literal, TypeAlias

from rxstream.events import ToolResult, Violation
from rxstream.requests import Message, ModelRequest, NamedTool, ToolResultContent
from rxstream.response.response import Response

__all__ = ("Stopped", "next_request", "reason_to_stop", "turn_messages", "why_cut_short")

Stopped: TypeAlias = Literal["answered", "incomplete", "failed", "max_turns", "unanswered_call"]
"""Why a loop ended. `answered`: the model called no tool. `incomplete`, `failed`: what the last turn came to.
`max_turns`: it might have gone on. `unanswered_call`: a call was broken off, which no result can answer."""


def turn_messages(response: Response) -> tuple[Message, ...]:
    """A turn as messages of the next request: what the model said, and what its tools gave back.

    A result that is not `ok` goes back as an error with its text.

    Raises:
        RequestError: a call is not valid, or there is audio: no request has a place for either.
    """
    said = response.to_message()
    known = {call.call_id for call in response.tool_calls}
    results = [_content(result) for result in response.tool_results if result.call_id in known]
    return (said, Message(role="tool", content=results)) if results else (said,)


def _content(result: ToolResult) -> ToolResultContent:
    return ToolResultContent.of(result.call_id, result.output, name=result.name, is_error=result.outcome != "ok")


def next_request(request: ModelRequest, response: Response) -> ModelRequest:
    """The request of the next turn.

    A `tool_choice` that asks for a call was obeyed: held up, it would have the model call for ever.
    """
    following = request.then(*turn_messages(response))
    if following.tool_choice == "required" or isinstance(following.tool_choice, NamedTool):
        return following.model_copy(update={"tool_choice": None})
    return following


def reason_to_stop(response: Response, *, is_last: bool) -> Stopped | None:
    """Why no turn follows this one; None where one does.

    Args:
        response: the turn that has ended.
        is_last: there may be no further turn.
    """
    if response.outcome != "completed":
        return "incomplete" if response.outcome == "incomplete" else "failed"
    if not response.tool_calls:
        return "answered"
    answered = {result.call_id for result in response.tool_results}
    if not all(call.call_id in answered for call in response.tool_calls):
        return "unanswered_call"
    return "max_turns" if is_last else None


def why_cut_short(stopped: Stopped, turns: int) -> Violation | None:
    """What tells that the model was not asked to go on, though it would have."""
    if stopped == "max_turns":
        return Violation("max_turns", f"the model still calls tools after {turns} turns; raise max_turns to go on")
    if stopped == "unanswered_call":
        return Violation("unanswered_call", "a tool call was not valid, so that nothing can answer it")
    return None
