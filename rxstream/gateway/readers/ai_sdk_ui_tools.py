"""A tool in an answer that a page of the AI SDK keeps: its call and, by its state, what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from pydantic_core import to_json

from rxstream.gateway.readers.node import Fields, Node
from rxstream.requests import ToolCallContent, ToolResultContent
from rxstream.requests.content import SignatureKind

__all__ = ("read_tool_part",)

UNANSWERED: Final = ("input-streaming", "input-available", "approval-requested")
"""The states of a call that has no result: no provider takes one back."""

STATES: Final = (*UNANSWERED, "approval-responded", "output-available", "output-error", "output-denied")

SHOWN: Final = ("title", "preliminary", "toolMetadata", "resultProviderMetadata", "callId")

DENIED: Final = "the user did not allow the call"

ReadSignatures = Callable[[Node | None], dict[SignatureKind, str]]


def read_tool_part(
    entry: Node, kind: str, read_signatures: ReadSignatures
) -> Iterator[ToolCallContent | ToolResultContent]:
    """The call and its result; neither where the call was not whole, or nobody answered it.

    Args:
        entry: the part.
        kind: its type: `tool-` and the tool's name, or `dynamic-tool`.
        read_signatures: takes out of a part's metadata what must go back with it.
    """
    with entry.fields() as fields:
        fields.ignore("type", *SHOWN)
        named = fields.take("toolName")
        name = (named or fields.need("toolName")).name() if kind == "dynamic-tool" else kind.removeprefix("tool-")
        if not name:
            raise entry.refuse("the tool has no name")
        call_id, state = fields.need("toolCallId").name(), fields.need("state").word(STATES)
        signatures = read_signatures(fields.take("callProviderMetadata"))
        arguments = _arguments(fields)
        call = ToolCallContent(call_id=call_id, name=name, signatures=signatures, arguments=arguments or "")
        provider_ran = fields.take("providerExecuted")
        result = _result(fields, call, state)
    if result is not None and arguments is not None and not (provider_ran is not None and provider_ran.flag()):
        yield call
        yield result


def _arguments(fields: Fields) -> str | None:
    """What the tool got, as its JSON. None for a text: that is what never became JSON, and no tool has seen it."""
    value, raw = fields.take("input"), fields.take("rawInput")
    if raw is not None or (value is not None and value.is_text):
        return None
    return "" if value is None else to_json(value.value).decode()


def _result(fields: Fields, call: ToolCallContent, state: str) -> ToolResultContent | None:
    output, problem = fields.take("output"), fields.text("errorText")
    is_allowed = _approval(fields.take("approval"))
    if state == "output-available":
        value = None if output is None else output.value
        return ToolResultContent.of(call.call_id, value, name=call.name)
    if state == "output-error":
        return ToolResultContent.of(call.call_id, problem, name=call.name, is_error=True)
    if state == "output-denied" or (state == "approval-responded" and is_allowed is False):
        return ToolResultContent.of(call.call_id, DENIED, name=call.name, is_error=True)
    return None


def _approval(node: Node | None) -> bool | None:
    if node is None:
        return None
    with node.fields() as fields:
        fields.ignore("id", "reason", "isAutomatic", "signature")
        approved = fields.take("approved")
        return None if approved is None else approved.flag()
