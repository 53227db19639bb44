"""Pictures of the page for people to look at, in `test-results/page`; that each was taken is what is tested."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from tests.browser.chat import Chat
from tests.browser.conftest import OpenChat

SIZES = {"desk": (1280, 800, 1), "phone": (375, 740, 2)}
FOLDER = Path("test-results/page")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_pictures_of_the_page(open_chat: OpenChat, gateway: str, scheme: Literal["dark", "light"], size: str) -> None:
    width, height, scale = SIZES[size]
    chat = open_chat(gateway, width=width, height=height, color_scheme=scheme, device_scale_factor=scale)

    def take(name: str) -> None:
        path = FOLDER / f"{size}-{scheme}-{name}.png"
        chat.page.screenshot(path=path, animations="disabled")
        assert path.stat().st_size > 10_000

    take("1-empty")
    show_a_pause(chat)
    take("2-paused")
    chat.press("Slow reader")
    chat.press("Cut the line")
    chat.ends("Failed")
    take("3-cut")
    chat.ask("markdown")
    chat.ends("Finished")
    take("4-markdown")
    chat.ask("thinks")
    chat.ends("Finished")
    chat.answer.locator("summary").click()
    if size == "phone":
        chat.press("Details")
    take("5-calls")


def show_a_pause(chat: Chat) -> None:
    chat.ask("endless")
    chat.shows("drop " * 40)
    chat.press("Slow reader")
    chat.sees("#verdict", "paused")
    chat.sees("#paused", "paused 1")
