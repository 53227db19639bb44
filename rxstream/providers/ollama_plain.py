"""The short way for a line of Ollama that is one piece of text or reasoning and nothing else.

The JSON parser itself proves what a line is: its message to the last key, and of the line that nothing is in it which
makes it more. Keys of the line that are not named here are skipped unread: the long way looks at those, in the first
line and in every one that is not plain.

Measured on a line of 120 bytes: 1.0 us, where `from_json` and an event take 0.8. So the lines of a chat, which
differ in their time and their text only, are recognized by the bytes around these.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal, Required

from pydantic import ConfigDict, Field, TypeAdapter, with_config
from typing_extensions import TypedDict

from rxstream.events import Event, ReasoningDelta, TextDelta

__all__ = ("PlainLine", "StampedTemplate", "chat_text", "plain_line")

STAMP: Final = rb"[0-9T:.Z+-]*"
"""What a time has in RFC 3339: nothing that means anything inside a JSON string."""

ASCII_TEXT: Final = rb'([^"\\\x00-\x1f\x80-\xff]+)'
"""What stands for itself inside a JSON string."""

PLAIN_TEXT: Final = re.compile(ASCII_TEXT).fullmatch

MAX_LESSONS: Final = 8
"""So often the bytes around a text are learned; a stream in which they go on changing is read as JSON."""

_Text = Annotated[str, Field(min_length=1)]
_EXACT: Final = ConfigDict(extra="forbid")


class _Line(TypedDict, total=False):
    done: Required[Literal[False]]
    error: None
    logprobs: None


@with_config(_EXACT)
class _TextMessage(TypedDict, total=False):
    role: str
    content: Required[_Text]
    thinking: Literal[""] | None
    tool_calls: None


@with_config(_EXACT)
class _ThinkingMessage(TypedDict, total=False):
    role: str
    content: Literal[""] | None
    thinking: Required[_Text]
    tool_calls: None


class _ChatText(_Line, total=False):
    message: Required[_TextMessage]


class _ChatThinking(_Line, total=False):
    message: Required[_ThinkingMessage]


class _GeneratedText(_Line, total=False):
    response: Required[_Text]
    thinking: Literal[""] | None
    message: None
    tool_calls: None


class _GeneratedThinking(_Line, total=False):
    response: Literal[""] | None
    thinking: Required[_Text]
    message: None
    tool_calls: None


_read_chat_text: Final = TypeAdapter(_ChatText).validator.validate_json
_read_chat_thinking: Final = TypeAdapter(_ChatThinking).validator.validate_json
_read_generated_text: Final = TypeAdapter(_GeneratedText).validator.validate_json
_read_generated_thinking: Final = TypeAdapter(_GeneratedThinking).validator.validate_json


def chat_text(payload: Any, part_id: str) -> Event:
    """A line of `/api/chat` that is one piece of text."""
    return TextDelta(_read_chat_text(payload)["message"]["content"], part_id)


def _chat_thinking(payload: Any, part_id: str) -> Event:
    return ReasoningDelta(_read_chat_thinking(payload)["message"]["thinking"], part_id)


def _generated_text(payload: Any, part_id: str) -> Event:
    return TextDelta(_read_generated_text(payload)["response"], part_id)


def _generated_thinking(payload: Any, part_id: str) -> Event:
    return ReasoningDelta(_read_generated_thinking(payload)["thinking"], part_id)


class StampedTemplate:
    """The bytes around a time and a text, in lines that differ in these only: such a line needs no JSON.

    Recognized is text of ASCII without escapes; any other is read as JSON.
    """

    __slots__ = ("_lessons", "find")

    def __init__(self) -> None:
        self._lessons = 0
        self.find: Callable[[Any], re.Match[bytes] | None] = _no_match
        """Finds the text of a line, as its first group."""

    def learn(self, line: object, text: str) -> None:
        """Remember what stands around `text`, and around the time before it, in a line that was proved to be plain."""
        inside = text.encode("utf-8", "surrogatepass")
        if self._lessons >= MAX_LESSONS or not isinstance(line, bytes) or not PLAIN_TEXT(inside):
            return
        self._lessons += 1
        shape = re.compile(
            rb'(.*"created_at": ?")[0-9T:.Z+-]*(".*"content": ?")' + re.escape(inside) + rb'(".*)'
        ).fullmatch(line)
        if shape is not None and line.count(b'"created_at"') == line.count(b'"content"') == 1:
            before, between, after = map(re.escape, shape.groups())
            self.find = re.compile(before + STAMP + between + ASCII_TEXT + after).fullmatch


def _no_match(line: object) -> None:
    return None


PlainLine = Callable[[Any, str], Event]
"""Reads a line that is one piece into its event, in the part given; raises `ValueError` for any other line."""


def plain_line(is_chat: bool, event: Event) -> PlainLine | None:
    """What reads a line as the one that became `event`; None where there is no such short way.

    Args:
        is_chat: it is a line of `/api/chat`, with a message in it.
        event: all that came of it.
    """
    if isinstance(event, TextDelta) and event.logprobs is None:
        return chat_text if is_chat else _generated_text
    if isinstance(event, ReasoningDelta):
        return _chat_thinking if is_chat else _generated_thinking
    return None
