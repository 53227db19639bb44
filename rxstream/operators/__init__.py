"""Operators: Observable to Observable, one operator per file.

`from rxstream import operators as ops`, then `source.pipe(ops.parse("openai-chat"), ops.bounded_buffer(), ...)`; they
stand in one pipe with the operators of `reactivex`.

A file has the name of its operator, but for the parts that several share: `buffer/` (of `bounded_buffer`, `fan_out` and
`share_bounded`), `overflow` (its policies), `branch` and `hub` (of the two that share a source), `tool_calls/` (of
`run_tools`), `clock` (of the three that run out of time), `framings` (of `frame` and `parse`), and `event_size`.
"""

from rxstream.operators import overflow
from rxstream.operators.batch_text import batch_text
from rxstream.operators.bounded_buffer import BufferStats, bounded_buffer
from rxstream.operators.cancel_on import cancel_on
from rxstream.operators.deadline import deadline
from rxstream.operators.decode import decode
from rxstream.operators.encode import encode
from rxstream.operators.event_size import event_bytes
from rxstream.operators.fan_out import fan_out
from rxstream.operators.first_event_timeout import first_event_timeout
from rxstream.operators.frame import frame, frame_eventstream, frame_json_array, frame_ndjson, frame_sse
from rxstream.operators.idle_timeout import idle_timeout
from rxstream.operators.parse import parse
from rxstream.operators.partial_objects import PartialObject, partial_objects
from rxstream.operators.project import project
from rxstream.operators.record import record
from rxstream.operators.redact import redact
from rxstream.operators.require_terminal import require_terminal
from rxstream.operators.retry_before_output import Attempt, retry_before_output
from rxstream.operators.run_tools import run_tools
from rxstream.operators.share_bounded import share_bounded
from rxstream.operators.to_response import snapshots, to_response

__all__ = (
    "Attempt",
    "BufferStats",
    "PartialObject",
    "batch_text",
    "bounded_buffer",
    "cancel_on",
    "deadline",
    "decode",
    "encode",
    "event_bytes",
    "fan_out",
    "first_event_timeout",
    "frame",
    "frame_eventstream",
    "frame_json_array",
    "frame_ndjson",
    "frame_sse",
    "idle_timeout",
    "overflow",
    "parse",
    "partial_objects",
    "project",
    "record",
    "redact",
    "require_terminal",
    "retry_before_output",
    "run_tools",
    "share_bounded",
    "snapshots",
    "to_response",
)
