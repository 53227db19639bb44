"""What holds for every stream of events, right or wrong."""

from __future__ import annotations

from copy import deepcopy
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxstream.errors import LimitError, ProviderError, TruncatedStreamError
from rxstream.events import Event, ReasoningDelta, RefusalDelta, TextDelta
from rxstream.limits import Limits
from rxstream.response import Accumulator, Response
from rxstream.response.accumulator import HANDLERS
from rxstream.response.consistency import SENTENCES
from rxstream.response.projection import Projector
from rxstream.response.tracker import Tracker
from tests.event_strategies import EVENT_TYPES, event_streams

TIGHT = Limits(max_text_bytes=20, max_arguments_bytes=8, max_media_bytes=12, max_kept_events=6, max_tool_calls=2)

ends = st.sampled_from((None, TruncatedStreamError(), ProviderError("no"), ValueError("secret")))


def accumulated(events: list[Event], limits: Limits | None = None) -> Accumulator:
    accumulator = Accumulator(limits)
    for event in events:
        accumulator.apply(event)
    return accumulator


def refusal(accumulator: Accumulator, event: Event) -> LimitError | None:
    try:
        accumulator.apply(event)
    except LimitError as error:
        return error
    return None


def comparable(response: Response) -> tuple[object, ...]:
    """Everything of it, with errors (which are equal to nothing) by what they say."""
    return deepcopy(response.to_json_object() | {"error": str(response.error)}), response.parts, response.report


def test_every_member_of_the_union_has_its_handler() -> None:
    assert set(HANDLERS) == set(EVENT_TYPES)


@given(event_streams, ends)
def test_no_order_of_events_raises(events: list[Event], error: Exception | None) -> None:
    response = accumulated(events).end(error)
    assert response.outcome in ("completed", "incomplete", "failed", "cancelled", "indeterminate")
    assert {violation.code for violation in response.failed_checks} <= set(SENTENCES)


@given(event_streams)
def test_a_limit_is_the_only_error_and_leaves_everything_as_it_was(events: list[Event]) -> None:
    accumulator = Accumulator(TIGHT)
    for event in events:
        before, accepted = accumulator.snapshot(), accumulator.applied
        refused = refusal(accumulator, event)
        if refused is not None:
            assert refused.setting in Limits.model_fields
            assert (accumulator.snapshot(), accumulator.applied) == (before, accepted)


@given(event_streams)
def test_a_snapshot_is_that_of_a_fresh_accumulator_fed_the_same_prefix(events: list[Event]) -> None:
    accumulator = Accumulator()
    for count, event in enumerate(events, start=1):
        accumulator.apply(event)
        snapshot = accumulator.snapshot()
        assert snapshot == accumulated(events[:count]).snapshot()
        assert (snapshot.outcome, snapshot.provisional, snapshot.report) == ("running", True, None)


@given(event_streams, ends)
def test_what_was_handed_out_never_changes(events: list[Event], error: Exception | None) -> None:
    accumulator = Accumulator()
    handed_out = [accumulator.snapshot()]
    for event in events:
        accumulator.apply(event)
        handed_out.append(accumulator.snapshot())
    copies = deepcopy(handed_out)
    end = accumulator.end(error)
    first = comparable(end)
    for event in events:
        accumulator.apply(event)
    assert handed_out == copies
    assert comparable(end) == first


@given(event_streams, ends)
def test_looking_at_it_does_not_change_the_end(events: list[Event], error: Exception | None) -> None:
    watched = Accumulator()
    for event in events:
        watched.apply(event)
        watched.snapshot()
        watched.end(error)
    assert comparable(watched.end(error)) == comparable(accumulated(events).end(error))


@given(event_streams)
def test_every_accepted_event_is_counted(events: list[Event]) -> None:
    assert accumulated(events).applied == len(events)


@pytest.mark.parametrize(
    ("kind", "name"), [(TextDelta, "text"), (ReasoningDelta, "reasoning"), (RefusalDelta, "refusal")]
)
@given(events=event_streams)
def test_no_character_is_lost_or_added(
    kind: type[TextDelta] | type[ReasoningDelta] | type[RefusalDelta], name: str, events: list[Event]
) -> None:
    response = accumulated(events).snapshot()
    texts = {choice.choice: getattr(choice, name) for choice in response.choices}
    texts = texts or {response.parts[0].choice if response.parts else 0: getattr(response, name)}
    for choice in (0, 1):
        sent = "".join(event.text for event in events if isinstance(event, kind) and event.choice == choice)
        assert sorted(texts.get(choice, "")) == sorted(sent)


@given(event_streams, ends)
def test_a_tracker_judges_as_the_accumulator_does(events: list[Event], error: Exception | None) -> None:
    tracker, accumulator = Tracker(), Accumulator()
    for event in events:
        tracker.note(event)
        accumulator.apply(event)
        assert tracker.unfinished == accumulator.state.unfinished
        assert tracker.choices == accumulator.state.choices
    response = accumulator.end(error)
    verdict, report = tracker.judge(error)
    assert response.report is not None
    assert (verdict.outcome, verdict.missing) == (response.outcome, response.report.missing)
    assert str(verdict.error) == str(response.error)
    for field in ("text_chars", "reasoning_chars", "refusal_chars", "last_sequence", "dropped"):
        assert getattr(report, field) == getattr(response.report, field)
    assert set(report.started_calls) == set(response.report.started_calls)


@given(event_streams, ends)
def test_the_last_projection_is_the_response(events: list[Event], error: Exception | None) -> None:
    projector = Projector()
    shown = [projector.feed(event) for event in events]
    last = projector.end(error)
    response = accumulated(events).end(error)
    mine = next((choice for choice in response.choices if choice.choice == 0), response)
    if response.choices or not response.parts or response.parts[0].choice == 0:
        assert (last.text, last.reasoning, last.refusal) == (mine.text, mine.reasoning, mine.refusal)
        assert [call.arguments for call in last.tool_calls] == [call.arguments for call in mine.tool_calls]
    assert last.outcome == response.outcome
    assert all(projection.outcome == "running" for projection in shown)


@given(event_streams)
def test_a_projection_shows_for_ever_what_was_known_when_it_was_made(events: list[Event]) -> None:
    lazy, eager = Projector(), Projector()
    late = [lazy.feed(event) for event in events]
    for projection, event in zip(late, events, strict=True):
        now = eager.feed(event)
        seen = (now.text, now.reasoning, now.refusal, [call.arguments for call in now.tool_calls])
        kept = [call.arguments for call in projection.tool_calls]
        assert (projection.text, projection.reasoning, projection.refusal, kept) == seen


def test_the_codes_of_checks_are_documented() -> None:
    assert all(sentence and not sentence.endswith(".") for sentence in SENTENCES.values())


def test_every_event_type_is_drawn() -> None:
    assert set(get_args(Event)) == set(EVENT_TYPES)
