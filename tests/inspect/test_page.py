"""The page: whole by itself, and nothing in a recording is markup in it."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from rxstream.events import (
    Annotation,
    Finish,
    ProviderEvent,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCall,
    ToolCallStart,
    Violation,
)
from rxstream.inspect import Reader, inspect_recording, page
from rxstream.recording.endings import Ending

from .kit import CHAT, recording, steady

VOID = {"meta", "br", "link", "img", "input", "hr"}


class Outline(HTMLParser):
    """The elements of a document with their attributes, in order; fails where they do not nest."""

    def __init__(self, document: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.values: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(document)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, tuple(name for name, _ in attrs)))
        self.values.extend((tag, name, value or "") for name, value in attrs)
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def events(text: str) -> list[Any]:
    return [
        ResponseStart(text, text, text),
        ReasoningDelta(text),
        TextDelta(text),
        Annotation(text, {text: text}),
        ToolCallStart("1", text),
        ToolCall("1", text, '{"a":1}'),
        ProviderEvent(text, text),
        Violation(text, text, 3),
        Finish("stop", text),
    ]


def page_of(tmp_path: Path, items: list[Any], ending: Ending, name: str = "a.jsonl") -> str:
    return page(inspect_recording(recording(tmp_path / name, steady(items, 0.3), ending), Reader()))


HOSTILE = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg/onload=alert(1)>",
    "</title></svg></pre></td></table><h1>owned</h1>",
    "<!-- <![CDATA[ ]]> -->",
    "&lt;script&gt;",
    "\x00\x0b\x1b[2J\u202egnp.exe\u2066\ud800",
    "<style>*{display:none}</style>",
    "</style></head><body onload=alert(1)>",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_changes_no_element_of_the_page(tmp_path: Path, text: str) -> None:
    error = {"type": "ProviderError", "message": "x", "category": "provider", "code": "x", "provider_type": "x"}
    bad = {name: value if name in ("type", "category") else text for name, value in error.items()}
    tame = page_of(tmp_path, events("x"), Ending("error", 9.0, error))
    hostile = page_of(tmp_path, events(text), Ending("error", 9.0, bad))
    assert Outline(hostile).elements == Outline(tame).elements
    assert all(text.isprintable() or text.isspace() for text in re.findall(r"[^\n\t]+", hostile))


def test_a_hostile_name_of_a_file_is_text(tmp_path: Path) -> None:
    name = '"><script>alert(1)<script>&.jsonl'
    document = page_of(tmp_path, events("x"), Ending("completed", 9.0), name)
    tame = page_of(tmp_path, events("x"), Ending("completed", 9.0))
    assert Outline(document).elements == Outline(tame).elements
    assert name in Outline(document).texts


def test_nothing_is_fetched(tmp_path: Path) -> None:
    document = page_of(tmp_path, events("https://example.org/x.js"), Ending("completed", 9.0))
    outline = Outline(document)
    assert {tag for tag, _ in outline.elements} & {
        "link",
        "img",
        "iframe",
        "object",
        "embed",
        "base",
        "a",
        "form",
    } == set()
    names = {name for _, name, _ in outline.values}
    assert names & {"src", "href", "xlink:href", "srcset", "action", "style"} == set()
    assert not [name for name in names if name.startswith("on")]
    style = re.search(r"<style>(.*?)</style>", document, re.DOTALL)
    assert style is not None
    assert "url(" not in style[1]
    assert "@import" not in style[1]


def test_its_policy_names_its_style_and_its_script(tmp_path: Path) -> None:
    document = page_of(tmp_path, events("x"), Ending("completed", 9.0))
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', document)
    assert policy is not None
    assert policy[1].startswith("default-src 'none';")
    for tag in ("style", "script"):
        blocks = re.findall(rf"<{tag}>(.*?)</{tag}>", document, re.DOTALL)
        assert len(blocks) == 1
        digest = base64.b64encode(hashlib.sha256(blocks[0].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy[1]
    assert "unsafe" not in policy[1]


def test_it_tells_the_answer_its_end_and_what_was_wrong(tmp_path: Path) -> None:
    said = " ".join(Outline(page_of(tmp_path, events("odd"), Ending("completed", 9.0))).texts)
    for words in (
        "Text (3 characters)",
        "Reasoning (3 characters)",
        "1 tool call",
        "odd × 3",
        "How far it came",
        "Usage",
    ):
        assert words in said
    assert "simulated" in said
    assert "Error" not in said


def test_it_tells_the_error(tmp_path: Path) -> None:
    ending = Ending("error", 9.0, {"type": "TransportError", "message": "reset by peer", "category": "transport"})
    said = " ".join(Outline(page_of(tmp_path, [TextDelta("a")], ending)).texts)
    assert "Error" in said
    assert "reset by peer" in said


def test_several_choices_are_told_one_by_one(tmp_path: Path) -> None:
    items = [TextDelta("one", "p", 0), TextDelta("two", "q", 1), Finish("stop", choice=0), Finish("stop", choice=1)]
    said = " ".join(Outline(page_of(tmp_path, items, Ending("completed", 9.0))).texts)
    assert "Text, choice 0 (3 characters)" in said
    assert "Text, choice 1 (3 characters)" in said


def test_a_long_answer_is_cut_and_says_so(tmp_path: Path) -> None:
    document = page_of(tmp_path, [TextDelta("x" * 50_000), Finish("stop")], Ending("completed", 9.0))
    assert "and 30,000 more characters" in document
    assert len(document) < 100_000


@pytest.mark.parametrize("items", [[], [TextDelta("a")], [Finish("stop")]])
@pytest.mark.parametrize("ending", [None, Ending("completed", 0.0), Ending("cancelled", 0.0)])
def test_next_to_nothing_is_a_page_too(tmp_path: Path, items: list[Any], ending: Ending | None) -> None:
    path = recording(tmp_path / "a.jsonl", [(0.0, item) for item in items], ending)
    Outline(page(inspect_recording(path, Reader())))


def test_chunks_have_a_lane_of_their_own(tmp_path: Path) -> None:
    path = recording(tmp_path / "a.jsonl", steady(CHAT, 0.2), Ending("left", 3.0), kind="bytes", wire="openai-chat")
    said = Outline(page(inspect_recording(path))).texts
    assert "chunks" in said
    assert "Gaps between chunks" in said


@pytest.mark.parametrize(
    ("chunks", "note"), [(CHAT, "until its reader had all of it"), (CHAT[:1], "until its reader left")]
)
def test_a_reader_that_had_everything_did_not_leave_early(tmp_path: Path, chunks: list[bytes], note: str) -> None:
    path = recording(tmp_path / "a.jsonl", steady(chunks, 0.2), Ending("left", 3.0), kind="bytes", wire="openai-chat")
    assert note in Outline(page(inspect_recording(path))).texts


def test_what_a_server_makes_long_stays_a_page(tmp_path: Path) -> None:
    """Sixty thousand choices, a model's name of a megabyte, and a time that no clock shows."""
    long = "m" * 1_000_000
    items: list[Any] = [(0.0, ResponseStart(long, long, long)), (0.0, Violation(long, long))]
    items += [(0.0, TextDelta("a", "p", choice)) for choice in range(60_000)]
    path = recording(tmp_path / "a.jsonl", [*items, (1e300, TextDelta("b"))], Ending("completed", 1e300))
    document = page(inspect_recording(path, Reader()))
    Outline(document)
    assert len(document) < 300_000
    assert "1e+300 s" in document
