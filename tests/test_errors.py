"""What an error shows, and what it never does."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from rxstream import errors
from rxstream.errors import Category, FrameTooLargeError, LimitError, ProviderError, RetryHint, StreamError

SECRET = "sk-live-4242"

PAGE = (Path(__file__).parents[1] / "docs" / "errors.md").read_text(encoding="utf-8")

MADE: dict[str, StreamError] = {
    "StreamError": StreamError("a sentence", detail=SECRET),
    "FramingError": errors.FramingError("a sentence", kind="crc", detail=SECRET.encode()),
    "FrameTooLargeError": FrameTooLargeError("line", limit=8, value=9, setting="max_line_bytes", detail=SECRET),
    "TruncatedFrameError": errors.TruncatedFrameError("a sentence", detail=SECRET),
    "DecodeError": errors.DecodeError("a sentence", phase="mid_stream", detail=SECRET),
    "ProviderError": ProviderError("a sentence", status=429, code="slow_down", provider_type="t", detail=SECRET),
    "RequestError": errors.RequestError("a sentence", detail=SECRET),
    "TransportError": errors.TransportError("a sentence", status=502, detail=ValueError(SECRET)),
    "StreamTimeoutError": errors.StreamTimeoutError("idle", limit_seconds=2.5, seen="headers", detail=SECRET),
    "TruncatedStreamError": errors.TruncatedStreamError(detail=SECRET),
    "ConsistencyError": errors.ConsistencyError("a sentence", violations=("v",), detail=SECRET),
    "LimitError": LimitError("text", limit=1, value=2, setting="max_text_bytes", detail=SECRET),
    "BufferOverflow": errors.BufferOverflow("a sentence", limit=3, setting="max_events", detail=SECRET),
    "PolicyError": errors.PolicyError("a sentence", detail=SECRET),
}


def all_kinds(kind: type[StreamError] = StreamError) -> Iterator[type[StreamError]]:
    yield kind
    for child in kind.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from all_kinds(child)


def public_state(error: StreamError) -> dict[str, object]:
    return {key: value for key, value in vars(error).items() if key != "_detail"}


def test_every_kind_of_the_tree_is_tried_here() -> None:
    assert {kind.__name__ for kind in all_kinds()} == set(MADE)


def test_every_kind_is_exported_and_drawn_in_the_tree() -> None:
    assert errors.__doc__ is not None
    drawn = set(re.findall(r"\b[A-Z]\w+(?:Error|Overflow)\b", errors.__doc__.partition("Every error")[0]))
    assert {kind.__name__ for kind in all_kinds()} == drawn
    assert drawn <= set(errors.__all__)


def test_every_kind_has_a_category_of_the_list() -> None:
    assert {error.public.category for error in MADE.values()} <= set(get_args(Category))


@pytest.mark.parametrize("name", MADE)
def test_the_detail_is_never_shown(name: str) -> None:
    error = MADE[name]
    for shown in (str(error), repr(error), str(error.public), repr(error.args), error.public.message):
        assert SECRET not in shown


@pytest.mark.parametrize("name", MADE)
def test_pickling_keeps_everything_but_the_detail(name: str) -> None:
    error = MADE[name]
    data = pickle.dumps(error)
    copy = pickle.loads(data)
    assert SECRET.encode() not in data
    assert (type(copy), str(copy), public_state(copy)) == (type(error), str(error), public_state(error))
    assert copy.take_detail() is None


def test_the_detail_is_handed_over_once() -> None:
    error = StreamError("a sentence", detail=SECRET)
    assert (error.take_detail(), error.take_detail()) == (SECRET, None)


def test_every_error_has_a_correlation_id_of_its_own() -> None:
    first, second = StreamError("a"), StreamError("a")
    assert re.fullmatch(r"[0-9a-f]{32}", first.public.correlation_id)
    assert first.public.correlation_id != second.public.correlation_id


def test_a_limit_names_the_value_the_bound_and_the_setting() -> None:
    message = str(LimitError("text of one response", limit=10, value=12, setting="max_text_bytes"))
    assert all(part in message for part in ("text of one response", "12", "max_text_bytes=10", "Limits("))


def test_what_may_be_sent_again_says_so() -> None:
    assert errors.TransportError("refused").public.retry == RetryHint(retryable=True)
    assert errors.TruncatedStreamError().public.retry == RetryHint(retryable=True)
    assert ProviderError("no").public.retry == RetryHint()
    hint = RetryHint(retryable=True, after_seconds=3)
    assert ProviderError("slow down", retry=hint).public.retry == hint


def test_a_category_given_wins_over_that_of_the_class() -> None:
    assert ProviderError("no", category="rate_limited").public.category == "rate_limited"
    assert ProviderError("no").public.category == "provider"


def test_the_page_lists_every_error_with_what_it_has() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| [^|]* \|([^|]*)\|$", PAGE, re.MULTILINE))
    assert set(rows) == {name for name in MADE if name != "StreamError"}
    for name, told in rows.items():
        own = {key for key in vars(MADE[name]) if key not in ("public", "phase", "_detail")}
        assert set(re.findall(r"`(\w+)`", told)) == own


def test_the_page_lists_every_category_and_phase() -> None:
    said = set(re.findall(r"`(\w+)`", PAGE))
    assert {*get_args(errors.Category), *get_args(errors.Phase)} <= said
