"""Tools and which of them must be called, as OpenAI's two APIs have them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from rxstream.gateway.readers.content import check_unique
from rxstream.gateway.readers.node import Fields, Node
from rxstream.requests import NamedTool, Tool, ToolChoice

__all__ = ("ONLY_FUNCTIONS", "ToolUse", "read_function", "read_tool_choice", "read_tools")

CHOICES: Final = ("none", "auto", "required")

MODES: Final = ("auto", "required")

ONLY_FUNCTIONS: Final = "only functions can be carried: define it as a function, or ask a provider that runs it itself"


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The tools of a request, and whether they must be called; None and none where nothing is said."""

    tools: tuple[Tool, ...] = ()
    choice: ToolChoice | None = None

    def limited_to(self, allowed: Iterable[tuple[Node, str]], mode: ToolChoice) -> ToolUse:
        """The same with no more than the allowed tools: a model that sees no others can call no others."""
        known = {tool.name for tool in self.tools}
        names = set()
        for node, name in allowed:
            if name not in known:
                raise node.refuse("names a tool that is not among tools")
            names.add(name)
        return ToolUse(tuple(tool for tool in self.tools if tool.name in names), mode)


def read_tools(node: Node | None, read: Callable[[Fields], Tool]) -> tuple[Tool, ...]:
    """The tools of a body, each by a name of its own.

    Args:
        node: the list; None where there is none.
        read: reads one.
    """
    if node is None:
        return ()
    tools = []
    for entry in node.entries():
        with entry.fields() as fields:
            tools.append(read(fields))
    check_unique(node, (tool.name for tool in tools), "the name of a tool")
    return tuple(tools)


def read_function(fields: Fields) -> Tool:
    """A function: its name, what it does, its parameters."""
    said: dict[str, Any] = {"name": fields.need("name").name()}
    if (description := fields.take("description")) is not None:
        said["description"] = description.text()
    if (parameters := fields.take("parameters")) is not None:
        said["parameters"] = parameters.object()
    if (strict := fields.take("strict")) is not None:
        said["strict"] = strict.flag()
    return Tool(**said)


def read_tool_choice(
    node: Node | None, tools: tuple[Tool, ...], read_name: Callable[[Fields], Node], read_allowed: Callable[..., Fields]
) -> ToolUse:
    """Which tools may and must be called: a word, one tool by its name, or a list of those that are allowed.

    Args:
        node: what the body says; None where it says nothing.
        tools: the body's tools.
        read_name: takes the name of a tool out of the object that names it.
        read_allowed: the fields that hold `mode` and `tools`, from those of the choice.
    """
    if node is None:
        return ToolUse(tools)
    if node.is_text:
        return ToolUse(tools, node.word(CHOICES))
    with node.fields() as fields:
        kind = fields.need("type")
        if kind.value == "allowed_tools":
            with read_allowed(fields) as allowed:
                return _allowed(allowed, tools, read_name)
        if kind.value != "function":
            raise kind.refuse(ONLY_FUNCTIONS)
        return _named(read_name(fields), tools)


def _named(node: Node, tools: tuple[Tool, ...]) -> ToolUse:
    name = node.name()
    if name not in {tool.name for tool in tools}:
        raise node.refuse("names a tool that is not among tools")
    return ToolUse(tools, NamedTool(name=name))


def _allowed(fields: Fields, tools: tuple[Tool, ...], read_name: Callable[[Fields], Node]) -> ToolUse:
    mode: ToolChoice = fields.need("mode").word(MODES)
    allowed = []
    for entry in fields.need("tools").entries():
        with entry.fields() as said:
            kind = said.need("type")
            if kind.value != "function":
                raise kind.refuse(ONLY_FUNCTIONS)
            name = read_name(said)
            allowed.append((name, name.name()))
    return ToolUse(tools).limited_to(allowed, mode)
