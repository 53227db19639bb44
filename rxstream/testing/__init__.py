"""The public test kit: what the library's own tests stand on, for the tests of those who build with it.

A scripted provider behind real sockets, chunk cutters, a loop with a virtual clock, leak detection and a proxy that
injects faults. It needs nothing but the library itself; each name is loaded when it is first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rxstream.testing.answers import answer
    from rxstream.testing.chunks import (
        cut,
        cut_at,
        every_two_way_cut,
        json_token_offsets,
        line_end_offsets,
        random_cuts,
        utf8_offsets,
    )
    from rxstream.testing.eventstream import pack_event, pack_exception, pack_message
    from rxstream.testing.faults import FaultProxy, Faults
    from rxstream.testing.leaks import LeakError, assert_no_leaks, leftovers, settle
    from rxstream.testing.record import Request, RequestRecord
    from rxstream.testing.runner import BackgroundError, run
    from rxstream.testing.script import Reply, Script, error_reply, json_reply
    from rxstream.testing.server import ScriptedProvider
    from rxstream.testing.steps import Close, Cut, Drip, Pause, Raw, Repeat, Reset, Send, Stall, Wait
    from rxstream.testing.threaded import ThreadedProvider
    from rxstream.testing.virtual_time import StuckError, VirtualClockLoop, run_virtual
    from rxstream.testing.wires import Answer, anthropic_sse, openai_chat_sse

# Where each public name lives. A name must not be that of a module of this room: importing the module would hide it.
_HOMES = {
    "answers": ("answer",),
    "chunks": (
        "cut",
        "cut_at",
        "every_two_way_cut",
        "json_token_offsets",
        "line_end_offsets",
        "random_cuts",
        "utf8_offsets",
    ),
    "eventstream": ("pack_event", "pack_exception", "pack_message"),
    "faults": ("FaultProxy", "Faults"),
    "leaks": ("LeakError", "assert_no_leaks", "leftovers", "settle"),
    "record": ("Request", "RequestRecord"),
    "runner": ("BackgroundError", "run"),
    "script": ("Reply", "Script", "error_reply", "json_reply"),
    "server": ("ScriptedProvider",),
    "steps": ("Close", "Cut", "Drip", "Pause", "Raw", "Repeat", "Reset", "Send", "Stall", "Wait"),
    "threaded": ("ThreadedProvider",),
    "virtual_time": ("StuckError", "VirtualClockLoop", "run_virtual"),
    "wires": ("Answer", "anthropic_sse", "openai_chat_sse"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = (
    "Answer",
    "BackgroundError",
    "Close",
    "Cut",
    "Drip",
    "FaultProxy",
    "Faults",
    "LeakError",
    "Pause",
    "Raw",
    "Repeat",
    "Reply",
    "Request",
    "RequestRecord",
    "Reset",
    "Script",
    "ScriptedProvider",
    "Send",
    "Stall",
    "StuckError",
    "ThreadedProvider",
    "VirtualClockLoop",
    "Wait",
    "answer",
    "anthropic_sse",
    "assert_no_leaks",
    "cut",
    "cut_at",
    "error_reply",
    "every_two_way_cut",
    "json_reply",
    "json_token_offsets",
    "leftovers",
    "line_end_offsets",
    "openai_chat_sse",
    "pack_event",
    "pack_exception",
    "pack_message",
    "random_cuts",
    "run",
    "run_virtual",
    "settle",
    "utf8_offsets",
)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
