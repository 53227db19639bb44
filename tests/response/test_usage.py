"""Token counts as they become known, and of several answers together."""

from __future__ import annotations

from rxstream.events import Usage
from rxstream.response.usage import USAGE_COUNTS, merge_usage, sum_usage, usage_json


def test_what_an_update_knows_replaces_what_was_known_and_nothing_else_does() -> None:
    known = Usage(input_tokens=10, output_tokens=1, raw={"a": 1})
    assert merge_usage(known, Usage(output_tokens=0, raw={"b": 2})) == Usage(10, 0, raw={"b": 2})
    assert merge_usage(known, Usage()) == known


def test_merging_changes_neither_of_the_two() -> None:
    known, update = Usage(input_tokens=10), Usage(output_tokens=3)
    merge_usage(known, update)
    assert (known, update) == (Usage(input_tokens=10), Usage(output_tokens=3))


def test_a_sum_with_something_unknown_in_it_is_unknown() -> None:
    total = sum_usage([Usage(input_tokens=10, output_tokens=0), Usage(input_tokens=5)])
    assert total == Usage(input_tokens=15)
    assert sum_usage([]) == Usage()


def test_every_count_is_shown_and_the_providers_own_object_is_not() -> None:
    shown = usage_json(Usage(input_tokens=10, raw={"prompt_tokens": 10}))
    assert shown == {**dict.fromkeys(USAGE_COUNTS), "input_tokens": 10}
