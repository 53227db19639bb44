"""One message of a conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal, Self, TypeAlias

from pydantic import AfterValidator, Field, JsonValue, model_validator

from rxstream.requests.content import Content, RequestModel, TextContent, ToolResultContent

__all__ = ("Message", "Role")

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]

ALLOWED: Final[Mapping[Role, frozenset[str]]] = {
    "system": frozenset({"text", "native"}),
    "user": frozenset({"text", "image", "native"}),
    "assistant": frozenset({"text", "image", "reasoning", "tool_call", "native"}),
    "tool": frozenset({"tool_result", "native"}),
}
"""What the messages of each role may be made of."""


class Message(RequestModel):
    """One message.

    Args:
        role: who speaks: `system` instructs, `tool` brings the results of calls.
        content: its text, or its parts in their order.
    """

    role: Role
    content: str | Annotated[Sequence[Content], AfterValidator(tuple)] = Field(repr=False)

    @classmethod
    def system(cls, content: str | Sequence[Content]) -> Self:
        """Instructions."""
        return cls(role="system", content=content)

    @classmethod
    def user(cls, content: str | Sequence[Content]) -> Self:
        """What the user says."""
        return cls(role="user", content=content)

    @classmethod
    def assistant(cls, content: str | Sequence[Content]) -> Self:
        """What the model said. `Response.to_message()` makes it of an answer."""
        return cls(role="assistant", content=content)

    @classmethod
    def tool(cls, call_id: str, output: JsonValue, *, name: str | None = None, is_error: bool = False) -> Self:
        """What a tool gave back for the call `call_id`: text as it is, any other value as its JSON."""
        return cls(role="tool", content=(ToolResultContent.of(call_id, output, name=name, is_error=is_error),))

    @property
    def parts(self) -> tuple[Content, ...]:
        """Its content as a tuple of parts; none for an empty text."""
        if isinstance(self.content, str):
            return (TextContent(text=self.content),) if self.content else ()
        return tuple(self.content)

    @model_validator(mode="after")
    def _check_parts(self) -> Self:
        if isinstance(self.content, str):
            if self.role == "tool":
                raise ValueError("a tool message is made of tool results: use Message.tool(call_id, output)")
            return self
        kinds = {part.type for part in self.content}
        if wrong := sorted(kinds - ALLOWED[self.role]):
            raise ValueError(f"a {self.role} message has no place for {', '.join(wrong)}")
        return self
