"""What a request asks for besides an answer: tools, a format, reasoning."""

from __future__ import annotations

import builtins
from typing import Any, Literal, Self, TypeAlias

from pydantic import BaseModel, Field, model_validator

from rxstream.requests.content import RequestModel

__all__ = (
    "JsonSchemaFormat",
    "NamedTool",
    "ReasoningEffort",
    "ReasoningOptions",
    "ResponseFormat",
    "Tool",
    "ToolChoice",
)


class Tool(RequestModel):
    """A tool that the model may call, and this program runs.

    Args:
        name: what the model calls it.
        description: what it does and when to use it.
        parameters: the JSON Schema of its arguments; an object without properties by default.
        strict: the provider is to enforce the schema; None leaves it to the provider's default.
    """

    name: str
    description: str | None = None
    parameters: dict[str, Any] = Field(default={"type": "object", "properties": {}})
    strict: bool | None = None


class NamedTool(RequestModel):
    """The one tool that the model must call."""

    name: str


ToolChoice: TypeAlias = Literal["auto", "none", "required"] | NamedTool
"""Whether the model may call tools, must not, must call some, or must call one by name."""


class JsonSchemaFormat(RequestModel):
    """JSON that fits a schema.

    Args:
        name: a name for it, which some providers ask for.
        schema: the JSON Schema; the attribute is `json_schema`.
        description: what it is for.
        strict: the provider is to enforce the schema; None leaves it to the provider's default.
    """

    type: Literal["json_schema"] = "json_schema"
    name: str = "answer"
    json_schema: dict[str, Any] = Field(alias="schema")
    description: str | None = None
    strict: bool | None = None

    @classmethod
    def of(cls, model: builtins.type[BaseModel], *, strict: bool | None = None) -> Self:
        """The schema of a pydantic model, by the model's name and docstring."""
        schema = model.model_json_schema()
        return cls(name=model.__name__, schema=schema, description=schema.get("description"), strict=strict)


ResponseFormat: TypeAlias = Literal["text", "json_object"] | JsonSchemaFormat
"""Free text, some JSON object, or JSON that fits a schema."""


ReasoningEffort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


class ReasoningOptions(RequestModel):
    """How much the model is to think.

    Args:
        effort: in a word; `none` turns reasoning off.
        budget_tokens: the most tokens of reasoning.
    """

    effort: ReasoningEffort | None = None
    budget_tokens: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _check_agreement(self) -> Self:
        if self.effort == "none" and self.budget_tokens is not None:
            raise ValueError("reasoning that is turned off has no budget")
        return self
