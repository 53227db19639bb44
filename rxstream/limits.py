"""Every bound of the library, in one model."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

__all__ = ("DEFAULT_LIMITS", "Limits")

Count = Annotated[int, Field(ge=1)]
Bytes = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0)]

KIB = 1024
MIB = 1024 * KIB


class Limits(BaseModel):
    """What may be held at once. Reaching one is a named error, never a silent cut.

    An operator's own argument wins over its `limits`, which wins over those given to `iterate`, `subscribe` or
    `collect` (they travel with the subscription), which win over these defaults.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_chunk_bytes: Bytes = Field(
        default=64 * KIB, description="bytes a source hands on at once; a longer read is cut"
    )
    max_line_bytes: Bytes = Field(default=8 * MIB, description="one line of SSE or NDJSON")
    max_frame_bytes: Bytes = Field(default=8 * MIB, description="one SSE event, NDJSON line or array element")
    max_eventstream_frame_bytes: Bytes = Field(default=24 * MIB, description="one AWS event stream message")
    max_eventstream_headers_bytes: Bytes = Field(
        default=128 * KIB, description="the headers of one AWS event stream message"
    )
    max_error_body_bytes: Bytes = Field(default=64 * KIB, description="what is read of the body of an HTTP error")
    max_buffered_events: Count = Field(default=256, description="events in a bounded buffer")
    max_buffered_bytes: Annotated[int, Field(ge=128)] = Field(default=1 * MIB, description="bytes in a bounded buffer")
    max_unapplied_events: Count = Field(
        default=256, description="events a consumer keeps that came while it did not ask"
    )
    max_batch_bytes: Annotated[int, Field(ge=4)] = Field(default=8 * KIB, description="text joined into one event")
    max_batch_wait_seconds: Seconds = Field(default=0.025, description="how long joined text waits for more")
    max_text_bytes: Bytes = Field(default=16 * MIB, description="text of one response; reasoning apart, the same")
    max_arguments_bytes: Bytes = Field(default=4 * MIB, description="arguments of one tool call")
    max_media_bytes: Bytes = Field(default=64 * MIB, description="base64 media of one response")
    max_kept_events: Count = Field(default=10_000, description="annotations and provider events that a response keeps")
    max_json_depth: Count = Field(default=128, description="nesting of one frame's JSON")
    max_concurrent_tools: Count = Field(default=4, description="tools that run at once")
    max_tool_calls: Count = Field(default=128, description="tool calls of one response")
    max_pending_frames: Count = Field(default=64, description="frames that wait for one WebSocket")
    max_recorded_events: Count = Field(default=100_000, description="chunks or events of one recording")
    max_recorded_bytes: Bytes = Field(default=256 * MIB, description="one recording, as it is written")
    max_cleanup_seconds: Seconds = Field(default=5.0, description="how long closing may take after the end")


DEFAULT_LIMITS = Limits()
