"""The public test kit: what the library's own tests stand on, for the tests of those who build with it.

A scripted provider behind real sockets, chunk cutters, a loop with a virtual clock, event marbles, leak detection and a
proxy that injects faults. It needs nothing but the library itself; each name is loaded when it is first asked for.

    a scripted provider      server  loopback  connection  request_parser  player  compression  threaded
    what it does and saw     script  steps  record
    what it says             scripted_answer  answers  wires, and a `_wire` for each API; eventstream
    a bad line               faults
    chunks                   chunks
    time, and what is left   runner  virtual_time  leaks
    marbles                  marble_text  marble_source  marble_run  marble_assert, with their parts
    contracts                contracts, whose suites are the `contract_` files
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rxstream.testing.answers import answer
    from rxstream.testing.anthropic_wire import anthropic_body, anthropic_sse
    from rxstream.testing.bedrock_wire import converse_body, converse_eventstream, invoke_eventstream
    from rxstream.testing.chat_wire import openai_chat_body, openai_chat_sse
    from rxstream.testing.chunks import (
        cut,
        cut_at,
        every_two_way_cut,
        json_token_offsets,
        line_end_offsets,
        random_cuts,
        utf8_offsets,
    )
    from rxstream.testing.cohere_v1_wire import cohere_v1_ndjson
    from rxstream.testing.cohere_wire import cohere_v2_body, cohere_v2_sse
    from rxstream.testing.completions_wire import completions_body, completions_sse
    from rxstream.testing.eventstream import pack_event, pack_exception, pack_message
    from rxstream.testing.faults import FaultProxy, Faults
    from rxstream.testing.gemini_wire import gemini_array, gemini_body, gemini_sse
    from rxstream.testing.interactions_wire import gemini_interactions_sse
    from rxstream.testing.leaks import LeakError, assert_no_leaks, leftovers, settle
    from rxstream.testing.marble_assert import assert_timeline
    from rxstream.testing.marble_run import Timeline, timeline
    from rxstream.testing.marble_source import MarbleError, hot_marbles, marbles
    from rxstream.testing.marble_text import Marble, MarbleRow, draw_marbles, parse_marbles
    from rxstream.testing.ollama_wire import ollama_body, ollama_ndjson
    from rxstream.testing.record import Request, RequestRecord
    from rxstream.testing.responses_wire import responses_body, responses_sse
    from rxstream.testing.runner import BackgroundError, run
    from rxstream.testing.script import Reply, Script, error_reply, json_reply
    from rxstream.testing.scripted_answer import Answer
    from rxstream.testing.server import ScriptedProvider
    from rxstream.testing.steps import Close, Cut, Drip, Pause, Raw, Repeat, Reset, Send, Stall, Wait
    from rxstream.testing.threaded import ThreadedProvider
    from rxstream.testing.virtual_time import StuckError, VirtualClockLoop, run_virtual

# Where each public name lives. A name must not be that of a module of this room: importing the module would hide it.
_HOMES = {
    "answers": ("answer",),
    "anthropic_wire": ("anthropic_body", "anthropic_sse"),
    "bedrock_wire": ("converse_body", "converse_eventstream", "invoke_eventstream"),
    "chat_wire": ("openai_chat_body", "openai_chat_sse"),
    "chunks": (
        "cut",
        "cut_at",
        "every_two_way_cut",
        "json_token_offsets",
        "line_end_offsets",
        "random_cuts",
        "utf8_offsets",
    ),
    "cohere_v1_wire": ("cohere_v1_ndjson",),
    "cohere_wire": ("cohere_v2_body", "cohere_v2_sse"),
    "completions_wire": ("completions_body", "completions_sse"),
    "eventstream": ("pack_event", "pack_exception", "pack_message"),
    "faults": ("FaultProxy", "Faults"),
    "gemini_wire": ("gemini_array", "gemini_body", "gemini_sse"),
    "interactions_wire": ("gemini_interactions_sse",),
    "leaks": ("LeakError", "assert_no_leaks", "leftovers", "settle"),
    "marble_assert": ("assert_timeline",),
    "marble_run": ("Timeline", "timeline"),
    "marble_source": ("MarbleError", "hot_marbles", "marbles"),
    "marble_text": ("Marble", "MarbleRow", "draw_marbles", "parse_marbles"),
    "ollama_wire": ("ollama_body", "ollama_ndjson"),
    "record": ("Request", "RequestRecord"),
    "responses_wire": ("responses_body", "responses_sse"),
    "runner": ("BackgroundError", "run"),
    "script": ("Reply", "Script", "error_reply", "json_reply"),
    "scripted_answer": ("Answer",),
    "server": ("ScriptedProvider",),
    "steps": ("Close", "Cut", "Drip", "Pause", "Raw", "Repeat", "Reset", "Send", "Stall", "Wait"),
    "threaded": ("ThreadedProvider",),
    "virtual_time": ("StuckError", "VirtualClockLoop", "run_virtual"),
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
    "Marble",
    "MarbleError",
    "MarbleRow",
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
    "Timeline",
    "VirtualClockLoop",
    "Wait",
    "answer",
    "anthropic_body",
    "anthropic_sse",
    "assert_no_leaks",
    "assert_timeline",
    "cohere_v1_ndjson",
    "cohere_v2_body",
    "cohere_v2_sse",
    "completions_body",
    "completions_sse",
    "converse_body",
    "converse_eventstream",
    "cut",
    "cut_at",
    "draw_marbles",
    "error_reply",
    "every_two_way_cut",
    "gemini_array",
    "gemini_body",
    "gemini_interactions_sse",
    "gemini_sse",
    "hot_marbles",
    "invoke_eventstream",
    "json_reply",
    "json_token_offsets",
    "leftovers",
    "line_end_offsets",
    "marbles",
    "ollama_body",
    "ollama_ndjson",
    "openai_chat_body",
    "openai_chat_sse",
    "pack_event",
    "pack_exception",
    "pack_message",
    "parse_marbles",
    "random_cuts",
    "responses_body",
    "responses_sse",
    "run",
    "run_virtual",
    "settle",
    "timeline",
    "utf8_offsets",
)


if not TYPE_CHECKING:  # to type checkers a module with `__getattr__` has every name: they would pass a typo

    def __getattr__(name: str) -> Any:
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
