"""What a stream of events comes to: the answer as far as it is known, and how much it may be trusted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from pydantic import JsonValue

from rxstream.errors import TruncatedStreamError
from rxstream.events import (
    Annotation,
    CancelCause,
    FinishReason,
    ProviderEvent,
    ServerToolCall,
    ServerToolResult,
    ToolResult,
    Usage,
    Violation,
)
from rxstream.response.error_json import error_json_object
from rxstream.response.parts import MediaPart, ResponsePart, ResponseToolCall
from rxstream.response.report import StreamReport
from rxstream.response.usage import usage_json

if TYPE_CHECKING:
    from rxstream.requests import Message

__all__ = ("Outcome", "Response", "ResponseChoice")

Outcome: TypeAlias = Literal["running", "completed", "incomplete", "failed", "cancelled", "indeterminate"]
"""How an answer ended.

`running` stands in snapshots only. `completed`: the model said that it was done. `incomplete`: it said that it was cut
(length, filter), or something on the way was dropped. `failed`: provider, transport or a bound of ours. `cancelled`: on
purpose. `indeterminate`: the stream ended, and nobody said how the answer did.
"""


@dataclass(slots=True)
class ResponseChoice:
    """One of several answers to the same request; the fields mean what they mean on `Response`."""

    choice: int = 0
    outcome: Outcome = "running"
    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    tool_calls: list[ResponseToolCall] = field(default_factory=list)
    finish_reason: FinishReason | None = None
    finish_reason_raw: str | int | None = None
    finish_detail: JsonValue = None
    parts: list[ResponsePart] = field(default_factory=list)

    def to_json_object(self) -> dict[str, JsonValue]:
        """This choice as one JSON object."""
        return {
            "choice": self.choice,
            "outcome": self.outcome,
            "text": self.text,
            "reasoning": self.reasoning,
            "refusal": self.refusal,
            "tool_calls": [_call_json_object(call) for call in self.tool_calls],
            "finish_reason": self.finish_reason,
            "finish_reason_raw": self.finish_reason_raw,
        }


@dataclass(slots=True)
class Response:
    """The answer, whatever became of it. Text, calls, parts and finish are those of the first choice.

    Args:
        outcome: how it ended; only `completed` is a whole answer.
        provisional: nothing has confirmed the content: the stream still runs, or it ended without the model's word
            (`failed`, `cancelled`, `indeterminate`).
        text: the text parts, joined in the order in which they began.
        reasoning: the reasoning parts, joined likewise.
        refusal: the refusal parts, joined likewise.
        tool_calls: the client's calls in order of first appearance; run only those that are `valid`.
        tool_results: what the client's tools gave back in this stream.
        server_tool_calls: calls that the provider ran itself.
        server_tool_results: what those gave back.
        annotations: citations and sources.
        media: audio and images.
        parts: everything the answer is made of, in order of first appearance, with ids and signatures.
        finish_reason: why the model stopped, in our words; None where it did not say.
        finish_reason_raw: the same as the wire said it.
        finish_detail: what the wire added to it.
        usage: token counts; a count is None where it is unknown.
        response_id: the provider's id of the (last) message.
        model: the model that answered, as the provider names it.
        provider: the provider, where the stream says.
        choices: every choice, where there is more than one; else empty.
        violations: rules that the wire or an overflow policy broke, and then every failed check.
        failed_checks: the failed checks alone: where the finished response does not agree with itself.
        provider_events: what the wire said that has no event of its own.
        error: what ended the stream, for `failed` and `indeterminate`.
        report: how far the stream came; None in a snapshot.
        cancel_cause: who cancelled, for `cancelled`.
    """

    outcome: Outcome = "running"
    provisional: bool = True
    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    tool_calls: list[ResponseToolCall] = field(default_factory=list)
    tool_results: list[ToolResult] = field(default_factory=list)
    server_tool_calls: list[ServerToolCall] = field(default_factory=list)
    server_tool_results: list[ServerToolResult] = field(default_factory=list)
    annotations: list[Annotation] = field(default_factory=list)
    media: list[MediaPart] = field(default_factory=list)
    parts: list[ResponsePart] = field(default_factory=list)
    finish_reason: FinishReason | None = None
    finish_reason_raw: str | int | None = None
    finish_detail: JsonValue = None
    usage: Usage = field(default_factory=Usage)
    response_id: str | None = None
    model: str | None = None
    provider: str | None = None
    choices: list[ResponseChoice] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    failed_checks: list[Violation] = field(default_factory=list)
    provider_events: list[ProviderEvent] = field(default_factory=list)
    error: Exception | None = None
    report: StreamReport | None = None
    cancel_cause: CancelCause | None = None

    def raise_for_outcome(self) -> Response:
        """Return itself, unless the answer failed or nobody knows how it ended.

        Raises:
            StreamError: what ended the stream (or the exception that a part of the pipeline raised).
        """
        if self.outcome not in ("failed", "indeterminate"):
            return self
        raise self.error or TruncatedStreamError()

    def to_message(self) -> Message:
        """The answer as a message, to be sent back in the next request with all that must go back with it.

            request = request.then(response.to_message(), rxs.Message.tool(call.call_id, output))

        It holds the first choice's text, refusal, reasoning, calls and images, with their signatures. Calls that the
        provider ran itself, and their results, are left out.

        Raises:
            RequestError: a call is not valid, or there is audio: no request has a place for either.
        """
        from rxstream.response.history import message_of  # rarely asked, and its models take time to build

        return message_of(self.parts)

    def to_json_object(self) -> dict[str, JsonValue]:
        """The response as one JSON object, as `rxstream replay --as response` prints it.

        `choices` stands in it where there is more than one. Every count of `usage` is there, null where it is unknown.
        """
        shown: dict[str, JsonValue] = {
            "outcome": self.outcome,
            "text": self.text,
            "reasoning": self.reasoning,
            "refusal": self.refusal,
            "tool_calls": [_call_json_object(call) for call in self.tool_calls],
            "finish_reason": self.finish_reason,
            "finish_reason_raw": self.finish_reason_raw,
            "usage": usage_json(self.usage),
        }
        if len(self.choices) > 1:
            shown["choices"] = [choice.to_json_object() for choice in self.choices]
        shown["violations"] = [_violation_json_object(violation) for violation in self.violations]
        shown["error"] = None if self.error is None else error_json_object(self.error)
        return shown


def _call_json_object(call: ResponseToolCall) -> JsonValue:
    return {"call_id": call.call_id, "name": call.name, "arguments": call.arguments, "valid": call.valid}


def _violation_json_object(violation: Violation) -> JsonValue:
    return {
        "code": violation.code,
        "message": violation.message,
        "count": violation.count,
        "choice": violation.choice,
    }
