"""Responses, snapshots and projections as operators, and the check for a terminal event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import reactivex as rx
import reactivex.operators as rx_ops

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import Cancelled, Event, Finish, ResponseFinal, ResponseStart, TextDelta, ToolCallStart
from rxstream.response.projection import Projection
from rxstream.testing import run

TEXT: list[Event] = [ResponseStart("r1"), TextDelta("a", "p"), TextDelta("b", "p")]
FINISH = Finish("stop", "stop")


async def items(events: Sequence[Event], *operators: Any, error: Exception | None = None) -> list[Any]:
    source = rxs.from_iterable(events)
    if error is not None:
        source = source.pipe(rx_ops.concat(rx.throw(error)))
    return [item async for item in rxs.iterate(source.pipe(*operators))]


def test_a_response_comes_for_every_outcome() -> None:
    async def main() -> None:
        cases: list[tuple[list[Event], Exception | None, str]] = [
            ([*TEXT, FINISH], None, "completed"),
            ([*TEXT, Finish("length", "length")], None, "incomplete"),
            (TEXT, None, "indeterminate"),
            (TEXT, rxs.TruncatedStreamError(), "indeterminate"),
            (TEXT, rxs.TransportError("reset"), "failed"),
            (TEXT, ValueError("a bug"), "failed"),
            ([*TEXT, Cancelled("deadline")], None, "cancelled"),
            ([], None, "indeterminate"),
        ]
        for events, error, outcome in cases:
            (response,) = await items(events, ops.to_response(), error=error)
            assert response.outcome == outcome
            assert response.text == ("ab" if events else "")
            if outcome == "failed":
                assert response.error is error
                with pytest.raises(type(error)):
                    response.raise_for_outcome()

    run(main())


def test_strict_fails_a_completed_response_that_does_not_agree_with_itself() -> None:
    disagreeing: list[Event] = [*TEXT, ResponseFinal({}, text="something else"), FINISH]

    async def main() -> None:
        with pytest.raises(rxs.ConsistencyError, match="final"):
            await items(disagreeing, ops.to_response())
        (response,) = await items(disagreeing, ops.to_response(strict=False))
        assert (response.outcome, len(response.failed_checks)) == ("completed", 1)

    run(main())


def test_snapshots_are_provisional_until_the_last() -> None:
    async def main() -> None:
        shots = await items([*TEXT, FINISH], ops.snapshots())
        assert [shot.text for shot in shots] == ["", "a", "ab", "ab", "ab"]
        assert [shot.provisional for shot in shots] == [True] * 4 + [False]
        assert [shot.outcome for shot in shots] == ["running"] * 4 + ["completed"]
        every_second = await items([*TEXT, FINISH], ops.snapshots(every=2))
        assert [shot.text for shot in every_second] == ["a", "ab", "ab"]

    run(main())


def test_a_limit_ends_the_response_with_what_came_before() -> None:
    limits = rxs.Limits(max_text_bytes=1)

    async def main() -> None:
        (response,) = await items([*TEXT, FINISH], ops.to_response(limits=limits))
        assert (response.outcome, response.text) == ("failed", "a")
        assert isinstance(response.error, rxs.LimitError)
        assert "max_text_bytes" in str(response.error)

    run(main())


@pytest.mark.parametrize(
    ("policy", "text", "has_note"), [("retain", "ab", False), ("hide", "", False), ("annotate", "ab", True)]
)
def test_a_projection_says_what_may_be_shown_of_a_part(policy: Any, text: str, has_note: bool) -> None:
    async def main() -> None:
        shown: list[Projection] = []
        stream = rxs.iterate(
            rxs.from_iterable(TEXT).pipe(rx_ops.concat(rx.throw(rxs.TransportError("reset"))), ops.project(policy))
        )
        with pytest.raises(rxs.TransportError):
            async for projection in stream:
                shown.append(projection)
        assert [projection.text for projection in shown[-3:-1]] == ["a", "ab"]
        assert all(projection.provisional for projection in shown)
        assert (shown[-1].outcome, shown[-1].text, shown[-1].note is not None) == ("failed", text, has_note)

    run(main())


def test_a_projection_is_final_only_when_the_model_said_so() -> None:
    async def main() -> None:
        *_, last = await items([*TEXT, FINISH], ops.project())
        assert (last.outcome, last.provisional, last.text) == ("completed", False, "ab")
        *_, last = await items([*TEXT, Cancelled()], ops.project())
        assert (last.outcome, last.provisional) == ("cancelled", True)

    run(main())


@pytest.mark.parametrize(
    ("events", "ends_well"),
    [
        ([*TEXT, FINISH], True),
        (TEXT, False),
        ([], False),
        ([*TEXT, FINISH, TextDelta("c", choice=1)], False),
        ([TextDelta("a"), TextDelta("b", choice=1), Finish("stop"), Finish("stop", choice=1)], True),
        ([ToolCallStart("1", "f")], False),
        ([*TEXT, Cancelled()], True),
    ],
)
def test_events_without_a_finish_are_not_a_whole(events: list[Event], ends_well: bool) -> None:
    async def main() -> None:
        if ends_well:
            assert await items(events, ops.require_terminal()) == events
        else:
            with pytest.raises(rxs.TruncatedStreamError, match="finish"):
                await items(events, ops.require_terminal())

    run(main())


def test_wrong_use_is_refused_at_assembly() -> None:
    with pytest.raises(ValueError, match="every"):
        ops.snapshots(every=0)
    with pytest.raises(ValueError, match="on_unfinished"):
        ops.project("sometimes")  # type: ignore[arg-type]
