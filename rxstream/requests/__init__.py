"""Requests in one vocabulary; each provider's file makes its own of them."""

from rxstream.requests.content import (
    Content,
    ImageContent,
    NativeContent,
    ReasoningContent,
    TextContent,
    ToolCallContent,
    ToolResultContent,
)
from rxstream.requests.message import Message, Role
from rxstream.requests.model_request import ModelRequest
from rxstream.requests.options import JsonSchemaFormat, NamedTool, ReasoningOptions, ResponseFormat, Tool, ToolChoice

__all__ = (
    "Content",
    "ImageContent",
    "JsonSchemaFormat",
    "Message",
    "ModelRequest",
    "NamedTool",
    "NativeContent",
    "ReasoningContent",
    "ReasoningOptions",
    "ResponseFormat",
    "Role",
    "TextContent",
    "Tool",
    "ToolCallContent",
    "ToolChoice",
    "ToolResultContent",
)
