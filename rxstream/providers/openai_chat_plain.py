"""The short way for a plain piece of text: the JSON parser itself proves that a chunk is nothing else.

A schema names what makes a chunk more than text; a chunk that has any of it does not fit and is read the long way. The
delta is proved to the last key. Of the chunk and the choice around it, keys that are not named here are skipped unread:
the long way looks at those, in every chunk that is not plain text, the first pieces of text among them.

Measured on a chunk of 330 bytes: 1.25 us, where `from_json` takes 1.2 and then needs ten look-ups to prove the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final, Required

from pydantic import ConfigDict, Field, TypeAdapter, with_config
from typing_extensions import TypedDict

__all__ = ("PlainReader", "read_plain_text", "read_wide_text")

_Text = Annotated[str, Field(min_length=1)]
_EXACT: Final = ConfigDict(extra="forbid")


@with_config(_EXACT)
class _Delta(TypedDict):
    content: _Text


class _Choice(TypedDict, total=False):
    index: Required[int]
    delta: Required[_Delta]
    finish_reason: None
    logprobs: None
    error: None
    content_filter_results: None


class _Chunk(TypedDict, total=False):
    choices: Required[Annotated[list[_Choice], Field(min_length=1, max_length=1)]]
    usage: None
    error: None


@with_config(_EXACT)
class _WideDelta(TypedDict, total=False):
    content: Required[_Text]
    role: str | None
    refusal: None
    reasoning: None
    reasoning_content: None
    tool_calls: None
    function_call: None


class _WideChoice(_Choice, total=False):
    delta: Required[_WideDelta]  # type: ignore[misc]  # the same choice around another delta


class _WideChunk(TypedDict, total=False):
    choices: Required[Annotated[list[_WideChoice], Field(min_length=1, max_length=1)]]
    usage: None
    error: None


PlainReader = Callable[[Any], Any]
"""Reads a chunk that is one plain piece of text; raises `ValueError` for any other."""

read_plain_text: Final[PlainReader] = TypeAdapter(_Chunk).validator.validate_json
"""The shape of OpenAI's own chunks."""

read_wide_text: Final[PlainReader] = TypeAdapter(_WideChunk).validator.validate_json
"""The same with the keys that compatible servers add and leave null."""
