"""Every name that OpenTelemetry sees, in one table.

The conventions for generative AI are still in development and rename things; whoever needs other names gives `observe`
a table with some fields replaced. The defaults are what instrumentations of today emit: the metrics of
`gen_ai.client.operation.*` and `gen_ai.client.token.usage`, the span `gen_ai.client.inference`. Where the conventions
have no word, the name begins with `rxstream.`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ("NAMES", "SECONDS_BUCKETS", "TOKENS_BUCKETS", "Names")

SECONDS_BUCKETS: Final = tuple(0.01 * 2**step for step in range(14))
"""0.01 to 81.92 s, each twice the one before: what the conventions advise for durations."""

TOKENS_BUCKETS: Final = tuple(4**step for step in range(14))
"""1 to 67,108,864 tokens, each four times the one before."""


@dataclass(frozen=True, slots=True)
class Names:
    """Names of metrics and attributes; `dataclasses.replace(NAMES, duration="...")` changes one."""

    # Metrics
    duration: str = "gen_ai.client.operation.duration"
    time_to_first_chunk: str = "gen_ai.client.operation.time_to_first_chunk"
    time_per_output_chunk: str = "gen_ai.client.operation.time_per_output_chunk"
    token_usage: str = "gen_ai.client.token.usage"
    paused_duration: str = "rxstream.client.paused.duration"

    # The event that holds content
    content_event: str = "gen_ai.client.inference.operation.details"

    # Attributes, known when it begins
    operation: str = "gen_ai.operation.name"
    provider: str = "gen_ai.provider.name"
    request_model: str = "gen_ai.request.model"
    request_stream: str = "gen_ai.request.stream"
    server_address: str = "server.address"
    server_port: str = "server.port"

    # Attributes, known when it ends
    response_id: str = "gen_ai.response.id"
    response_model: str = "gen_ai.response.model"
    finish_reasons: str = "gen_ai.response.finish_reasons"
    first_chunk_seconds: str = "gen_ai.response.time_to_first_chunk"
    token_type: str = "gen_ai.token.type"
    input_tokens: str = "gen_ai.usage.input_tokens"
    output_tokens: str = "gen_ai.usage.output_tokens"
    cached_input_tokens: str = "gen_ai.usage.cache_read.input_tokens"
    cache_write_tokens: str = "gen_ai.usage.cache_write.input_tokens"
    reasoning_tokens: str = "gen_ai.usage.reasoning.output_tokens"
    error_type: str = "error.type"
    output_messages: str = "gen_ai.output.messages"

    # Ours
    outcome: str = "rxstream.outcome"
    cancel_cause: str = "rxstream.cancel.cause"
    error_phase: str = "rxstream.error.phase"
    correlation_id: str = "rxstream.error.correlation_id"
    paused_seconds: str = "rxstream.paused_seconds"
    buffered_bytes: str = "rxstream.buffered_bytes"
    dropped: str = "rxstream.dropped"
    content_is_cut: str = "rxstream.content_is_cut"


NAMES: Final = Names()
"""The names in use unless others are given."""
