"""What an answer is made of, in its order: enough to send the same message back in the next request."""

from __future__ import annotations

import re
from base64 import b64decode
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from rxstream.events import ServerToolCall, ServerToolResult, ToolCall, ToolKind

__all__ = (
    "MediaPart",
    "ReasoningPart",
    "RefusalPart",
    "ResponsePart",
    "ResponseToolCall",
    "SignatureKind",
    "Signatures",
    "TextPart",
)

SignatureKind: TypeAlias = Literal["signature", "encrypted", "redacted"]

Signatures: TypeAlias = dict[SignatureKind, str]
"""What must go back with a part unchanged, by its kind; the pieces of one kind are concatenated in their order."""

PADDED_RUN = re.compile(r"[^=]+=*")


@dataclass(slots=True)
class TextPart:
    """A block of the answer's text."""

    text: str
    part_id: str = ""
    choice: int = 0
    signatures: Signatures = field(default_factory=dict)
    type: Literal["text"] = "text"


@dataclass(slots=True)
class ReasoningPart:
    """A block of reasoning: its text (empty where it is encrypted or redacted) and what must go back with it."""

    text: str
    part_id: str = ""
    choice: int = 0
    signatures: Signatures = field(default_factory=dict)
    type: Literal["reasoning"] = "reasoning"


@dataclass(slots=True)
class RefusalPart:
    """A block of a refusal."""

    text: str
    part_id: str = ""
    choice: int = 0
    signatures: Signatures = field(default_factory=dict)
    type: Literal["refusal"] = "refusal"


@dataclass(slots=True)
class MediaPart:
    """Audio or an image. `data` is the base64 text as it came, its pieces joined."""

    media_type: str
    data: str
    part_id: str = ""
    choice: int = 0
    signatures: Signatures = field(default_factory=dict)
    type: Literal["media"] = "media"

    def decode(self) -> bytes:
        """The bytes. Some wires pad every piece, so padding may stand in the middle.

        Raises:
            ValueError: `data` is not base64.
        """
        runs = (run.rstrip("=") for run in PADDED_RUN.findall(self.data))
        return b"".join(b64decode(run + "=" * (-len(run) % 4), validate=True) for run in runs)


@dataclass(slots=True)
class ResponseToolCall:
    """A call of the client's tool, in whatever state it ended.

    Args:
        call_id: its id; made by the decoder where the wire sent none.
        name: the tool's name.
        arguments: the raw text as it was sent, also where it is broken off.
        valid: the call was closed by the wire and its arguments are whole. Nothing else may run.
        kind: `function` arguments are JSON, `custom` input is free text.
        reason: why it is not valid; None where it is.
    """

    call_id: str
    name: str
    arguments: str
    valid: bool
    kind: ToolKind = "function"
    reason: str | None = None
    part_id: str = ""
    choice: int = 0
    signatures: Signatures = field(default_factory=dict)
    type: Literal["tool_call"] = "tool_call"

    @property
    def parsed(self) -> Any:
        """The arguments as a tool gets them: `{}` for none or null, the free text of a `custom` call.

        Raises:
            ValueError: the call is not valid, so that it has no arguments that a tool may get.
        """
        if not self.valid:
            raise ValueError(f"the call {self.call_id!r} of {self.name!r} must not run: {self.reason}")
        return ToolCall(self.call_id, self.name, self.arguments, self.kind).parsed


ResponsePart: TypeAlias = (
    TextPart | ReasoningPart | RefusalPart | MediaPart | ResponseToolCall | ServerToolCall | ServerToolResult
)
"""One part of an answer; `type` tells which."""
