"""What a message is made of: text, images, tool calls and their results, reasoning that goes back.

Content is never shown by `repr`, which tells the structure only: requests are logged, prompts must not be.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    model_validator,
)
from pydantic_core import to_json

from rxstream.events import ToolCall, ToolKind

__all__ = (
    "Content",
    "ImageContent",
    "NativeContent",
    "ReasoningContent",
    "RequestModel",
    "SignatureKind",
    "TextContent",
    "ToolCallContent",
    "ToolResultContent",
)

SignatureKind: TypeAlias = Literal["signature", "encrypted", "redacted"]

Signatures = Annotated[Mapping[SignatureKind, str], Field(repr=False)]
"""What the provider wants back unchanged with a part, by its kind."""

BASE64_MARK = ";base64"


class RequestModel(BaseModel):
    """What all parts of a request share: they do not change, and their errors do not quote what was put in."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class TextContent(RequestModel):
    """A piece of text."""

    type: Literal["text"] = "text"
    text: str = Field(repr=False)
    signatures: Signatures = {}


class ImageContent(RequestModel):
    """An image: where it is, or its bytes as base64.

    Args:
        url: its address; a `data:` URL in base64 is taken apart into the other two.
        data: its bytes as base64.
        media_type: what `data` is, such as `image/png`.
        signatures: what came with it, by kind, where a model had made it.
    """

    type: Literal["image"] = "image"
    url: str | None = Field(default=None, repr=False)
    data: str | None = Field(default=None, repr=False)
    media_type: str | None = None
    signatures: Signatures = {}

    @classmethod
    def from_bytes(cls, data: bytes, media_type: str) -> Self:
        """The image whose bytes are `data`."""
        return cls(data=base64.b64encode(data).decode(), media_type=media_type)

    @property
    def as_url(self) -> str:
        """Its address, or a `data:` URL of its bytes."""
        return self.url if self.url is not None else f"data:{self.media_type}{BASE64_MARK},{self.data}"

    @model_validator(mode="before")
    @classmethod
    def _take_data_url_apart(cls, fields: Any) -> Any:
        url = fields.get("url") if isinstance(fields, dict) else None
        if not isinstance(url, str) or url[:5].lower() != "data:" or fields.get("data") is not None:
            return fields
        head, _, data = url[5:].partition(",")
        if not head.endswith(BASE64_MARK):
            raise ValueError("a data: URL of an image must be in base64")
        return {**fields, "url": None, "data": data, "media_type": head.removesuffix(BASE64_MARK)}

    @model_validator(mode="after")
    def _check_one_form(self) -> Self:
        if (self.url is None) == (self.data is None) or (self.data is None) != (not self.media_type):
            raise ValueError("an image is either url, or data together with media_type")
        return self


class ReasoningContent(RequestModel):
    """Reasoning of an earlier answer, as it came: providers check it against its signature.

    Args:
        text: its text; empty where it is encrypted or redacted.
        signatures: what came with it, by kind.
    """

    type: Literal["reasoning"] = "reasoning"
    text: str = Field(default="", repr=False)
    signatures: Signatures = {}


class ToolCallContent(RequestModel):
    """A call of an earlier answer.

    Args:
        call_id: its id.
        name: the tool's name.
        arguments: their raw text as it came; JSON for `function`, and empty stands for no arguments.
        kind: `function` arguments are JSON, `custom` input is free text.
        signatures: what came with it, by kind.
    """

    type: Literal["tool_call"] = "tool_call"
    call_id: str
    name: str
    arguments: str = Field(default="", repr=False)
    kind: ToolKind = "function"
    signatures: Signatures = {}

    @property
    def parsed(self) -> Any:
        """The arguments as a value: `{}` for none or null, the free text of a `custom` call.

        Raises:
            ValueError: they are not JSON.
        """
        return ToolCall(self.call_id, self.name, self.arguments, self.kind).parsed


ResultContent: TypeAlias = Annotated[TextContent | ImageContent, Discriminator("type")]


class ToolResultContent(RequestModel):
    """What a tool gave back.

    Args:
        call_id: the call it answers.
        content: text, or a list of text and images.
        name: the tool's name, which some providers ask for.
        is_error: the tool failed, and `content` says how.
    """

    type: Literal["tool_result"] = "tool_result"
    call_id: str
    content: str | Annotated[Sequence[ResultContent], AfterValidator(tuple)] = Field(default="", repr=False)
    name: str | None = None
    is_error: bool = False

    @classmethod
    def of(cls, call_id: str, output: JsonValue, *, name: str | None = None, is_error: bool = False) -> Self:
        """The result of a call: text as it is, any other value as its JSON."""
        text = output if isinstance(output, str) else to_json(output).decode()
        return cls(call_id=call_id, content=text, name=name, is_error=is_error)

    @property
    def parts(self) -> tuple[TextContent | ImageContent, ...]:
        """Its content as a tuple of parts."""
        return (TextContent(text=self.content),) if isinstance(self.content, str) else tuple(self.content)


class NativeContent(RequestModel):
    """A part in the provider's own words, sent as it is: a document, audio, a mark for its cache."""

    type: Literal["native"] = "native"
    data: dict[str, Any] = Field(repr=False)


Content: TypeAlias = Annotated[
    TextContent | ImageContent | ReasoningContent | ToolCallContent | ToolResultContent | NativeContent,
    Discriminator("type"),
]
"""One part of a message; `type` tells which."""
