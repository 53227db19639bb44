"""How tools are to be run: what all subscriptions of one `run_tools` share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rxstream.cancellation import Cancellation
from rxstream.operators.tool_calls.run import DescribeError
from rxstream.tools.function_tool import FunctionTool

__all__ = ("ToolPlan",)


@dataclass(slots=True, frozen=True)
class ToolPlan:
    """The arguments of `run_tools`, checked.

    Raises:
        ValueError: a number is out of range.
    """

    tools: Mapping[str, FunctionTool]
    max_concurrency: int | None = None
    cancellation: Cancellation | None = None
    timeout_seconds: float | None = None
    in_call_order: bool = True
    describe_error: DescribeError | None = None
    key_scope: str = ""

    def __post_init__(self) -> None:
        if self.max_concurrency is not None and self.max_concurrency < 1:
            raise ValueError(f"max_concurrency must be at least 1, not {self.max_concurrency!r}")
        if self.timeout_seconds is not None and not self.timeout_seconds > 0:
            raise ValueError(f"timeout_seconds must be positive, not {self.timeout_seconds!r}")

    def seconds_for(self, tool: FunctionTool | None) -> float | None:
        """How long a call of `tool` may take; None is no limit."""
        own = None if tool is None else tool.timeout_seconds
        return self.timeout_seconds if own is None else own
