"""Tools: functions of this program that a model may call, with arguments that were validated by their signature."""

from rxstream.tools.context import ToolContext, ToolError
from rxstream.tools.function_tool import FunctionTool, as_tools, tool

__all__ = ("FunctionTool", "ToolContext", "ToolError", "as_tools", "tool")
