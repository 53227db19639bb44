"""The page of parameters in the docs says what the readers do."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from rxstream.errors import RequestError
from rxstream.gateway.readers import read_request
from tests.gateway.readers.bodies import BODIES

PAGE = (Path(__file__).parents[3] / "docs" / "gateway-requests.md").read_text(encoding="utf-8")

SECTIONS = {
    "openai-chat": "OpenAI's Chat Completions",
    "openai-responses": "OpenAI's Responses",
    "anthropic": "Anthropic's Messages",
    "ai-sdk-ui": "The AI SDK's chat hook",
}


def reader(format: str) -> ModuleType:
    return import_module(f"rxstream.gateway.readers.{format.replace('-', '_')}")


def listed(format: str, what: str) -> set[str]:
    """The parameters that the page lists for a format: those that are `Read`, `Left out` or `Refused`."""
    section = PAGE.split(f"## {SECTIONS[format]}\n")[1].split("\n## ")[0]
    if what == "Refused":
        return set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    entry = section.split(f"- **{what}**")[1].split("\n- **")[0].split(".\n")[0]
    return set(re.findall(r"`(\w+)`", entry))


@pytest.mark.parametrize("format", SECTIONS)
def test_what_is_left_out_or_refused_is_on_the_page(format: str) -> None:
    assert listed(format, "Left out") == set(reader(format).IGNORED)
    assert listed(format, "Refused") == set(getattr(reader(format), "REFUSED", {}))
    for why, _ in getattr(reader(format), "REFUSED", {}).values():
        assert f"| {why} |" in PAGE


@pytest.mark.parametrize("format", SECTIONS)
def test_what_is_said_to_be_read_is_refused_by_its_name_when_it_is_nonsense(format: str) -> None:
    for name in listed(format, "Read"):
        with pytest.raises(RequestError, match=name):
            read_request(format, {**BODIES[format], name: {"nobody": "says this"}})
