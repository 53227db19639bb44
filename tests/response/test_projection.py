"""What a UI is shown: provisional until the end, and then by policy."""

from __future__ import annotations

import pytest

from rxstream.errors import LimitError, TransportError, TruncatedStreamError
from rxstream.events import (
    Cancelled,
    Event,
    Finish,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
    Usage,
    UsageUpdate,
)
from rxstream.limits import Limits
from rxstream.response.projection import OnUnfinished, Projection, Projector
from tests.response.streams import STOP, text


def shown(events: list[Event], on_unfinished: OnUnfinished = "retain", error: Exception | None = None) -> Projection:
    projector = Projector(on_unfinished)
    for event in events:
        projector.feed(event)
    return projector.end(error)


def test_each_event_gives_what_is_known_so_far() -> None:
    projector = Projector()
    assert [projector.feed(event).text for event in text("a", "b", "c")] == ["a", "ab", "abc"]


def test_a_running_answer_is_always_provisional() -> None:
    projector = Projector()
    for event in (*text("a"), STOP):
        projection = projector.feed(event)
        assert (projection.provisional, projection.outcome, projection.note) == (True, "running", None)


def test_a_completed_answer_is_not() -> None:
    projection = shown([*text("a"), STOP], "annotate")
    assert (projection.text, projection.provisional, projection.outcome, projection.note) == (
        "a",
        False,
        "completed",
        None,
    )


def test_text_looked_at_late_is_what_it_was_when_it_was_made() -> None:
    projector = Projector()
    early = projector.feed(TextDelta("a", "p"))
    for _ in range(1_000):
        projector.feed(TextDelta("bcd", "p"))
    assert early.text == "a"


def test_parts_that_grow_in_turn_are_shown_in_the_order_in_which_they_began() -> None:
    projector = Projector()
    events = [TextDelta(piece, part) for piece, part in [("a", "p"), ("x", "q"), ("b", "p"), ("y", "q"), ("c", "p")]]
    projections = [projector.feed(event) for event in events]
    assert [projection.text for projection in projections] == ["a", "ax", "abx", "abxy", "abcxy"]


def test_reasoning_and_refusal_are_shown_apart() -> None:
    projection = shown([ReasoningDelta("r"), *text("t"), RefusalDelta("f"), STOP])
    assert (projection.reasoning, projection.text, projection.refusal) == ("r", "t", "f")


def test_a_call_in_progress_shows_its_arguments_and_may_not_run() -> None:
    projector = Projector()
    events: list[Event] = [ToolCallStart("c1", "look"), ToolCallDelta("c1", '{"a'), ToolCallDelta("c1", '":1}')]
    growing = [projector.feed(event).tool_calls[0] for event in events]
    closed = projector.feed(ToolCall("c1", "look", '{"a":1}')).tool_calls[0]
    assert [one.arguments for one in growing] == ["", '{"a', '{"a":1}']
    assert [one.status for one in (*growing, closed)] == ["open", "open", "open", "complete"]
    assert (closed.call_id, closed.name, closed.arguments) == ("c1", "look", '{"a":1}')


def test_what_was_shown_of_a_call_stays_when_its_closing_event_says_something_else() -> None:
    projector = Projector()
    projector.feed(ToolCallStart("c1", "look"))
    before = projector.feed(ToolCallDelta("c1", '{"a'))
    after = projector.feed(ToolCall("c1", "look", "[]"))
    assert (before.tool_calls[0].arguments, after.tool_calls[0].arguments) == ('{"a', "[]")


def test_an_event_that_changes_nothing_gives_the_same_projection() -> None:
    projector = Projector()
    before = projector.feed(TextDelta("a"))
    assert projector.feed(UsageUpdate(Usage(1))) is before


def test_one_choice_is_shown() -> None:
    first, second = Projector(), Projector(choice=1)
    for event in (*text("a"), *text("b", choice=1), ToolCallStart("c1", "f", choice=1)):
        one, other = first.feed(event), second.feed(event)
    assert (one.text, one.tool_calls) == ("a", ())
    assert (other.text, len(other.tool_calls)) == ("b", 1)


@pytest.mark.parametrize(
    ("end", "error", "outcome"),
    [
        (Finish("length", "length"), None, "incomplete"),
        (Finish("error", "error"), None, "failed"),
        (UsageUpdate(Usage(1)), TransportError("reset"), "failed"),
        (UsageUpdate(Usage(1)), TruncatedStreamError(), "indeterminate"),
        (Cancelled(), None, "cancelled"),
    ],
)
def test_the_policy_decides_over_what_will_not_be_finished(end: Event, error: Exception | None, outcome: str) -> None:
    events: list[Event] = [ReasoningDelta("r"), *text("par"), ToolCallStart("c1", "f"), end]
    retained, hidden = shown(events, "retain", error), shown(events, "hide", error)
    annotated = shown(events, "annotate", error)
    assert {retained.outcome, hidden.outcome, annotated.outcome} == {outcome}
    assert (retained.text, len(retained.tool_calls), retained.note) == ("par", 1, None)
    assert (hidden.text, hidden.reasoning, hidden.tool_calls, hidden.note) == ("", "", (), None)
    assert annotated.text == "par"
    assert annotated.note is not None
    assert annotated.note.startswith("The answer ")


@pytest.mark.parametrize("on_unfinished", ["retain", "hide", "annotate"])
def test_a_completed_answer_is_shown_under_every_policy(on_unfinished: OnUnfinished) -> None:
    assert shown([*text("a"), STOP], on_unfinished).text == "a"


def test_an_unknown_policy_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="'keep'"):
        Projector("keep")  # type: ignore[arg-type]  # misuse is what is tried


def test_the_response_is_there_after_the_end() -> None:
    projector = Projector()
    projector.feed(TextDelta("a"))
    before = projector.response
    projector.end()
    after = projector.response
    assert before is None
    assert after is not None
    assert after.outcome == "indeterminate"


def test_limits_hold_here_too() -> None:
    projector = Projector(limits=Limits(max_text_bytes=1))
    with pytest.raises(LimitError):
        projector.feed(TextDelta("ab"))


def test_what_a_projection_holds_is_not_in_its_repr() -> None:
    assert "secret" not in repr(shown([*text("secret"), ToolCallStart("c1", "f"), ToolCallDelta("c1", "secret")]))
