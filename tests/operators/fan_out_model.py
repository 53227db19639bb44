"""What fan-out must do, on plain lists: the reference of the model test, written for clearness only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rxstream.events import TextDelta
from tests.operators.buffer_model import BufferModel

PLENTY = 1 << 20


@dataclass
class BranchModel:
    """One branch.

    Args:
        policy: a built-in overflow policy's name; None is a branch without a buffer.
        max_events: the buffer's bound.
        low_water: the buffer's.
        is_fused: whether the consumer takes from the buffer itself; else a stock operator stands between.
    """

    policy: str | None
    max_events: int
    low_water: float
    is_fused: bool
    is_live: bool = True
    has_pull: bool = False
    got: list[Any] = field(default_factory=list)
    kept: list[Any] = field(default_factory=list)  # without a buffer: what came and was not taken yet
    discarded: int = 0  # of that, what nobody will take any more

    def __post_init__(self) -> None:
        self.buffer = BufferModel(self.policy or "pause", self.max_events, PLENTY, self.low_water)

    @property
    def is_open(self) -> bool:
        """Whether it asks for the next item."""
        if self.policy is None:
            return self.has_pull and not self.kept
        return not self.buffer.is_paused

    @property
    def waiting(self) -> list[Any]:
        return self.kept if self.policy is None else self.buffer.waiting

    def put(self, event: Any) -> None:
        if self.policy is None:
            self.kept.append(event)
        else:
            self.buffer.put(event)
        if self.has_pull and not (self.is_fused and self.policy):
            self.take()  # what pushes is there before the next item is

    def discard(self) -> None:
        """Nobody takes what was kept any more."""
        self.discarded += len(self.kept)
        self.kept = []

    def take(self) -> None:
        self.got.append(self.kept.pop(0) if self.policy is None else self.buffer.take())
        self.has_pull = False


class FanOutModel:
    """A source of `length` numbered events, and its branches."""

    def __init__(self, branches: list[BranchModel], length: int) -> None:
        self.branches = branches
        self.length = length
        self.sent = 0

    @property
    def live(self) -> list[BranchModel]:
        return [branch for branch in self.branches if branch.is_live]

    @property
    def has_ended(self) -> bool:
        return self.sent > self.length

    @property
    def is_open(self) -> bool:
        return bool(self.live) and all(branch.is_open for branch in self.live)

    def run(self) -> None:
        """Let happen what can: the source goes on while it may, then pulls that wait take what came."""
        self.send()
        for branch in self.branches:
            if branch.is_live and branch.has_pull and branch.waiting:
                branch.take()
                self.send()

    def send(self) -> None:
        while self.is_open and not self.has_ended:
            if self.sent < self.length:
                for branch in self.live:
                    branch.put(TextDelta(str(self.sent)))
            self.sent += 1  # the last time, the end

    def pull(self, branch: BranchModel) -> None:
        branch.has_pull = True
        if branch.waiting:
            branch.take()
        self.run()

    def withdraw(self, branch: BranchModel) -> None:
        branch.has_pull = False

    def leave(self, branch: BranchModel) -> None:
        branch.is_live = branch.has_pull = False
        branch.discard()
        self.run()
