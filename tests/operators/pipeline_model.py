"""What a hot source, a batcher and branches with buffers must do together, on plain lists, written for clearness."""

from __future__ import annotations

from typing import Any

from rxstream.events import Cancelled, ReasoningDelta, TextDelta
from tests.operators.fan_out_model import BranchModel

JOINED = (TextDelta, ReasoningDelta)


class BatchModel:
    """Text that waits to be joined.

    Args:
        wait_seconds: how long the first piece of a batch waits.
        max_bytes: the bound of a batch; its text is ASCII here.
    """

    def __init__(self, wait_seconds: float, max_bytes: int) -> None:
        self.wait_seconds = wait_seconds
        self.max_bytes = max_bytes
        self.kind: Any = None
        self.text = ""
        self.due_at: float | None = None

    def joins(self, event: Any) -> bool:
        """Whether it only adds to the batch that waits."""
        return bool(self.text) and type(event) is self.kind and len(self.text) + len(event.text) < self.max_bytes

    def put(self, event: Any, now: float) -> list[Any]:
        """Take an event in. Returns what leaves for it."""
        if type(event) not in JOINED:
            return [*self.take(), event]
        out = [] if type(event) is self.kind else self.take()
        self.kind = type(event)
        for start in range(0, len(event.text), self.max_bytes):
            piece = event.text[start : start + self.max_bytes]
            if len(self.text) + len(piece) > self.max_bytes:
                out += self.take()
            if not self.text:
                self.due_at = now + self.wait_seconds
            self.text += piece
            if len(self.text) == self.max_bytes:
                out += self.take()
        return out

    def take(self) -> list[Any]:
        """The batch, where there is one."""
        text, self.text, self.due_at = self.text, "", None
        return [self.kind(text)] if text else []

    def is_due(self, now: float) -> bool:
        return self.due_at is not None and now >= self.due_at


class PipelineModel:
    """A source that cannot pause, `cancel_on`, `batch_text` and `fan_out` into buffers.

    Args:
        branches: one policy, bound and consumer each.
        batch: the batcher.
    """

    def __init__(self, branches: list[BranchModel], batch: BatchModel) -> None:
        self.branches = branches
        self.batch = batch
        self.now = 0.0
        self.parked: list[Any] = []  # what the batcher made and could not send
        self.end: str | None = None  # of the source: completed, failed or cancelled
        self.is_told = False  # whether the branches know
        self.in_hand: dict[int, int] = {}  # by branch: what it had got before what is sent now, in one go

    # Who is there ----------------------------------------------------------------------------------------------------

    def joined(self) -> list[BranchModel]:
        """The branches that still get what comes."""
        if self.is_told:
            return []
        return [branch for branch in self.branches if branch.is_live and branch.buffer.end is None]

    @property
    def is_over(self) -> bool:
        """Whether nothing is read from the source any more."""
        return self.end is not None or not self.joined()

    @property
    def is_open(self) -> bool:
        return bool(self.joined()) and all(branch.is_open for branch in self.joined())

    # What happens ----------------------------------------------------------------------------------------------------

    def push(self, event: Any) -> None:
        """The source sends, whether or not somebody asks."""
        if self.is_over:
            return
        was_parked = bool(self.parked) or self.batch.is_due(self.now)
        is_joined = self.batch.joins(event)
        out = self.batch.put(event, self.now)
        if is_joined:
            return
        if not was_parked:
            self.parked = out
        elif out:  # what only begins a batch takes no room
            self.send_unasked([*self.parked, *out])
        self.run()

    def advance(self, seconds: float) -> None:
        self.now += seconds
        self.run()

    def finish(self, end: str) -> None:
        """The source completes or fails: what waits goes first."""
        if not self.is_over:
            self.end = end
            self.parked += self.batch.take()
            self.run()

    def cancel(self) -> None:
        """`Cancelled` overtakes all that waits."""
        if self.is_over:
            return
        joined, self.end, self.is_told, self.parked = self.joined(), "cancelled", True, []
        self.batch.take()
        for branch in joined:
            branch.discard()
            branch.put(Cancelled("deadline"))
        self.run()

    def pull(self, branch: BranchModel) -> None:
        branch.has_pull = True
        self.run()

    def withdraw(self, branch: BranchModel) -> None:
        branch.has_pull = False

    def leave(self, branch: BranchModel) -> None:
        branch.is_live = branch.has_pull = False
        branch.discard()
        if not self.joined():
            self.parked = []
            self.batch.take()
        self.run()

    # How it goes on --------------------------------------------------------------------------------------------------

    def send_unasked(self, items: list[Any]) -> None:
        self.parked = []
        self.in_hand = {}
        for item in items:
            self.send(item)

    def send(self, item: Any) -> None:
        for branch in self.joined():
            before = self.in_hand.setdefault(id(branch), len(branch.got))
            branch.put(item)
            if branch.buffer.end == "cancelled" and len(branch.got) > before:  # overtaken
                branch.got[before:] = [branch.buffer.waiting.pop(0)]

    def run(self) -> None:
        """Let happen what can, until nothing does."""
        self.send_while_open()
        while takers := [branch for branch in self.branches if branch.has_pull and branch.waiting]:
            takers[0].take()
            self.send_while_open()
        for branch in self.branches:
            if branch.has_pull and self.has_ended(branch):
                branch.has_pull = False

    def send_while_open(self) -> None:
        self.in_hand = {}
        if self.is_open and self.batch.is_due(self.now):
            self.parked += self.batch.take()  # it grows no more, whether or not the gate stays open for it
        while self.is_open and self.parked:
            self.send(self.parked.pop(0))
        if not self.joined():
            self.parked = []
            self.batch.take()
        if self.end is not None and not self.parked and not self.is_told:
            for branch in self.joined():
                branch.buffer.complete()
            self.is_told = True

    def has_ended(self, branch: BranchModel) -> bool:
        """Whether the branch has nothing to give but its end."""
        return not branch.waiting and (self.is_told or branch.buffer.end is not None)
