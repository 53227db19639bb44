"""The short way for a plain piece of Gemini text: the JSON parser itself proves that a chunk is nothing else.

A schema names what makes a chunk more than one piece of text; a chunk that has any of it does not fit and is read the
long way. Candidate, content and part are proved to the last key. Of what stands beside the candidates, keys that are
not named here are skipped unread: the long way looks at those, in every chunk that is not plain text. Of usage only its
presence is told: it is a third of such a chunk, and only the last one counts.

Measured on a chunk of 400 bytes: 3.4 us, where `from_json` takes 2.9 and then needs a dozen look-ups to prove the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final, Required

from pydantic import ConfigDict, Field, TypeAdapter, with_config
from typing_extensions import TypedDict

__all__ = ("read_plain_text",)

_EXACT: Final = ConfigDict(extra="forbid")


@with_config(_EXACT)
class _Part(TypedDict):
    text: Annotated[str, Field(min_length=1)]


@with_config(_EXACT)
class _Content(TypedDict, total=False):
    parts: Required[Annotated[list[_Part], Field(min_length=1, max_length=1)]]
    role: str


@with_config(_EXACT)
class _Candidate(TypedDict, total=False):
    content: Required[_Content]
    index: Annotated[int, Field(strict=True)]


class _Usage(TypedDict):
    """Any object, of which nothing is built."""


class _Chunk(TypedDict, total=False):
    candidates: Required[Annotated[list[_Candidate], Field(min_length=1, max_length=1)]]
    usageMetadata: _Usage
    promptFeedback: None
    error: None


read_plain_text: Final[Callable[[Any], Any]] = TypeAdapter(_Chunk).validator.validate_json
"""Reads a chunk that is one plain piece of text; raises `ValueError` for any other."""
