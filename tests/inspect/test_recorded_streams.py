"""Bodies that servers really sent: every page is one, and every drawing is well-formed."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from rxstream.inspect import Reader, inspect_recording, page, svg
from rxstream.providers.registry import wire_names
from tests.shared_data import SHARED

from .test_page import Outline

EVERY = 9
"""One of so many: the pages differ little, and each takes a twentieth of a second."""


def _sample() -> list[tuple[str, str]]:
    index = SHARED / "recordings" / "index.json"
    entries = json.loads(index.read_text(encoding="utf-8")) if index.is_file() else []
    known = [(entry["file"], entry["wire"].partition(":")[2]) for entry in entries]
    readable = [(file, wire) for file, wire in known if wire in wire_names()]
    first_of_wire = {wire: (file, wire) for file, wire in reversed(readable)}
    return sorted({*readable[::EVERY], *first_of_wire.values()})


@pytest.mark.skipif(not SHARED.is_dir(), reason="no folder ../shared beside the checkout")
@pytest.mark.parametrize(("file", "wire"), _sample())
def test_a_recorded_body_is_a_page_and_a_drawing(file: str, wire: str) -> None:
    facts = inspect_recording(Path(SHARED / "recordings" / file), Reader(), wire=wire)
    assert facts.events.count
    Outline(page(facts))
    ET.fromstring(svg(facts))
