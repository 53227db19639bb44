"""Text that grows by pieces: kept as a list, joined when asked, bounded in bytes without a look at every piece.

Adding to a string attribute copies all of it each time. A list of pieces does not, but eight bytes in a string of
their own cost seventy, so small pieces are folded into larger ones as they come. Each character is copied twice at most
before it is read: once when folded, once when joined.

The bound is one of UTF-8 bytes. Counting them piece by piece would cost more than the append itself, so a budget hands
out `room` in characters (none is longer than four bytes) and counts exactly when the room is used up.
"""

from __future__ import annotations

from rxstream.errors import LimitError

__all__ = ("Budget", "Pieces", "utf8_length")

ROOM_CHARS = 4 * 1024
"""The most that is appended between two counts: it bounds how many uncounted (tiny) pieces can wait."""

FOLD_PIECES = 256
"""So many pieces are looked at together, and joined where they are small."""

SMALL_PIECE_CHARS = 256
"""Below this the object around a piece weighs more than a copy of it."""

MOST_BYTES_PER_CHAR = 4


def utf8_length(text: str) -> int:
    """The bytes of `text` as UTF-8; a lone surrogate counts three."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


class Pieces:
    """A text that only ever grows at its end. `items` and `room` are open for the one hot path that appends inline."""

    __slots__ = ("_counted", "_folded", "_joined_away", "_uncounted_bytes", "items", "room")

    def __init__(self) -> None:
        self.items: list[str] = []
        self.room = -1
        self._counted = 0
        self._folded = 0
        self._joined_away = 0
        self._uncounted_bytes = 0

    @property
    def added(self) -> int:
        """How many pieces ever came, whatever was joined since."""
        return self._joined_away + len(self.items)

    @property
    def text(self) -> str:
        """All of it. The join is kept, so that asking again copies nothing."""
        if not self.items:
            return ""
        if len(self.items) > 1:
            self.replace("".join(self.items))
        return self.items[0]

    def replace(self, text: str) -> None:
        """Hold `text`, which says the same, as the one piece."""
        self._count()
        self._joined_away += len(self.items) - 1
        self.items[:] = (text,)
        self._counted = self._folded = 1

    def prefix(self, chars: int) -> str:
        """The first `chars` characters: what `text` was when it was that long."""
        text = self.text
        return text if len(text) == chars else text[:chars]

    def matches(self, text: str) -> bool:
        """Whether the pieces make up `text`, without joining them."""
        position = 0
        for piece in self.items:
            if not text.startswith(piece, position):
                return False
            position += len(piece)
        return position == len(text)

    def take_uncounted(self) -> int:
        """The bytes that came since this was asked last."""
        self._count()
        size, self._uncounted_bytes = self._uncounted_bytes, 0
        if len(self.items) - self._folded >= FOLD_PIECES:
            self._fold()
        return size

    def _count(self) -> None:
        fresh = self.items[self._counted :]
        if fresh:
            self._uncounted_bytes += utf8_length(fresh[0] if len(fresh) == 1 else "".join(fresh))
            self._counted = len(self.items)

    def _fold(self) -> None:
        fresh = self.items[self._folded :]
        if sum(map(len, fresh)) < len(fresh) * SMALL_PIECE_CHARS:
            self._joined_away += len(fresh) - 1
            self.items[self._folded :] = ("".join(fresh),)
        self._counted = self._folded = len(self.items)


class Budget:
    """How much text of one kind may still come, over all the texts it is spent on.

    Args:
        what: what is bounded, in words.
        limit: the bound in bytes.
        setting: the field of `Limits` that set it.
    """

    __slots__ = ("_current", "_limit", "_setting", "_used", "_what")

    def __init__(self, what: str, limit: int, setting: str) -> None:
        self._what = what
        self._limit = limit
        self._setting = setting
        self._used = 0
        self._current: Pieces | None = None  # the only one that may hold bytes not counted yet

    def add(self, pieces: Pieces, text: str) -> None:
        """Append `text` to `pieces`.

        Raises:
            LimitError: it does not fit; `pieces` is what it was.
        """
        if pieces is self._current and text:
            room = pieces.room - len(text)
            if room >= 0:
                pieces.room = room
                pieces.items.append(text)
                return
        self.charge(utf8_length(text))
        self._switch_to(pieces, text)

    def charge(self, size: int) -> None:
        """Spend `size` bytes on something that is kept elsewhere.

        Raises:
            LimitError: they do not fit, and were not spent.
        """
        if self._current is not None:
            self._used += self._current.take_uncounted()
        used = self._used + size
        if used > self._limit:
            raise LimitError(self._what, limit=self._limit, value=used, setting=self._setting)
        self._used = used
        if self._current is not None:
            self._current.room = self._room()

    def _switch_to(self, pieces: Pieces, text: str) -> None:
        if text:
            pieces.items.append(text)
            pieces.take_uncounted()  # `charge` has counted it
        pieces.room = self._room()
        self._current = pieces

    def _room(self) -> int:
        return min(ROOM_CHARS, (self._limit - self._used) // MOST_BYTES_PER_CHAR)
