"""What hypothesis draws for every wire: texts, a call's arguments as JSON, and a string in pieces."""

from __future__ import annotations

import json

from hypothesis import strategies as st

__all__ = ("ARGUMENTS", "TEXTS", "is_json", "pieces")

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
ARGUMENTS = st.dictionaries(TEXTS, st.integers() | TEXTS | st.none(), max_size=3).map(
    lambda value: json.dumps(value, ensure_ascii=False)
)


@st.composite
def pieces(draw: st.DrawFn, whole: str) -> list[str]:
    """A string in pieces."""
    places = sorted(draw(st.sets(st.integers(1, max(1, len(whole) - 1)), max_size=4)))
    return [whole[low:high] for low, high in zip([0, *places], [*places, len(whole)], strict=True)]


def is_json(data: bytes) -> bool:
    """Whether bytes are one JSON text."""
    try:
        json.loads(data)
    except ValueError:
        return False
    return True
