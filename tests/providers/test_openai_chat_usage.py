"""Usage of the chat wire: where it stands, which object counts, and what its numbers mean."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from rxstream.errors import TruncatedStreamError
from rxstream.events import ProviderEvent, Usage, UsageUpdate
from rxstream.providers.usage import chat_usage
from tests.providers.chat import DONE, choices, delta, finish, frame, run, text, usage

COUNTS: dict[str, Any] = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}


def test_usage_on_a_chunk_without_choices_is_read_after_the_finish() -> None:
    result = run(text("a"), finish(), usage(3, 1), DONE)
    assert (result.usage.input_tokens, result.usage.output_tokens, result.usage.total_tokens) == (3, 1, 4)
    assert [event.type for event in result.events[-2:]] == ["usage_update", "finish"]


def test_usage_on_the_finish_chunk_is_read() -> None:
    assert run(text("a"), finish(usage=COUNTS), DONE).usage.total_tokens == 7


def test_usage_on_a_chunk_whose_choices_are_missing_or_null_is_read() -> None:
    assert run(text("a"), finish(), frame(usage=COUNTS), DONE).usage.total_tokens == 7
    assert run(text("a"), finish(), frame(choices=None, usage=COUNTS), DONE).usage.total_tokens == 7


def test_running_totals_replace_one_another() -> None:
    pieces = [
        delta(content="x", top={"usage": {"prompt_tokens": 10, "completion_tokens": k, "total_tokens": 10 + k}})
        for k in (1, 2, 3)
    ]
    result = run(*pieces, finish(), DONE)
    assert (result.usage.input_tokens, result.usage.output_tokens) == (10, 3)
    assert result.text == "xxx"


def test_nothing_and_zeros_before_the_real_usage_do_not_count() -> None:
    zeros = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    tops: list[dict[str, Any]] = [{"usage": None}, {"usage": {}}, {"usage": zeros}, {"usage": COUNTS}, {"usage": zeros}]
    result = run(*(delta(content="x", top=top) for top in tops), finish(), DONE)
    assert [event.usage.raw for event in result.of(UsageUpdate)] == [COUNTS]


def test_zeros_that_are_all_that_came_stay_zeros() -> None:
    result = run(text("a"), finish(), usage(0, 0), DONE)
    assert (result.usage.input_tokens, result.usage.output_tokens, result.usage.total_tokens) == (0, 0, 0)
    assert result.events[-1] == result.finish


@pytest.mark.parametrize("count", [10**18, -(10**18), 10**400, 1e308, "9" * 19])
def test_a_number_that_no_machine_counts_to_is_unknown(count: Any) -> None:
    result = run(text("a"), finish(usage={"prompt_tokens": count, "completion_tokens": 2}), DONE)
    assert (result.usage.input_tokens, result.usage.output_tokens) == (None, 2)


def test_no_usage_is_no_event() -> None:
    assert run(text("a"), finish(), DONE).of(UsageUpdate) == []


def test_an_unchanged_usage_is_sent_once() -> None:
    chunks = [delta(content="x", top={"usage": COUNTS}) for _ in range(3)]
    assert len(run(*chunks, finish(usage=COUNTS), DONE).of(UsageUpdate)) == 1


def test_usage_beside_the_top_level_is_found() -> None:
    groq = {"id": "req_1", "usage": COUNTS}
    result = run(text("a"), finish(x_groq=groq), DONE)
    assert result.usage.raw == COUNTS
    assert result.of(ProviderEvent) == [ProviderEvent("x_groq", {"id": "req_1"})]
    assert len(run(text("a"), finish(x_groq=groq, usage=COUNTS), DONE).of(UsageUpdate)) == 1


def test_usage_inside_a_choice_is_found() -> None:
    last = {"index": 0, "delta": {}, "finish_reason": "stop", "usage": COUNTS}
    assert run(text("a"), choices(last), DONE).usage.raw == COUNTS


def test_usage_seen_before_the_bytes_ended_is_kept() -> None:
    result = run(delta(content="x", top={"usage": COUNTS}))
    assert isinstance(result.error, TruncatedStreamError)
    assert result.usage.raw == COUNTS
    assert run(delta(content="x", top={"usage": {"prompt_tokens": 0}})).usage.input_tokens == 0


@pytest.mark.parametrize("odd", [[], "many", 7, {"prompt_tokens": "x", "completion_tokens": [1], "total_tokens": True}])
def test_usage_of_a_wrong_type_is_unknown_and_harms_nothing(odd: object) -> None:
    result = run(text("a"), finish(usage=odd), DONE)
    assert result.error is None
    assert all(event.usage.input_tokens is None for event in result.of(UsageUpdate))


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (COUNTS, Usage(5, 2, 7)),
        (COUNTS | {"prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1}}, Usage(5, 2, 7, 4, 1)),
        (COUNTS | {"prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 1}, Usage(5, 2, 7, 4)),
        (COUNTS | {"cached_tokens": 4}, Usage(5, 2, 7, 4)),
        (COUNTS | {"cache_read_input_tokens": 3, "cache_creation_input_tokens": 2}, Usage(5, 2, 7, 3, 2)),
        (COUNTS | {"prompt_tokens_details": None, "completion_tokens_details": None}, Usage(5, 2, 7)),
        (COUNTS | {"completion_tokens_details": {"reasoning_tokens": 1}}, Usage(5, 2, 7, reasoning_tokens=1)),
        (COUNTS | {"reasoning_tokens": 0}, Usage(5, 2, 7, reasoning_tokens=0)),
        ({"prompt_tokens": 501, "completion_tokens": None, "total_tokens": None}, Usage(501)),
        ({"prompt_tokens": 5.0, "completion_tokens": "2"}, Usage(5, 2)),
        ({"input_tokens": 5, "output_tokens": 2}, Usage(5, 2)),
        ({"prompt_tokens": 1.5, "completion_tokens": float("nan"), "total_tokens": float("inf")}, Usage()),
    ],
)
def test_each_count_is_found_under_its_names(raw: dict[str, Any], expected: Usage) -> None:
    expected.raw = raw
    assert chat_usage(raw) == expected


def test_reasoning_is_added_only_where_the_sum_says_that_it_is_missing() -> None:
    beside = {"prompt_tokens": 12, "completion_tokens": 1, "total_tokens": 303}
    inside = {"prompt_tokens": 12, "completion_tokens": 291, "total_tokens": 303}
    details: dict[str, Any] = {"completion_tokens_details": {"reasoning_tokens": 290}}
    assert chat_usage(beside | details).output_tokens == 291
    assert chat_usage(inside | details).output_tokens == 291
    assert chat_usage({"prompt_tokens": 12, "completion_tokens": 1} | details).output_tokens == 1


def test_reasoning_is_never_added_twice() -> None:
    for prompt, completion, reasoning in itertools.product(range(3), range(3), range(3)):
        raw: dict[str, Any] = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }
        assert chat_usage(raw | {"reasoning_tokens": reasoning}).output_tokens == completion
