"""Which calls of a stream a tool may run for: each one once, so many of them, and under which key."""

from __future__ import annotations

import hashlib
import uuid

from rxstream.errors import LimitError
from rxstream.events import Event, Finish, ResponseStart, ToolCall

__all__ = ("CallLedger",)


class CallLedger:
    """Keep account of one stream's calls.

    A call that a proxy repeats has the same id in the same message: its tool has run. Another message may use the id
    again, for some servers count their calls from zero.

    Args:
        max_calls: how many may run; `Limits.max_tool_calls`.
        key_scope: goes into every key.
    """

    __slots__ = (
        "_admitted",
        "_anonymous",
        "_has_finish",
        "_key_scope",
        "_max_calls",
        "_message",
        "_response_id",
        "_seen",
    )

    def __init__(self, max_calls: int, key_scope: str) -> None:
        self._max_calls = max_calls
        self._key_scope = key_scope
        self._anonymous = uuid.uuid4().hex
        self._response_id: str | None = None
        self._message = 0
        self._has_finish = False
        self._seen: set[str] = set()  # bounded: max_calls, in admit
        self._admitted = 0

    def note(self, event: Event) -> None:
        """Follow where messages begin and end."""
        if isinstance(event, Finish):
            self._has_finish = True
        elif isinstance(event, ResponseStart):
            if self._has_finish or self._is_another(event.response_id):
                self._message += 1
                self._has_finish = False
                self._seen.clear()
            self._response_id = event.response_id or self._response_id

    def _is_another(self, response_id: str | None) -> bool:
        return bool(self._response_id and response_id and response_id != self._response_id)

    def admit(self, call: ToolCall) -> bool:
        """Whether `call` is a new one.

        Raises:
            LimitError: it is one too many.
        """
        if call.call_id in self._seen:
            return False
        if self._admitted >= self._max_calls:
            raise LimitError(
                "tool calls of one stream", limit=self._max_calls, value=self._admitted + 1, setting="max_tool_calls"
            )
        self._admitted += 1
        self._seen.add(call.call_id)
        return True

    def key(self, call: ToolCall) -> str:
        """The call's idempotency key: the same for the same call of the same recorded answer.

        Without a response id two answers could not be told apart, so that each subscription has keys of its own.
        """
        parts = (
            self._key_scope,
            self._response_id or self._anonymous,
            str(self._message),
            call.call_id,
            call.name,
            call.arguments,
        )
        digest = hashlib.sha256()
        for part in parts:
            text = part.encode("utf-8", "surrogatepass")
            digest.update(b"%d:%b" % (len(text), text))
        return digest.hexdigest()[:32]
