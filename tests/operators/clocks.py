"""What the tests of the clocks share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from reactivex import Observable

from rxstream import operators as ops
from rxstream.events import CONTENT_EVENTS, Event

Make = Callable[[float], Callable[[Observable[Any]], Observable[Any]]]

CLOCKS: dict[str, Make] = {
    "first_event": ops.first_event_timeout,
    "idle": ops.idle_timeout,
    "deadline": ops.deadline,
}
every_clock = pytest.mark.parametrize(("name", "make"), CLOCKS.items(), ids=list(CLOCKS))

TEXT = b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n'


def is_content(event: Event) -> bool:
    return isinstance(event, CONTENT_EVENTS)
