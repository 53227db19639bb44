"""Where a piece of an answer belongs, on the wires that have no part ids: they are made here.

A part is a run of one kind. A new one begins whenever the kind changes or a call stands in between; text behind a call
is never added to the text before it. A signature that comes after its reasoning was left goes to that reasoning. One
that names its block ends it: plain reasoning that follows, which names none, is another block.
"""

from __future__ import annotations

from collections.abc import Hashable

__all__ = ("PartTracker",)

REASONING = "reasoning"


class PartTracker:
    """The part that is open in one choice.

    Args:
        choice: its index; ids are unique over all choices.
    """

    __slots__ = ("_choice", "_count", "_key", "_kind", "_reasoning_id", "_reasoning_key", "_signed_id", "part_id")

    def __init__(self, choice: int) -> None:
        self._choice = choice
        self._count = 0
        self._kind = ""
        self._key: Hashable = None
        self._reasoning_id = ""
        self._reasoning_key: Hashable = None
        self._signed_id = ""  # the part whose block a signature has named
        self.part_id = ""

    @property
    def kind(self) -> str:
        """The kind of the part that is open; empty at the start."""
        return self._kind

    def enter(self, kind: str, key: Hashable = None) -> str:
        """The part for a piece of `kind`.

        Args:
            kind: what the piece is.
            key: the wire's own name of a block; another key of the same kind is another part, None is the open one.
        """
        is_other = key is not None and self._key is not None and key != self._key
        if kind != self._kind or is_other or (key is None and kind == REASONING and self.part_id == self._signed_id):
            self.begin(kind)
        if key is not None:
            self._key = key
        if kind == REASONING:
            self._reasoning_id, self._reasoning_key = self.part_id, self._key
        return self.part_id

    def enter_call(self) -> str:
        """A new part, for a call that begins."""
        return self.begin("call")

    def pass_call(self) -> None:
        """A fragment of a call came: what follows is not what was open before."""
        self._kind = "call"

    def reasoning_part(self, key: Hashable = None) -> str:
        """The part that a signature belongs to: the latest reasoning with that key, or a new one."""
        is_known = key is None or self._reasoning_key is None or key == self._reasoning_key
        if not self._reasoning_id or not is_known:
            self.enter(REASONING, key)
        if key is not None:
            self._reasoning_key, self._signed_id = key, self._reasoning_id
        return self._reasoning_id

    def begin(self, kind: str) -> str:
        """A new part for a piece of `kind`, whatever is open."""
        self.part_id = f"{self._choice}.{self._count}"
        self._count += 1
        self._kind = kind
        self._key = None
        return self.part_id
