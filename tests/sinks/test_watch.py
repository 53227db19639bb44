"""One timer for all the waits: never late, never twice, and nothing left."""

from __future__ import annotations

import asyncio
from math import inf

from hypothesis import given, settings
from hypothesis import strategies as st

from rxstream.sinks.watch import Watch
from rxstream.testing import run_virtual

MOVES = st.lists(
    st.tuples(st.sampled_from([0.0, 0.25, 1.0, 5.0]), st.sampled_from([2.0, 2.5, 7.0, inf])), min_size=1, max_size=8
)


@settings(max_examples=200, deadline=None)
@given(MOVES)
def test_what_is_set_far_enough_ahead_comes_at_its_time(moves: list[tuple[float, float]]) -> None:
    """`due` is moved after each pause; it fires for those that no move came before, at their time exactly."""
    fired: list[float] = []
    expected: list[float] = []

    async def main() -> None:
        watch = Watch(lambda: fired.append(watch.now()))
        watch.start(2.0)
        now = 0.0
        for index, (pause, ahead) in enumerate(moves):
            await asyncio.sleep(pause)
            now += pause
            watch.due = now + ahead
            following = moves[index + 1][0] if index + 1 < len(moves) else 100.0
            if ahead < following:  # at the same time either may be first
                expected.append(now + ahead)
            elif ahead == following:
                return watch.stop()
        await asyncio.sleep(100)
        watch.stop()

    run_virtual(main())
    assert fired == expected


def test_without_anything_to_watch_there_is_no_timer() -> None:
    async def main() -> None:
        watch = Watch(lambda: None)
        watch.start(inf)
        assert not [timer for timer in asyncio.get_running_loop()._scheduled if not timer.cancelled()]  # type: ignore[attr-defined]  # asyncio lists them nowhere else
        watch.stop()

    run_virtual(main())
