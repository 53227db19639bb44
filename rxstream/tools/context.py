"""What a tool is told about its call, and how it tells the model that it failed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from rxstream.cancellation import Cancellation

__all__ = ("ToolContext", "ToolError")


class ToolError(Exception):
    """What a tool raises to tell the model what went wrong: its message is shown, that of any other exception is not.

    raise rxs.ToolError("there is no city of that name; ask for the country as well")
    """


@dataclass(slots=True, frozen=True)
class ToolContext:
    """One call, as the tool that runs it sees it. A tool gets it in any parameter with this annotation.

        async def pay(amount: int, context: rxs.ToolContext) -> str:
            return await bank.pay(amount, key=context.idempotency_key)

    Args:
        call_id: the call's id.
        idempotency_key: 32 hex digits that are the same whenever this very call is run again (a replay of the recorded
            answer, a second subscriber), and those of no other call: a service that knows keys has the effect once.
        cancellation: cancelled when the result is of no use any more: the stream was stopped, disposed or failed, or
            the time is over. The tool's task is cancelled too; who runs in a thread looks at `is_cancelled`.
        deadline: when its time is over, in seconds on `clock`; None where there is no limit.
        clock: the loop's clock.
    """

    call_id: str
    idempotency_key: str
    cancellation: Cancellation
    deadline: float | None = None
    clock: Callable[[], float] = field(default=time.monotonic, repr=False, compare=False)

    @property
    def remaining_seconds(self) -> float | None:
        """How much time is left; None where there is no limit."""
        return None if self.deadline is None else max(0.0, self.deadline - self.clock())
