"""Markdown that comes in pieces looks as if it had come at once, and costs what its length costs."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page

from tests.browser.answers import MARKDOWN

HTML = """
async ({ text, sizes }) => {
  const { StreamingMarkdown } = await import("/static/markdown.js");
  return sizes.map((size) => {
    const root = document.createElement("div");
    const markdown = new StreamingMarkdown(root);
    for (let start = 0; start < text.length; start += size) {
      markdown.write(text.slice(start, start + size));
      markdown.paint();
    }
    markdown.end();
    root.querySelectorAll("*").forEach((node) => node.normalize());
    return root.innerHTML;
  });
}
"""

CHURN = """
async ({ text, size }) => {
  const { StreamingMarkdown } = await import("/static/markdown.js");
  const root = document.createElement("div");
  document.body.append(root);
  let churn = 0;
  const observer = new MutationObserver((changes) => {
    for (const { addedNodes } of changes) for (const node of addedNodes) churn += node.textContent.length;
  });
  observer.observe(root, { childList: true, subtree: true });
  const markdown = new StreamingMarkdown(root);
  for (let start = 0; start < text.length; start += size) {
    markdown.write(text.slice(start, start + size));
    markdown.paint();
    await null;
  }
  markdown.end();
  await null;
  observer.disconnect();
  const shown = root.textContent.length;
  root.remove();
  return { churn, shown };
}
"""

DOCUMENTS = {
    "everything": MARKDOWN,
    "a fence in a fence": "Before\n\n````md\n```js\nlet a;\n```\n````\nAfter\n\n~~~\n```\n~~~\n",
    "an open fence": "Text\n\n```js\nlet a = 1;\n\n\n  indented\n",
    "an indented fence": "  ```\n  a\n    b\n  ```\n\nc",
    "headings by underline": "One\n===\n\nTwo\n---\n\n---\n\nthree",
    "a loose list": "- a\n\n- b\n\n  more of b\n\n      code of b\n\nend",
    "a definition before its use": "[r]: https://example.org\n\nA [link][r].\n",
    "blank lines": "\n\n\na\n\n\n\nb\n\n",
    "a table that grows": "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\nafter",
    "emoji and scripts": "שלום 👩‍👩‍👧 **مرحبا** 日本語 🇫🇷\n\n> é ä\n",
    "windows lines": "# a\r\n\r\nb\r\nc\r\n\r\n- d\r\n",
    "quotes": "> a\n> b\n>\n> - c\n\n> d",
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_pieces_come_to_the_same_as_the_whole(page: Page, name: str) -> None:
    text = DOCUMENTS[name]
    sizes = [1, 2, 3, 7, len(text)]
    shown = page.evaluate(HTML, {"text": text, "sizes": sizes})
    for size, html in zip(sizes, shown, strict=True):
        assert html == shown[-1], f"in pieces of {size}"


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("A paragraph of some words.\n\n", id="paragraphs"),
        pytest.param("one line without an end ", id="one line"),
        pytest.param("- an item of a list\n", id="one list"),
        pytest.param("| a | b |\n", id="lines of pipes"),
        pytest.param("> a quote\n", id="one quote"),
    ],
)
def test_twice_the_text_is_at_most_twice_the_work(page: Page, line: str) -> None:
    once, twice = (
        page.evaluate(CHURN, {"text": line * (characters // len(line)), "size": 200})
        for characters in (100_000, 200_000)
    )
    assert twice["churn"] < 2.2 * once["churn"]


def test_code_is_never_put_in_twice(page: Page) -> None:
    text = "```js\n" + "let a = 1;\n" * 5000 + "```\n"
    work = page.evaluate(CHURN, {"text": text, "size": 50})
    assert work["churn"] < 1.2 * work["shown"]


def test_a_long_list_stays_a_list(page: Page) -> None:
    text = "".join(f"{number}. item {number} with some words to it\n" for number in range(1, 1001))
    (html,) = page.evaluate(HTML, {"text": text, "sizes": [97]})
    assert html.count("<li>") == 1000
    assert 'class="plain"' not in html
    starts = [int(start) for start in re.findall(r'<ol start="(\d+)">\s*<li>item \1 ', html)]
    assert starts
    assert len(starts) == html.count("<ol") - 1
