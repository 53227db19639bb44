"""The rules by which the AI SDK's client reads a UI message stream, as a small state machine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

TYPES = frozenset(
    (
        *("start", "start-step", "finish-step", "finish", "error", "abort"),
        *("text-start", "text-delta", "text-end", "reasoning-start", "reasoning-delta", "reasoning-end"),
        *("tool-input-start", "tool-input-delta", "tool-input-available", "tool-input-error"),
        *("tool-output-available", "tool-output-error", "source-url", "file", "data-annotation"),
    )
)


class UIClient:
    """Read parts one by one; what the client would refuse is an `AssertionError`."""

    def __init__(self) -> None:
        self.texts: list[tuple[str, str]] = []
        self.calls: dict[str, dict[str, Any]] = {}
        self.signatures: list[dict[str, str]] = []
        self.others: list[dict[str, Any]] = []
        self.finish: dict[str, Any] | None = None
        self.error: str | None = None
        self.is_aborted = False
        self.steps = 0
        self._has_started = False
        self._in_step = False
        self._open: dict[str, tuple[str, list[str]]] = {}
        self._used: set[str] = set()

    def read(self, parts: Iterable[dict[str, Any]]) -> UIClient:
        for part in parts:
            assert part["type"] in TYPES, part
            assert self.finish is None, "nothing follows finish"
            assert not self.is_aborted, "nothing follows abort"
            assert self._has_started == (part["type"] != "start"), "start is the first part, and the only one"
            self._take(part)
        return self

    def _take(self, part: dict[str, Any]) -> None:
        kind, _, step = part["type"].rpartition("-")
        if part["type"] in ("start", "finish", "error", "abort", "start-step", "finish-step"):
            self._control(part)
            return
        assert self._in_step, f"{part['type']} outside a step"
        if kind in ("text", "reasoning"):
            self._piece(kind, step, part)
        elif part["type"].startswith("tool-"):
            self._tool(part)
        else:
            self.others.append(part)

    def _control(self, part: dict[str, Any]) -> None:
        match part["type"]:
            case "start":
                self._has_started = True
            case "start-step":
                assert not self._in_step
                self._in_step = True
                self.steps += 1
            case "finish-step":
                assert self._in_step
                assert not self._open, "an open part at the end of its step"
                self._in_step = False
            case "finish":
                assert not self._in_step
                assert part["finishReason"] in ("stop", "length", "content-filter", "tool-calls", "error", "other")
                self.finish = part
            case "error":
                self.error = part["errorText"]
            case _:
                self.is_aborted = True

    def _piece(self, kind: str, step: str, part: dict[str, Any]) -> None:
        if step == "start":
            assert part["id"] not in self._used, "an id is used once"
            self._used.add(part["id"])
            self._open[part["id"]] = (kind, [])
            return
        assert self._open[part["id"]][0] == kind, "a piece of a part that is not open"
        if step == "delta":
            self._open[part["id"]][1].append(part["delta"])
            return
        self.texts.append((kind, "".join(self._open.pop(part["id"])[1])))
        if "providerMetadata" in part:
            self.signatures.append(part["providerMetadata"]["rxstream"])

    def _tool(self, part: dict[str, Any]) -> None:
        call_id = part["toolCallId"]
        if part["type"] == "tool-input-start":
            self.calls[call_id] = {"name": part["toolName"], "text": "", "state": "open"}
            assert part["toolName"]
            return
        if part["type"] in ("tool-input-available", "tool-input-error") and call_id not in self.calls:
            self.calls[call_id] = {"name": part["toolName"], "text": ""}
        call = self.calls[call_id]
        if part["type"] == "tool-input-delta":
            assert call["state"] == "open"
            call["text"] += part["inputTextDelta"]
        else:
            call.update(state=part["type"].removeprefix("tool-"))
            call.update({key: part[key] for key in ("input", "output", "errorText", "providerExecuted") if key in part})

    def text_of(self, kind: str) -> str:
        """All closed texts of a kind."""
        return "".join(text for of_kind, text in self.texts if of_kind == kind)
