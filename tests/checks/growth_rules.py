"""What may grow without a bound, as tables, and what to take instead: the data of ``queue_check``."""

from __future__ import annotations

import ast
from dataclasses import dataclass


@dataclass(frozen=True)
class BoundRule:
    """Where a call takes its bound."""

    position: int
    keyword: str
    instead: str
    is_excusable: bool = False

    def bound_of(self, call: ast.Call) -> ast.expr | None:
        """Return the bound's expression, or None when the call gives none (or hides it behind ``*`` or ``**``)."""
        for keyword in call.keywords:
            if keyword.arg == self.keyword:
                return keyword.value
        return call.args[self.position] if len(call.args) > self.position else None


_QUEUE = BoundRule(0, "maxsize", "demand needs no queue; else bounded_buffer, or a positive maxsize")
_DEQUE = BoundRule(1, "maxlen", "maxlen=, or a check before append and '# bounded: <why>'", is_excusable=True)
_REPLAY = BoundRule(0, "buffer_size", "fan_out or share_bounded, or a buffer_size", is_excusable=True)
_STREAM = BoundRule(0, "max_buffer_size", "a finite max_buffer_size")

REQUIRED_BOUND = {
    **{
        f"{module}.{name}": _QUEUE
        for module in ("asyncio", "asyncio.queues", "queue", "multiprocessing")
        for name in ("Queue", "LifoQueue", "PriorityQueue", "JoinableQueue")
    },
    "collections.deque": _DEQUE,
    "reactivex.operators.replay": _REPLAY,
    "reactivex.subject.ReplaySubject": _REPLAY,
}
"""Unbounded unless a bound is given."""

OPTIONAL_BOUND = {"anyio.create_memory_object_stream": _STREAM}
"""Bounded unless the bound given is no bound."""

NEVER = dict.fromkeys(
    ("queue.SimpleQueue", "multiprocessing.SimpleQueue", "_queue.SimpleQueue"),
    "queue.Queue with a positive maxsize, or loop.call_soon_threadsafe",
)

_COLLECTS = "fold, an Accumulator with limits, or collect"
_BATCHES = "batch_text, or a Stage under a limit"
_PAIRS = "a Stage that asks demand; this one reads on while the gate is open"
_DELAYS = "a timer of a Stage; this one reads on while it waits"
_CHAINS = "flat_map or switch_latest: sources that came too early wait in a list here"
_SHARES = "fan_out or share_bounded"

HOLDING = {
    **dict.fromkeys(
        ("to_iterable", "to_list", "to_set", "to_dict", "to_marbles", "distinct", "max_by", "min_by"), _COLLECTS
    ),
    **dict.fromkeys(
        (
            "buffer",
            "buffer_toggle",
            "buffer_when",
            "buffer_with_count",
            "buffer_with_time",
            "buffer_with_time_or_count",
            "window",
            "window_toggle",
            "window_when",
            "window_with_count",
            "window_with_time",
            "window_with_time_or_count",
            "take_last",
            "take_last_buffer",
            "take_last_with_time",
            "skip_last",
            "skip_last_with_time",
        ),
        _BATCHES,
    ),
    **dict.fromkeys(
        (
            "combine_latest",
            "fork_join",
            "group_join",
            "join",
            "sequence_equal",
            "with_latest_from",
            "zip",
            "zip_latest",
        ),
        _PAIRS,
    ),
    **dict.fromkeys(
        (
            "debounce",
            "delay",
            "delay_with_mapper",
            "observe_on",
            "sample",
            "throttle_with_mapper",
            "throttle_with_timeout",
        ),
        _DELAYS,
    ),
    **dict.fromkeys(("concat_all", "concat_map", "expand"), _CHAINS),
    **dict.fromkeys(("group_by", "group_by_until"), _SHARES),
}
"""Operators of reactivex 6.1 that keep or drop items themselves, so that closed demand does not stop what is above."""

FLUENT_HOLDING = frozenset(
    {
        "buffer_with_count",
        "buffer_with_time",
        "buffer_with_time_or_count",
        "concat_map",
        "observe_on",
        "take_last_with_time",
        "to_iterable",
        "to_list",
        "window_with_count",
        "window_with_time",
        "window_with_time_or_count",
        "with_latest_from",
    }
)
"""Of these the method's name alone says that it is Rx: ``source.to_list()``."""

GROWING_NAMES = frozenset(
    {
        "arguments",
        "body",
        "buffer",
        "content",
        "data",
        "partial",
        "pending",
        "raw",
        "reasoning",
        "refusal",
        "tail",
        "text",
        "thinking",
        "transcript",
    }
)
"""The last word of an attribute that holds what a stream brought."""

PURE_ROOMS = frozenset({"encoders", "errors", "events", "framing", "limits", "providers", "requests", "response"})

FOREIGN_TO_PURE_ROOMS = frozenset({"anyio", "asyncio", "httpx", "httpx2", "reactivex"})

TAKES_CLASSES = frozenset({"cast", "isinstance", "issubclass", "typing.cast"})
"""Calls that look at a class and do not call it."""
