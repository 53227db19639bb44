"""Tools in the UI message stream: every call is opened before anything is said of it, and said to be whole or not."""

from __future__ import annotations

from typing import Any, TypeAlias

from pydantic import JsonValue
from pydantic_core import from_json

from rxstream.encoders.frames import json_bytes
from rxstream.events import (
    ServerToolCall,
    ServerToolResult,
    ToolCall,
    ToolCallDelta,
    ToolCallInvalid,
    ToolCallStart,
    ToolResult,
)

__all__ = ("UICalls", "UIPart")

UIPart: TypeAlias = dict[str, Any]

UNNAMED = "unknown"
UNFINISHED = "the call was never completed"
NOT_JSON = "the arguments are not JSON"
UNCERTAIN = "nobody can say whether the tool had its effect"


class UICalls:
    """The calls of one stream; each method gives the parts to send."""

    __slots__ = ("_open", "_signatures", "_skipped", "_told")

    def __init__(self) -> None:
        self._open: dict[str, ToolCallStart] = {}  # bounded as the stream's calls are: Limits.max_tool_calls
        self._told: set[str] = set()  # likewise: calls whose input the client has
        self._skipped: set[str] = set()  # likewise: calls with pieces that came before their start
        self._signatures: dict[str, dict[str, str]] = {}  # likewise

    def is_open_at(self, part_id: str) -> str | None:
        """The id of the open call in a part, for a signature that belongs to it."""
        return next((call_id for call_id, call in self._open.items() if part_id and call.part_id == part_id), None)

    def sign(self, call_id: str, kind: str, data: str) -> None:
        """Keep what must go back with a call until its input is told."""
        signatures = self._signatures.setdefault(call_id, {})
        signatures[kind] = signatures.get(kind, "") + data

    def start(self, event: ToolCallStart) -> list[UIPart]:
        if event.call_id in self._open or event.call_id in self._skipped or not event.name:
            return []
        self._told.discard(event.call_id)
        return self._begin(event)

    def _begin(self, event: ToolCallStart) -> list[UIPart]:
        self._open[event.call_id] = event
        return [{"type": "tool-input-start", "toolCallId": event.call_id, "toolName": event.name}]

    def add(self, event: ToolCallDelta) -> list[UIPart]:
        if event.call_id not in self._open:
            self._skipped.add(event.call_id)
            return []
        if not event.arguments:
            return []
        return [{"type": "tool-input-delta", "toolCallId": event.call_id, "inputTextDelta": event.arguments}]

    def close(self, event: ToolCall | ToolCallInvalid) -> list[UIPart]:
        parts: list[UIPart] = []
        if event.call_id not in self._open:
            if event.call_id in self._told:
                return []
            parts += self._begin(ToolCallStart(event.call_id, event.name or UNNAMED, event.kind, event.part_id))
        started = self._open.pop(event.call_id)
        self._skipped.discard(event.call_id)
        self._told.add(event.call_id)
        about: UIPart = {"toolCallId": event.call_id, "toolName": started.name}
        if isinstance(event, ToolCallInvalid):
            return [*parts, _input_error(about, event.arguments, event.reason)]
        try:
            value = event.parsed
        except ValueError:  # who made the event did not look
            return [*parts, _input_error(about, event.arguments, NOT_JSON)]
        if signatures := self._signatures.pop(event.call_id, None):
            about["providerMetadata"] = {"rxstream": signatures}
        return [*parts, {"type": "tool-input-available", **about, "input": value}]

    def close_all(self) -> list[UIPart]:
        """What nobody closed is no call that may run."""
        parts = [
            _input_error({"toolCallId": call_id, "toolName": call.name}, None, UNFINISHED)
            for call_id, call in self._open.items()
        ]
        self._told.update(self._open)
        self._open = {}
        return parts

    def result(self, event: ToolResult) -> list[UIPart]:
        parts = self._introduce(event.call_id, event.name, {})
        if event.outcome == "ok":
            return [*parts, {"type": "tool-output-available", "toolCallId": event.call_id, "output": event.output}]
        text = UNCERTAIN if event.outcome == "unknown" else _as_text(event.output)
        return [*parts, {"type": "tool-output-error", "toolCallId": event.call_id, "errorText": text}]

    def server_call(self, event: ServerToolCall) -> list[UIPart]:
        """A tool that the provider runs. It may be told twice, the second time with more: the client replaces it."""
        about = {"toolCallId": event.call_id, "toolName": event.name or UNNAMED, "providerExecuted": True}
        start = [] if event.call_id in self._told else [{"type": "tool-input-start", **about}]
        self._told.add(event.call_id)
        return [*start, {"type": "tool-input-available", **about, "input": _as_value(event.arguments)}]

    def server_result(self, event: ServerToolResult) -> list[UIPart]:
        of_provider = {"providerExecuted": True}
        parts = self._introduce(event.call_id, event.name, of_provider)
        output = {"type": "tool-output-available", "toolCallId": event.call_id, "output": event.output}
        return [*parts, {**output, **of_provider}]

    def _introduce(self, call_id: str, name: str, more: UIPart) -> list[UIPart]:
        """The client refuses a result of a call that it does not know (the call may be in an answer before)."""
        if call_id in self._told:
            return []
        self._told.add(call_id)
        self._open.pop(call_id, None)
        about = {"toolCallId": call_id, "toolName": name or UNNAMED, **more}
        return [{"type": "tool-input-available", **about, "input": {}}]


def _input_error(about: UIPart, raw: str | None, reason: str) -> UIPart:
    return {"type": "tool-input-error", **about, "input": raw, "errorText": reason}


def _as_text(output: JsonValue) -> str:
    return output if isinstance(output, str) else json_bytes(output).decode()


def _as_value(arguments: str | None) -> JsonValue:
    if arguments is None or not arguments.strip():
        return {}
    try:
        value: JsonValue = from_json(arguments, allow_inf_nan=False)
    except ValueError:
        return arguments
    return value
