"""Waiting text, joined: what `coalesce` does to a queue."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from rxstream.operators.buffer.loss import Loss
from rxstream.operators.overflow import can_join
from rxstream.response.pieces import FOLD_PIECES, Pieces

__all__ = ("Tail", "joined_text")


class Tail:
    """What was joined to the newest event that waits. It is put together when that leaves or another comes behind it.

    To join each piece as it comes would copy all that waits each time.
    """

    __slots__ = ("_pieces",)

    def __init__(self) -> None:
        self._pieces = Pieces()  # bounded: by the buffer's max_bytes

    def add(self, text: str) -> None:
        """Join `text` behind all that was joined before."""
        items = self._pieces.items
        if text:
            items.append(text)
            if not len(items) % FOLD_PIECES:
                self._pieces.take_uncounted()  # and fold them

    def joined_to(self, event: Any) -> Any:
        """The event with all of it."""
        return replace(event, text=event.text + self._pieces.text)


def joined_text(events: Iterable[Any], loss: Loss) -> list[Any]:
    """`events`, every run of text that can be joined as one event; the loss stands between two and keeps its place."""
    runs: list[list[Any]] = []
    loss_at = loss.place if loss.waiting is not None else -1
    count = 0
    for index, event in enumerate(events):
        count = index + 1
        if index == loss_at:
            loss.place = len(runs)
        if runs and index != loss_at and can_join(runs[-1][-1], event):
            runs[-1].append(event)
        else:
            runs.append([event])
    if loss_at >= count:
        loss.place = len(runs)
    return [run[0] if len(run) == 1 else replace(run[0], text="".join(e.text for e in run)) for run in runs]
