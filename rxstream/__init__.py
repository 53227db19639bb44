"""Reactive dataflow pipelines for language-model streams.

A provider's HTTP stream becomes an `Observable` of typed events; operators do the framing, the decoding, the batching
of text and the bounded buffering; whoever consumes slowly pauses the provider's socket, and whoever leaves closes it.

    import rxstream as rxs
    from rxstream import operators as ops

    events = rxs.http_stream(client, "POST", url, json=body).pipe(ops.parse("openai-chat"), ops.bounded_buffer())
    async for event in rxs.iterate(events): ...

Every name is loaded when it is first asked for: importing the package costs nothing.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

if TYPE_CHECKING:
    from rxstream.cancellation import Cancellation
    from rxstream.consume.collect import collect
    from rxstream.consume.fold import FoldResult, fold
    from rxstream.consume.iterate import EventIterator, iterate
    from rxstream.consume.sink import Sink, StreamEnd
    from rxstream.consume.subscribe import Subscription, subscribe
    from rxstream.diagnostics import DiagnosticRecord, Diagnostics, FileDiagnostics, RedactionPolicy
    from rxstream.endpoint.connect import connect
    from rxstream.endpoint.endpoint import Endpoint
    from rxstream.errors import (
        BufferOverflow,
        ConsistencyError,
        DecodeError,
        FrameTooLargeError,
        FramingError,
        LimitError,
        PolicyError,
        ProviderError,
        PublicError,
        RequestError,
        RetryHint,
        StreamError,
        StreamTimeoutError,
        TransportError,
        TruncatedFrameError,
        TruncatedStreamError,
    )
    from rxstream.events import (
        Annotation,
        CancelCause,
        Cancelled,
        Event,
        Finish,
        FinishReason,
        MediaDelta,
        ProviderEvent,
        ReasoningDelta,
        ReasoningSignature,
        RefusalDelta,
        ResponseFinal,
        ResponseStart,
        ServerToolCall,
        ServerToolResult,
        TextDelta,
        ToolCall,
        ToolCallDelta,
        ToolCallInvalid,
        ToolCallStart,
        ToolResult,
        Usage,
        UsageUpdate,
        Violation,
        event_json_schema,
    )
    from rxstream.limits import Limits
    from rxstream.providers.registry import register_provider, register_wire, wire_names
    from rxstream.requests.message import Message
    from rxstream.requests.model_request import ModelRequest
    from rxstream.requests.options import Tool
    from rxstream.response.report import StreamReport
    from rxstream.response.response import Outcome, Response
    from rxstream.sources.aiter import from_aiter
    from rxstream.sources.chunks import from_chunks
    from rxstream.sources.http import http_stream
    from rxstream.sources.iterable import from_iterable
    from rxstream.sources.replay import replay
    from rxstream.tools.context import ToolContext, ToolError
    from rxstream.tools.function_tool import FunctionTool, tool
    from rxstream.turns.collect_turns import TurnsResult, collect_turns
    from rxstream.turns.run_turns import run_turns

_HOMES = {
    "rxstream.cancellation": ("Cancellation",),
    "rxstream.consume.collect": ("collect",),
    "rxstream.consume.fold": ("FoldResult", "fold"),
    "rxstream.consume.iterate": ("EventIterator", "iterate"),
    "rxstream.consume.sink": ("Sink", "StreamEnd"),
    "rxstream.consume.subscribe": ("Subscription", "subscribe"),
    "rxstream.diagnostics": ("DiagnosticRecord", "Diagnostics", "FileDiagnostics", "RedactionPolicy"),
    "rxstream.endpoint.connect": ("connect",),
    "rxstream.endpoint.endpoint": ("Endpoint",),
    "rxstream.errors": (
        "BufferOverflow",
        "ConsistencyError",
        "DecodeError",
        "FrameTooLargeError",
        "FramingError",
        "LimitError",
        "PolicyError",
        "ProviderError",
        "PublicError",
        "RequestError",
        "RetryHint",
        "StreamError",
        "StreamTimeoutError",
        "TransportError",
        "TruncatedFrameError",
        "TruncatedStreamError",
    ),
    "rxstream.events": (
        "Annotation",
        "CancelCause",
        "Cancelled",
        "Event",
        "Finish",
        "FinishReason",
        "MediaDelta",
        "ProviderEvent",
        "ReasoningDelta",
        "ReasoningSignature",
        "RefusalDelta",
        "ResponseFinal",
        "ResponseStart",
        "ServerToolCall",
        "ServerToolResult",
        "TextDelta",
        "ToolCall",
        "ToolCallDelta",
        "ToolCallInvalid",
        "ToolCallStart",
        "ToolResult",
        "Usage",
        "UsageUpdate",
        "Violation",
        "event_json_schema",
    ),
    "rxstream.limits": ("Limits",),
    "rxstream.providers.registry": ("register_provider", "register_wire", "wire_names"),
    "rxstream.requests.message": ("Message",),
    "rxstream.requests.model_request": ("ModelRequest",),
    "rxstream.requests.options": ("Tool",),
    "rxstream.response.report": ("StreamReport",),
    "rxstream.response.response": ("Outcome", "Response"),
    "rxstream.sources.aiter": ("from_aiter",),
    "rxstream.sources.chunks": ("from_chunks",),
    "rxstream.sources.http": ("http_stream",),
    "rxstream.sources.iterable": ("from_iterable",),
    "rxstream.sources.replay": ("replay",),
    "rxstream.tools.context": ("ToolContext", "ToolError"),
    "rxstream.tools.function_tool": ("FunctionTool", "tool"),
    "rxstream.turns.collect_turns": ("TurnsResult", "collect_turns"),
    "rxstream.turns.run_turns": ("run_turns",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = (
    "Annotation",
    "BufferOverflow",
    "CancelCause",
    "Cancellation",
    "Cancelled",
    "ConsistencyError",
    "DecodeError",
    "DiagnosticRecord",
    "Diagnostics",
    "Endpoint",
    "Event",
    "EventIterator",
    "FileDiagnostics",
    "Finish",
    "FinishReason",
    "FoldResult",
    "FrameTooLargeError",
    "FramingError",
    "FunctionTool",
    "LimitError",
    "Limits",
    "MediaDelta",
    "Message",
    "ModelRequest",
    "Outcome",
    "PolicyError",
    "ProviderError",
    "ProviderEvent",
    "PublicError",
    "ReasoningDelta",
    "ReasoningSignature",
    "RedactionPolicy",
    "RefusalDelta",
    "RequestError",
    "Response",
    "ResponseFinal",
    "ResponseStart",
    "RetryHint",
    "ServerToolCall",
    "ServerToolResult",
    "Sink",
    "StreamEnd",
    "StreamError",
    "StreamReport",
    "StreamTimeoutError",
    "Subscription",
    "TextDelta",
    "Tool",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallInvalid",
    "ToolCallStart",
    "ToolContext",
    "ToolError",
    "ToolResult",
    "TransportError",
    "TruncatedFrameError",
    "TruncatedStreamError",
    "TurnsResult",
    "Usage",
    "UsageUpdate",
    "Violation",
    "collect",
    "collect_turns",
    "connect",
    "event_json_schema",
    "fold",
    "from_aiter",
    "from_chunks",
    "from_iterable",
    "http_stream",
    "iterate",
    "register_provider",
    "register_wire",
    "replay",
    "run_turns",
    "subscribe",
    "tool",
    "wire_names",
)


if not TYPE_CHECKING:  # to type checkers a module with `__getattr__` has every name: they would pass a typo

    def __getattr__(name: str) -> _Any:
        home = _HOME_OF.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(_import_module(home), name)
        return value


del TYPE_CHECKING  # what this module has is what `__all__` says


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
