"""The grammar of signals (promises 24 and 29) without Rx's help: a source directly above each operator that breaks it.

Between Rx's own operators an observer of Rx keeps what comes after an end from going on. Stages are linked to each
other without it, so each of them keeps the grammar by itself.
"""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.events import Cancelled
from rxstream.testing import run_virtual, settle
from tests.flow.kit import Boundary, Stubborn
from tests.reactive.table import Row, every_row

LATE = ValueError("late")


def signals_late(source: Stubborn, items: list[Any]) -> None:
    for signal in (*items[:2], LATE, "|", *items[:1], Cancelled("budget")):
        source.send(signal)
    source.hand_over(items[:3])


@every_row
@pytest.mark.parametrize("end", ["completes", "fails", "is cancelled", "is disposed"])
def test_nothing_is_heard_after_the_end(row: Row, end: str) -> None:
    async def main() -> None:
        source, items = Stubborn(), row.items()
        boundary = Boundary(source.observable().pipe(row.make()), is_open=True, one_by_one=False)
        for item in items[:4]:
            source.send(item)
        await settle()
        if end == "completes":
            source.send("|")
        elif end == "fails":
            source.send(ValueError("the source failed"))
        elif end == "is cancelled":
            source.send(Cancelled("deadline"))
            source.send("|")  # where an operator holds nothing back, the end is the source's to tell
        else:
            boundary.handle.dispose()
        await settle(20)
        seen, ends = list(boundary.items), list(boundary.ends)
        assert len(ends) == (end != "is disposed")
        signals_late(source, items)
        await settle(20)
        assert (boundary.items, boundary.ends) == (seen, ends)
        boundary.dispose()
        assert source.disposed == 1

    run_virtual(main())


@every_row
@pytest.mark.parametrize("end", ["|", ValueError("the source failed")], ids=["completes", "fails"])
def test_a_source_that_ends_inside_its_subscribe_is_let_go(row: Row, end: Any) -> None:
    async def main() -> None:
        items = row.items()
        source = Stubborn(*items[:2], end)
        boundary = Boundary(source.observable().pipe(row.make()), is_open=True, one_by_one=False)
        await settle(20)
        assert len(boundary.ends) == 1
        boundary.dispose()
        assert source.disposed == 1

    run_virtual(main())
