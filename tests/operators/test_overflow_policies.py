"""Every overflow policy, exact at the boundary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rxstream.errors import BufferOverflow, PolicyError, StreamError
from rxstream.events import (
    DROPPABLE_EVENTS,
    Annotation,
    Cancelled,
    Finish,
    MediaDelta,
    ProviderEvent,
    ReasoningDelta,
    ReasoningSignature,
    RefusalDelta,
    ResponseStart,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
    ToolResult,
    Usage,
    UsageUpdate,
    Violation,
)
from rxstream.operators import overflow
from rxstream.operators.event_size import ENVELOPE_BYTES
from tests.operators.buffers import BOUNDS, Always, both_ways, is_reasoning, loss, pour, texts

every_bound = pytest.mark.parametrize("bound", BOUNDS)

PROTECTED: list[Any] = [
    ResponseStart("id"),
    ToolCallStart("c", "tool"),
    ToolCallDelta("c", "{}"),
    ToolCall("c", "tool", "{}"),
    ToolResult("c", "tool", 1),
    ReasoningSignature("sig="),
    UsageUpdate(Usage(output_tokens=1)),
    Finish("stop"),
    Violation("wire", "broke a rule"),
]
DROPPABLE: list[Any] = [
    TextDelta("t"),
    ReasoningDelta("r"),
    RefusalDelta("n"),
    MediaDelta("image/png", "AAAA"),
    Annotation("url", {}),
    ProviderEvent("ping", {}),
]


def test_the_samples_cover_what_may_be_dropped_and_nothing_else() -> None:
    assert {type(event) for event in DROPPABLE} == set(DROPPABLE_EVENTS)
    assert not {type(event) for event in PROTECTED} & set(DROPPABLE_EVENTS)


# One policy each, at the boundary ------------------------------------------------------------------------------------

EVERY_POLICY = [
    overflow.pause,
    overflow.fail,
    overflow.drop_newest,
    overflow.drop_oldest,
    overflow.coalesce,
    overflow.cancel,
    lambda: overflow.shed(is_reasoning),
]


@both_ways
@every_bound
@pytest.mark.parametrize("make", EVERY_POLICY)
def test_nothing_happens_while_everything_fits(make: Callable[[], Any], bound: int, fused: bool) -> None:
    policy = Always(make())
    for chosen in (make(), policy):
        outcome = pour(texts(bound), bound, fused=fused, overflow=chosen)
        assert (outcome.events, outcome.error) == (texts(bound), None)
        assert (outcome.stats.peak_events, outcome.stats.dropped, outcome.stats.discarded) == (bound, 0, 0)
    assert policy.asked == []


@both_ways
@every_bound
@pytest.mark.parametrize("policy", [overflow.pause(), overflow.fail()])
def test_one_event_more_fails_after_what_waits(policy: Any, bound: int, fused: bool) -> None:
    outcome = pour(texts(bound + 2), bound, fused=fused, overflow=policy)
    assert outcome.events == texts(bound)
    assert isinstance(outcome.error, BufferOverflow)
    assert (outcome.error.limit, outcome.error.setting) == (bound, "max_events")
    assert not outcome.upstream_is_live
    assert (outcome.stats.peak_events, outcome.stats.dropped) == (bound, 1)


@both_ways
def test_fail_raises_the_error_it_was_given(fused: bool) -> None:
    error = StreamError("too slow")
    outcome = pour(texts(3), 2, fused=fused, overflow=overflow.fail(error))
    assert (outcome.events, outcome.error) == (texts(2), error)


@both_ways
@every_bound
def test_drop_newest_keeps_what_waits(bound: int, fused: bool) -> None:
    outcome = pour(texts(bound + 5), bound, fused=fused, overflow=overflow.drop_newest())
    assert (outcome.events, outcome.error) == ([*texts(bound), loss(5)], None)
    assert (outcome.stats.dropped, outcome.stats.peak_events) == (5, bound)


@both_ways
@every_bound
def test_drop_oldest_keeps_what_is_new(bound: int, fused: bool) -> None:
    outcome = pour(texts(bound + 5), bound, fused=fused, overflow=overflow.drop_oldest())
    assert (outcome.events, outcome.error) == ([loss(5), *texts(bound, start=5)], None)
    assert (outcome.stats.dropped, outcome.stats.peak_events) == (5, bound)


@both_ways
@every_bound
def test_cancel_discards_what_waits_and_the_stream_is_cancelled(bound: int, fused: bool) -> None:
    outcome = pour(texts(bound + 2), bound, fused=fused, overflow=overflow.cancel("operator"))
    assert [type(event) for event in outcome.events] == [Cancelled]
    assert (outcome.events[0].cause, outcome.error) == ("operator", None)
    assert not outcome.upstream_is_live
    assert outcome.stats.discarded == bound + 1


@both_ways
@pytest.mark.parametrize("bound", BOUNDS[1:])
def test_coalesce_joins_what_waits_and_loses_nothing(bound: int, fused: bool) -> None:
    outcome = pour(texts(bound * 5), bound, fused=fused, overflow=overflow.coalesce())
    assert outcome.error is None
    assert "".join(event.text for event in outcome.events) == "".join(event.text for event in texts(bound * 5))
    assert (outcome.stats.dropped, outcome.stats.peak_events) == (0, bound)


@both_ways
def test_coalesce_with_nothing_to_join_holds_one_event_and_pauses(fused: bool) -> None:
    outcome = pour(
        [TextDelta("a", "p"), TextDelta("b", "q"), TextDelta("c", "r")], 2, fused=fused, overflow=overflow.coalesce()
    )
    assert [event.text for event in outcome.events] == ["a", "b", "c"]
    assert outcome.error is None


@pytest.mark.parametrize(
    "right",
    [
        TextDelta("b", "q", 0),
        TextDelta("b", "p", 1),
        ReasoningDelta("b", "p", 0),
        TextDelta("b", "p", 0, logprobs=[]),
        ProviderEvent("p", {}),
    ],
)
def test_coalesce_never_joins_across_part_choice_kind_or_log_probabilities(right: Any) -> None:
    left = TextDelta("a", "p", 0)
    assert overflow.can_join(left, left)
    assert not overflow.can_join(left, right)
    assert not overflow.can_join(right, left)


@both_ways
def test_shed_drops_what_it_names_and_pauses_for_the_rest(fused: bool) -> None:
    events = [*texts(2), ReasoningDelta("r"), ReasoningDelta("s"), *texts(1, start=2)]
    outcome = pour(events, 2, fused=fused, overflow=overflow.shed(is_reasoning))
    assert (outcome.events, outcome.error) == ([*texts(2), loss(2), *texts(1, start=2)], None)
    assert outcome.stats.dropped == 2


@both_ways
@every_bound
@pytest.mark.parametrize(
    "policy",
    [
        overflow.fail(),
        overflow.drop_newest(),
        overflow.drop_oldest(),
        overflow.cancel(),
        overflow.shed(is_reasoning).then(overflow.fail()),
    ],
)
def test_a_list_that_is_handed_over_meets_the_policy_as_its_events_would(policy: Any, bound: int, fused: bool) -> None:
    for events, max_bytes in (
        ([*texts(bound), ReasoningDelta("r"), *texts(bound + 3, start=bound)], None),
        ([*texts(bound), TextDelta("x" * 500), *texts(3, start=bound)], ENVELOPE_BYTES * bound + 100),
    ):
        one, many = (
            pour(events, bound, max_bytes, fused=fused, overflow=policy, handed_over=handed_over)
            for handed_over in (False, True)
        )
        assert (one.events, type(one.error)) == (many.events, type(many.error))
        assert repr(one.stats) == repr(many.stats)
        assert many.stats.peak_events <= bound
        assert max_bytes is None or many.stats.peak_bytes <= max_bytes


# Composition ---------------------------------------------------------------------------------------------------------


@both_ways
def test_the_next_policy_decides_where_the_first_has_no_answer(fused: bool) -> None:
    policy = overflow.shed(is_reasoning).then(overflow.fail())
    outcome = pour([*texts(2), ReasoningDelta("r"), *texts(1, start=2)], 2, fused=fused, overflow=policy)
    assert outcome.events == [*texts(2), loss(1)]
    assert isinstance(outcome.error, BufferOverflow)


@both_ways
def test_three_policies_in_a_row(fused: bool) -> None:
    policy = overflow.shed(is_reasoning).then(overflow.coalesce()).then(overflow.drop_oldest())
    events = [*texts(2), ReasoningDelta("r"), *texts(1, start=2), ProviderEvent("a", 1), ProviderEvent("b", 2)]
    outcome = pour(events, 2, fused=fused, overflow=policy)
    # r is shed; 0 and 1 are joined for 2; nothing can be joined for a: "01" goes; then "2" goes for b
    assert outcome.events == [loss(3), ProviderEvent("a", 1), ProviderEvent("b", 2)]
    assert outcome.stats.dropped == 3


@both_ways
def test_drop_oldest_then_pause_pauses_where_nothing_may_be_dropped(fused: bool) -> None:
    policy = overflow.drop_oldest().then(overflow.pause())
    usage = [UsageUpdate(Usage(output_tokens=n)) for n in range(3)]
    outcome = pour(usage, 2, fused=fused, overflow=policy)
    assert (outcome.events, outcome.error) == (usage, None)


@both_ways
def test_a_users_policy_may_be_the_last(fused: bool) -> None:
    own = Always(overflow.DropNew())
    outcome = pour(texts(4), 2, fused=fused, overflow=overflow.shed(is_reasoning).then(own))
    assert outcome.events == [*texts(2), loss(2)]
    assert [event for _, event in own.asked] == texts(2, start=2)


# What must not be dropped --------------------------------------------------------------------------------------------


@both_ways
@pytest.mark.parametrize("event", PROTECTED, ids=lambda event: type(event).__name__)
def test_built_in_policies_drop_the_nearest_event_that_may_go(event: Any, fused: bool) -> None:
    queued = [event, TextDelta("x"), event, TextDelta("y"), event]
    oldest = pour([*queued, event], 5, fused=fused, overflow=overflow.drop_oldest())
    assert oldest.events == [event, loss(1), event, TextDelta("y"), event, event]
    newest = pour([*queued, event], 5, fused=fused, overflow=overflow.drop_newest())
    assert newest.events == [event, TextDelta("x"), event, loss(1), event, event]


@both_ways
@pytest.mark.parametrize("event", PROTECTED, ids=lambda event: type(event).__name__)
@pytest.mark.parametrize("policy", [overflow.drop_oldest(), overflow.drop_newest()])
def test_built_in_policies_fail_where_nothing_may_go(policy: Any, event: Any, fused: bool) -> None:
    outcome = pour([event] * 3, 2, fused=fused, overflow=policy)
    assert outcome.events == [event, event]
    assert isinstance(outcome.error, BufferOverflow)


@pytest.mark.parametrize("event", DROPPABLE, ids=lambda event: type(event).__name__)
@pytest.mark.parametrize("policy", [overflow.drop_oldest(), overflow.drop_newest()])
def test_a_new_event_that_may_go_is_dropped_where_nothing_that_waits_may(policy: Any, event: Any) -> None:
    usage = UsageUpdate(Usage(output_tokens=1))
    outcome = pour([usage, usage, event], 2, fused=True, overflow=policy)
    assert (outcome.events, outcome.error) == ([usage, usage, loss(1)], None)


@both_ways
@pytest.mark.parametrize("event", PROTECTED, ids=lambda event: type(event).__name__)
@pytest.mark.parametrize(
    "decision", [overflow.DropNew(), overflow.DropOldest(1), overflow.Replace([]), overflow.Replace([TextDelta("x")])]
)
def test_a_users_policy_that_names_a_protected_event_fails_the_stream(decision: Any, event: Any, fused: bool) -> None:
    outcome = pour([event] * 3, 2, fused=fused, overflow=Always(decision))
    assert outcome.events == [event, event]
    assert isinstance(outcome.error, PolicyError)
    assert type(event).__name__ in str(outcome.error)
    assert not outcome.upstream_is_live


def test_drop_oldest_of_several_drops_none_where_one_is_protected() -> None:
    usage = UsageUpdate(Usage(output_tokens=1))
    outcome = pour([TextDelta("x"), usage, TextDelta("y")], 2, fused=True, overflow=Always(overflow.DropOldest(2)))
    assert outcome.events == [TextDelta("x"), usage]
    assert isinstance(outcome.error, PolicyError)


def test_shed_never_drops_a_protected_event_whatever_its_predicate_says() -> None:
    policy = overflow.shed(lambda event: True).then(overflow.fail())
    outcome = pour([Finish("stop")] * 3, 2, fused=True, overflow=policy)
    assert isinstance(outcome.error, BufferOverflow)
