"""The page is for everybody: checked with axe-core, and by what it does with a keyboard alone."""

from __future__ import annotations

import re
from typing import Any, Literal

import pytest
from playwright.sync_api import Page, expect

from rxstream.testing.threaded import ThreadedProvider
from tests.browser.chat import Chat
from tests.browser.conftest import OpenChat

Scheme = Literal["dark", "light"]

SIZES = {"desk": (1280, 800), "phone": (375, 740)}
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")


def violations(chat: Chat, axe: str) -> list[str]:
    """What axe-core finds wrong."""
    if not chat.page.evaluate("typeof window.axe === 'object'"):
        chat.page.evaluate(axe)  # by the debugger, past the policy that keeps other scripts out
    options = {"runOnly": {"type": "tag", "values": list(RULES)}, "resultTypes": ["violations"]}
    found: list[dict[str, Any]] = chat.page.evaluate("(options) => axe.run(options)", options)["violations"]
    return [f"{rule['id']}: {rule['help']} at {[node['target'] for node in rule['nodes']]}" for rule in found]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_the_checker_finds_nothing_at_any_time(
    open_chat: OpenChat, gateway: str, axe: str, scheme: Scheme, size: str
) -> None:
    width, height = SIZES[size]
    chat = open_chat(gateway, width=width, height=height, color_scheme=scheme)
    assert violations(chat, axe) == []
    if size == "phone":
        chat.press("Details")
    chat.press("Slow reader")
    chat.ask("endless")
    chat.sees("#verdict", "paused")
    assert violations(chat, axe) == []
    chat.press("Cut the line")
    chat.press("Slow reader")
    chat.ends("Failed")
    chat.ask("markdown")
    chat.ends("Finished")
    chat.ask("thinks")
    chat.ends("Finished")
    chat.answer.locator("summary").click()
    assert violations(chat, axe) == []


def test_the_checker_does_find_what_is_wrong(chat: Chat, axe: str) -> None:
    chat.page.evaluate("document.querySelector('label[for=question]').remove()")
    chat.page.evaluate("document.querySelector('#question').removeAttribute('placeholder')")
    assert [found for found in violations(chat, axe) if found.startswith("label")]


def test_everything_can_be_done_with_the_keyboard(chat: Chat, provider: ThreadedProvider) -> None:
    page = chat.page
    expect(page.get_by_label("Your question")).to_be_focused()
    page.keyboard.type("endless")
    tab_to(page, "Slow reader")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Slow reader")).to_have_attribute("aria-pressed", "true")
    tab_to(page, "Send", back=True)
    page.keyboard.press("Enter")
    chat.sees("#verdict", "paused")
    expect(page.get_by_label("Your question")).to_be_focused()  # the button that had it is gone
    tab_to(page, "Cut the line")
    page.keyboard.press("Enter")
    provider.wait_until(lambda server: server.requests[-1].disconnected.is_set())
    page.keyboard.press("Escape")
    chat.ends("Stopped")


def tab_to(page: Page, name: str, *, back: bool = False) -> None:
    """Go to the button of that name by the Tab key."""
    button = page.get_by_role("button", name=name, exact=True)
    for _ in range(20):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        if button.evaluate("(node) => node === document.activeElement"):
            return
    raise AssertionError(f"the Tab key does not come to {name!r}")


def test_what_has_the_focus_can_be_seen(chat: Chat) -> None:
    tab_to(chat.page, "Slow reader")
    outline = "(node) => getComputedStyle(node).outlineStyle + getComputedStyle(node).outlineWidth"
    assert chat.page.get_by_role("button", name="Slow reader").evaluate(outline) == "solid3px"


def test_a_screen_reader_is_told_of_the_answer_and_not_of_each_token(chat: Chat) -> None:
    chat.page.evaluate(
        """() => {
          window.told = [];
          const region = document.querySelector("#announce");
          new MutationObserver(() => told.push(region.textContent)).observe(region, { childList: true });
        }"""
    )
    chat.ask("words")
    chat.ends("Finished")
    assert chat.page.evaluate("told") == ["The answer is being written.", "Finished. 5 words."]
    assert chat.page.locator("[aria-live], [role=status], [role=alert], [role=log]").count() == 2  # and the token's
    assert chat.answer.locator("xpath=ancestor::*[@aria-live]").count() == 0


def test_where_motion_is_to_be_little_the_picture_is_drawn_twice_a_second(open_chat: OpenChat, gateway: str) -> None:
    chat = open_chat(gateway, reduced_motion="reduce")
    chat.page.evaluate(
        """() => {
          window.drawn = [];
          const clear = CanvasRenderingContext2D.prototype.clearRect;
          CanvasRenderingContext2D.prototype.clearRect = function (...box) {
            drawn.push(performance.now());
            return clear.apply(this, box);
          };
        }"""
    )
    chat.ask("endless")
    chat.sees("#tokens", re.compile(r"\d{2,}"))
    chat.press("Stop")
    chat.ends("Stopped")
    between = chat.page.evaluate("drawn.slice(2).map((at, index) => at - drawn[index + 1])")
    assert all(pause >= 490 for pause in between)
    assert chat.page.evaluate("getComputedStyle(document.querySelector('#cells i')).transitionDuration") == "0s"


@pytest.mark.parametrize("width", [320, 375, 768, 1024, 1600])
def test_the_page_fits_every_width(open_chat: OpenChat, gateway: str, width: int) -> None:
    chat = open_chat(gateway, width=width, height=700)
    chat.ask("markdown")
    chat.ends("Finished")
    assert chat.page.evaluate("document.documentElement.scrollWidth") <= width
    for name in ("Send", "Slow reader", "Cut the line", "New chat"):
        box = chat.page.get_by_role("button", name=name, exact=True).bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["y"] + box["height"] <= 700
        assert box["height"] >= 44
