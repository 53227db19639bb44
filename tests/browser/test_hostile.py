"""Whatever a model says is text."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.answers import LONG_LINE
from tests.browser.chat import Chat
from tests.browser.conftest import OpenChat

PAINT = """
async ({ text, size }) => {
  const { StreamingMarkdown } = await import("/static/markdown.js");
  const root = document.createElement("div");
  document.body.append(root);
  const markdown = new StreamingMarkdown(root);
  for (let start = 0; start < text.length; start += size) {
    markdown.write(text.slice(start, start + size));
    markdown.paint();
  }
  markdown.end();
  const shown = root.innerText;
  root.remove();
  return shown;
}
"""


def painted(page: Page, text: str, size: int) -> str:
    """The text of what `text` becomes, when it comes in pieces of `size` characters."""
    return str(page.evaluate(PAINT, {"text": text, "size": size}))


def test_nothing_of_a_hostile_answer_runs_or_is_loaded(chat: Chat) -> None:
    chat.ask("hostile")
    chat.ends("Finished")
    assert chat.page.evaluate("window.pwned") is None
    assert chat.foreign == []
    body = chat.answer.locator(".body")
    for tag in ("script", "img", "iframe", "style", "svg", "math", "form", "input", "object", "[onclick]", "[style]"):
        assert body.locator(tag).count() == 0, tag
    for link in body.locator("a").all():
        href = link.get_attribute("href")
        assert href is None or href.startswith("https://")
    chat.answer.locator("a", has_text="image: a picture").wait_for()  # it is named, and is a person's to open


def test_what_a_hostile_answer_said_can_be_read(chat: Chat) -> None:
    chat.ask("hostile")
    chat.ends("Finished")
    chat.shows("<script>window.pwned = 1</script>")
    chat.shows("<iframe src=")
    chat.shows("<script>window.pwned = 8</script>")


def test_controls_of_terminals_and_of_bidirectional_text_are_shown_by_name(chat: Chat) -> None:
    chat.ask("hostile")
    chat.ends("Finished")
    text = chat.text
    assert "␛[2J␛]0;owned␇ red ␛[31m" in text
    assert "⟨U+202E⟩gnp.exe⟨U+202C⟩ and ⟨U+2066⟩isolate⟨U+2069⟩" in text
    assert not set(text) & {*map(chr, range(9)), "\x1b", "\x7f", "\x9b", "\u202e", "\u2066"}


def test_a_hostile_question_is_text_too(chat: Chat) -> None:
    chat.ask("<img src=x onerror='window.pwned=9'> \u202eabc")
    chat.ends("Finished")
    said = chat.page.locator(".said")
    expect(said).to_have_text("<img src=x onerror='window.pwned=9'> ⟨U+202E⟩abc")
    assert chat.page.evaluate("window.pwned") is None


def test_a_line_of_a_million_characters_is_shown_whole(chat: Chat) -> None:
    chat.ask("long line")
    chat.ends("Finished")
    shown = chat.page.evaluate("document.querySelector('.answer .markdown').textContent.replace(/\\n/g, '')")
    assert shown.strip() == LONG_LINE.strip()
    assert chat.page.evaluate("document.documentElement.scrollWidth") <= 1280
    chat.ask("words")
    chat.ends("Finished")


def test_a_long_line_does_not_push_a_phones_page_wide(open_chat: OpenChat, gateway: str) -> None:
    chat = open_chat(gateway, width=375, height=740)
    chat.ask("x" * 5000)
    chat.ends("Finished")
    assert chat.page.evaluate("document.documentElement.scrollWidth") <= 375


def test_text_that_is_costly_to_parse_ends(page: Page) -> None:
    for hostile in ("[", "![", "*a ", "**a", "`", "> ", ">", "<", "- ", "1. ", "|a", "[a](", "\\", "_a*", "&amp", "~~"):
        text = hostile * (100_000 // len(hostile))
        assert len(painted(page, text, 20_000)) > 1000, hostile


def test_html_cannot_be_smuggled_in_by_the_cut(page: Page) -> None:
    text = "a <b>b</b> <img src=x onerror=window.pwned=1> c\n\n<script>window.pwned=2</script>"
    for size in (1, 2, 3, 7):
        assert painted(page, text, size).split() == text.split()
    assert page.evaluate("window.pwned") is None
