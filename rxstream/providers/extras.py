"""What a wire says and no event has a member for: kept as `ProviderEvent`, without a flood.

Servers repeat such fields in every chunk (content filters) or change them in every chunk (counters, timings). So a
field is sent on when it says something new; a field that has done so often is sent once more at the end, with its last
value. A stream of 100,000 chunks then gives a handful of these events and not 100,000.
"""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue
from pydantic_core import to_json

from rxstream.events import Event, ProviderEvent

__all__ = ("Extras",)

MAX_CHANGES: Final = 16
"""So often a field is sent on as it changes."""

MAX_FIELDS: Final = 256
"""So many fields are remembered; those beyond are sent on each time."""


class _Field:
    """What was said of one field."""

    __slots__ = ("changes", "mark", "waiting")

    def __init__(self) -> None:
        self.changes = 0
        self.mark = 0
        self.waiting: ProviderEvent | None = None


class Extras:
    """The fields of one stream that have no member."""

    __slots__ = ("_fields",)

    def __init__(self) -> None:
        self._fields: dict[tuple[str, int], _Field] = {}  # bounded: MAX_FIELDS

    def offer(self, event: ProviderEvent, out: list[Event]) -> None:
        """Send `event` on where its field says something new."""
        if event.data is False or not _says_something(event.data):
            return
        field = self._field(event.name, event.choice)
        if field is None:
            out.append(event)
            return
        # A mark and not the value: a value can be as large as a frame.
        mark = hash(event.data) if isinstance(event.data, str) else hash(to_json(event.data))
        if field.changes and mark == field.mark:
            return
        field.mark = mark
        field.changes += 1
        if field.changes <= MAX_CHANGES:
            out.append(event)
        else:
            field.waiting = event

    def flush(self, out: list[Event]) -> None:
        """Send the last value of every field that changed too often."""
        for field in self._fields.values():
            if field.waiting is not None:
                out.append(field.waiting)
                field.waiting = None

    def _field(self, name: str, choice: int) -> _Field | None:
        field = self._fields.get((name, choice))
        if field is None and len(self._fields) < MAX_FIELDS:
            field = self._fields[name, choice] = _Field()
        return field


def _says_something(value: JsonValue) -> bool:
    """Whether a value is more than null, empty, or an object of such values."""
    if isinstance(value, dict):
        return any(map(_says_something, value.values()))
    return value is not None and value != "" and value != []
