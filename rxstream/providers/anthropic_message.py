"""One message of an Anthropic stream, besides its content: why it stopped and what it cost."""

from __future__ import annotations

from typing import Final, Literal

from rxstream.events import Event, Finish, FinishReason, Usage, UsageUpdate, Violation
from rxstream.providers.anthropic_blocks import BlockContext
from rxstream.providers.fields import JsonObject, WrongTypeError, whole_number
from rxstream.providers.finish import normalize_finish, reconcile_finish

__all__ = ("Message",)

COUNTS: Final = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")


class Message:
    """What is known of the open message; `Finish` is held here until the message ends.

    Args:
        response_id: its id; None where the wire sent none.
        context: what its blocks share.
    """

    __slots__ = ("_context", "_counts", "_raw_usage", "_stop_detail", "_stop_reason", "response_id")

    def __init__(self, response_id: str | None, context: BlockContext) -> None:
        self.response_id = response_id
        self._context = context
        self._stop_reason: str | int | None = None
        self._stop_detail: JsonObject = {}
        self._counts: dict[str, int] = {}
        self._raw_usage: JsonObject = {}

    def take_usage(self, place: Literal["start", "delta"], source: JsonObject, out: list[Event]) -> None:
        """Read the usage of `message_start` or of a `message_delta`.

        Counts are those of the whole message so far: a new one replaces, a missing or null one keeps what was known.
        """
        usage = source.get("usage")
        if not usage:
            return
        if not isinstance(usage, dict):
            out.append(Violation("usage_type", f"usage is a {type(usage).__name__}"))
            return
        self._counts.update({name: count for name in COUNTS if (count := whole_number(usage.get(name))) is not None})
        details = usage.get("output_tokens_details")
        if isinstance(details, dict) and (count := whole_number(details.get("thinking_tokens"))) is not None:
            self._counts["thinking_tokens"] = count
        # A new object: the one in the last event is not ours any more.
        self._raw_usage = {**self._raw_usage, place: usage}
        out.append(UsageUpdate(self._usage()))

    def take_stop(self, source: JsonObject) -> None:
        """Read a `stop_reason` and what stands beside it; the last that is not null wins."""
        reason = source.get("stop_reason")
        if isinstance(reason, (str, int)) and not isinstance(reason, bool):
            self._stop_reason = reason if reason != "" else self._stop_reason
        elif reason is not None:
            raise WrongTypeError("stop_reason", reason)
        for key in ("stop_sequence", "stop_details"):
            if (value := source.get(key)) is not None:
                self._stop_detail[key] = value

    @property
    def reason(self) -> FinishReason | None:
        """Why it stopped; None where it has not said so."""
        reason = normalize_finish(self._stop_reason)
        return None if reason is None else reconcile_finish(reason, has_calls=self._context.message_calls > 0)

    def take_finish(self, out: list[Event]) -> bool:
        """Send the finish that was held; tell whether there was one."""
        if (reason := self.reason) is None:
            return False
        out.append(Finish(reason, self._stop_reason, detail=self._stop_detail or None))
        return True

    def _usage(self) -> Usage:
        known = self._counts.get
        uncached, cache_read, cache_write = (known(name) for name in COUNTS[:3])
        return Usage(
            # The wire counts the three apart; all input is their sum.
            input_tokens=None if uncached is None else uncached + (cache_read or 0) + (cache_write or 0),
            output_tokens=known("output_tokens"),
            cached_input_tokens=cache_read,
            cache_write_tokens=cache_write,
            reasoning_tokens=known("thinking_tokens"),
            raw=self._raw_usage,
        )
