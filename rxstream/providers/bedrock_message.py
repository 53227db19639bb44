"""One message of Converse, besides its content: why it stopped and what it cost.

The input that was read from or written to a cache stands beside `inputTokens`, as on Anthropic's wire. Servers are seen
that count it in; the total tells where there is one.

Source: the user guide's page on prompt caching; botocore's `TokenUsage`.
"""

from __future__ import annotations

from typing import Final

from rxstream.events import Event, Finish, FinishReason, Usage, UsageUpdate, Violation
from rxstream.providers.bedrock_blocks import ConverseContext
from rxstream.providers.fields import JsonObject, leftovers, string_field, whole_number
from rxstream.providers.finish import normalize_finish, reconcile_finish

__all__ = ("Message", "converse_usage")

STOP_KEYS: Final = frozenset({"stopReason"})

INPUT: Final = ("inputTokens", "inputTokenCount")
OUTPUT: Final = ("outputTokens", "outputTokenCount")
CACHE_READ: Final = ("cacheReadInputTokens", "cacheReadInputTokenCount")
CACHE_WRITE: Final = ("cacheWriteInputTokens", "cacheWriteInputTokenCount")


class Message:
    """What is known of a message; `Finish` is held here until the end.

    Args:
        context: what its blocks share.

    Attributes:
        has_metadata: its metadata came.
        has_late_content: content came behind its stop reason.
    """

    __slots__ = ("_context", "_is_finished", "_stop_detail", "_stop_reason", "has_late_content", "has_metadata")

    def __init__(self, context: ConverseContext) -> None:
        self._context = context
        self._stop_reason = ""
        self._stop_detail: JsonObject = {}
        self._is_finished = False
        self.has_metadata = False
        self.has_late_content = False

    def take_stop(self, event: JsonObject) -> None:
        """Read `messageStop`: the reason, and what stands beside it."""
        self._stop_reason = string_field(event, "stopReason") or self._stop_reason
        self._stop_detail = leftovers(event, STOP_KEYS) or self._stop_detail

    def take_metadata(self, event: JsonObject, out: list[Event]) -> None:
        """Read the usage of `metadata`."""
        self.has_metadata = True
        usage = event.get("usage")
        if isinstance(usage, dict) and usage:
            out.append(UsageUpdate(converse_usage(usage)))
        elif usage:
            out.append(Violation("usage_type", f"usage is a {type(usage).__name__}"))

    @property
    def reason(self) -> FinishReason | None:
        """Why it stopped; None where it has not said so."""
        reason = normalize_finish(self._stop_reason)
        return None if reason is None else reconcile_finish(reason, has_calls=self._context.message_calls > 0)

    def tell_faults(self, out: list[Event]) -> None:
        """Tell of calls that were stopped and cannot run."""
        faults = self._context.faults
        # A call that is cut at the answer's limit breaks no rule, although its block was stopped.
        if faults and self.reason != "length":
            out.append(Violation("invalid_tool_call", f"a finished tool call cannot run: {faults[0]}", len(faults)))

    def send_finish(self, out: list[Event]) -> None:
        """Send the finish that was held, once."""
        reason = self.reason
        if reason is not None and not self._is_finished:
            self._is_finished = True
            out.append(Finish(reason, self._stop_reason, detail=self._stop_detail or None))


def converse_usage(raw: JsonObject) -> Usage:
    """Read a `TokenUsage`, or the same counts under the names that InvokeModel has for them.

    Args:
        raw: as sent; it is kept in `Usage.raw`.
    """
    given, made, total = _count(raw, INPUT), _count(raw, OUTPUT), whole_number(raw.get("totalTokens"))
    cache_read, cache_write = _count(raw, CACHE_READ), _count(raw, CACHE_WRITE)
    cached = (cache_read or 0) + (cache_write or 0)
    is_counted_in = given is not None and made is not None and given + made == total
    return Usage(
        input_tokens=given if given is None or is_counted_in else given + cached,
        output_tokens=made,
        total_tokens=total,
        cached_input_tokens=cache_read,
        cache_write_tokens=cache_write,
        raw=raw,
    )


def _count(raw: JsonObject, names: tuple[str, ...]) -> int | None:
    return next((count for name in names if (count := whole_number(raw.get(name))) is not None), None)
