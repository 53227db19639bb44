"""Every bound of the library has its name and its default."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from rxstream.limits import DEFAULT_LIMITS, Limits

KIB, MIB = 1024, 1024 * 1024

DEFAULTS: dict[str, float] = {
    "max_chunk_bytes": 64 * KIB,
    "max_line_bytes": 8 * MIB,
    "max_frame_bytes": 8 * MIB,
    "max_eventstream_frame_bytes": 24 * MIB,
    "max_eventstream_headers_bytes": 128 * KIB,
    "max_error_body_bytes": 64 * KIB,
    "max_buffered_events": 256,
    "max_buffered_bytes": 1 * MIB,
    "max_unapplied_events": 256,
    "max_batch_bytes": 8 * KIB,
    "max_batch_wait_seconds": 0.025,
    "max_text_bytes": 16 * MIB,
    "max_arguments_bytes": 4 * MIB,
    "max_media_bytes": 64 * MIB,
    "max_kept_events": 10_000,
    "max_json_depth": 128,
    "max_concurrent_tools": 4,
    "max_tool_calls": 128,
    "max_pending_frames": 64,
    "max_recorded_events": 100_000,
    "max_recorded_bytes": 256 * MIB,
    "max_cleanup_seconds": 5,
}


def test_every_bound_has_its_default() -> None:
    assert DEFAULT_LIMITS.model_dump() == DEFAULTS


def test_every_bound_says_what_it_bounds() -> None:
    assert all(field.description for field in Limits.model_fields.values())


@pytest.mark.parametrize("name", DEFAULTS)
def test_no_bound_may_be_zero(name: str) -> None:
    with pytest.raises(ValidationError):
        Limits.model_validate({name: 0})


def test_an_unknown_bound_is_refused() -> None:
    with pytest.raises(ValidationError):
        Limits.model_validate({"max_lines": 1})


def test_limits_never_change() -> None:
    with pytest.raises(ValidationError):
        DEFAULT_LIMITS.max_text_bytes = 1
