"""Where a Gemini answer says it comes from: citations, grounding and pages that were read.

The lists stand beside the content. Chunks repeat them, or repeat them longer; only what is new is sent on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from pydantic import JsonValue

from rxstream.events import Annotation, Event, ProviderEvent
from rxstream.providers.extras import Extras
from rxstream.providers.fields import JsonObject

__all__ = ("SOURCES", "SourceLists")

SOURCES: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "citationMetadata": {"citationSources": "citation", "citations": "citation"},
        "groundingMetadata": {"groundingChunks": "groundingChunk", "groundingSupports": "groundingSupport"},
        "urlContextMetadata": {"urlMetadata": "urlMetadata"},
    }
)
"""The keys of a candidate that tell sources: the lists inside, and what an entry of each is. The Gemini API calls the
list of citations otherwise than Vertex AI does."""


class SourceLists:
    """The sources of one candidate.

    Args:
        choice: its index.
        extras: keeps what a key holds besides its lists.
    """

    __slots__ = ("_choice", "_extras", "_known")

    def __init__(self, choice: int, extras: Extras) -> None:
        self._choice = choice
        self._extras = extras
        self._known: dict[str, list[JsonValue]] = {}

    def read(self, key: str, value: JsonValue, part_id: str, out: list[Event]) -> None:
        """Read one of `SOURCES`.

        Args:
            key: which.
            value: what the candidate has there.
            part_id: the text it is about; empty where there is none.
            out: where to.
        """
        rest = value
        if isinstance(value, dict):
            lists = SOURCES[key]
            rest = {name: fact for name, fact in value.items() if name not in lists}
            for name, kind in lists.items():
                out.extend(Annotation(kind, entry, part_id, self._choice) for entry in self._new(name, value))
        self._extras.offer(ProviderEvent(key, rest, part_id, self._choice), out)

    def _new(self, name: str, value: JsonObject) -> Iterator[JsonValue]:
        entries = value.get(name)
        before = self._known.get(name, [])
        if not isinstance(entries, list) or entries == before[: len(entries)]:
            return
        self._known[name] = entries
        yield from entries[len(before) if entries[: len(before)] == before else 0 :]
