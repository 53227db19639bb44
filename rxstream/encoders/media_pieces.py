"""Media that a format wants whole: its pieces wait for the last one, under a limit."""

from __future__ import annotations

from rxstream.errors import LimitError
from rxstream.events import MediaDelta
from rxstream.limits import DEFAULT_LIMITS, Limits

__all__ = ("MediaPieces",)


class MediaPieces:
    """The one piece of media that is being gathered.

    Args:
        limits: `max_media_bytes` bounds it.
    """

    __slots__ = ("_limit", "_media_type", "_pieces", "_size", "part_id")

    def __init__(self, limits: Limits | None = None) -> None:
        self._limit = (limits or DEFAULT_LIMITS).max_media_bytes
        self._media_type = ""
        self._pieces: list[str] = []  # bounded: max_media_bytes, in add
        self._size = 0
        self.part_id = ""

    def continues(self, event: MediaDelta) -> bool:
        """Whether a piece belongs to what is being gathered."""
        return bool(self._pieces) and (event.part_id, event.media_type) == (self.part_id, self._media_type)

    def add(self, event: MediaDelta) -> None:
        """Gather a piece.

        Raises:
            LimitError: all of it is over `max_media_bytes`.
        """
        self._size += len(event.data)
        if self._size > self._limit:
            what = "media that must be sent whole"
            raise LimitError(what, limit=self._limit, value=self._size, setting="max_media_bytes")
        self.part_id, self._media_type = event.part_id, event.media_type
        self._pieces.append(event.data)

    def take(self) -> tuple[str, str] | None:
        """Its media type and its `data:` address, and begin anew; None where nothing was gathered."""
        if not self._pieces:
            return None
        url = f"data:{self._media_type};base64,{''.join(self._pieces)}"
        self._pieces, self._size = [], 0
        return self._media_type, url
