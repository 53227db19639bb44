"""Who may use the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from rxstream.testing.threaded import ThreadedProvider
from tests.browser.conftest import OpenChat, serving, settings_for

TOKEN = "let-me-in-please"


@pytest.fixture
def guarded(provider: ThreadedProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A gateway that asks for a token."""
    monkeypatch.setenv("RXSTREAM_TOKENS", TOKEN)
    with serving(settings_for(provider), tmp_path) as (address, _):
        yield address


def test_where_there_are_tokens_the_page_asks_for_one(open_chat: OpenChat, guarded: str) -> None:
    chat = open_chat(guarded, is_ready=False)
    dialog = chat.page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    expect(chat.page.get_by_label("Token", exact=True)).to_be_focused()
    chat.page.keyboard.type(TOKEN)
    chat.page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    chat.ask("words")
    chat.ends("Finished")


def test_a_wrong_token_is_asked_for_again(open_chat: OpenChat, guarded: str) -> None:
    chat = open_chat(guarded, is_ready=False)
    chat.page.keyboard.type("guess")
    chat.page.keyboard.press("Enter")
    chat.sees("#token-problem", "does not know this token")
    expect(chat.page.get_by_label("Token", exact=True)).to_be_focused()
    chat.page.keyboard.type(TOKEN)
    chat.page.keyboard.press("Enter")
    chat.sees("#line-state", "connected")
    chat.problems = [problem for problem in chat.problems if "401" not in problem]  # the browser's own note of it


def test_a_token_is_in_no_address_and_is_kept_for_the_tab_alone(open_chat: OpenChat, guarded: str) -> None:
    addresses: list[str] = []
    chat = open_chat(guarded, is_ready=False)
    chat.page.on("request", lambda request: addresses.append(request.url))
    chat.page.on("websocket", lambda socket: addresses.append(socket.url))
    chat.page.keyboard.type(TOKEN)
    chat.page.keyboard.press("Enter")
    chat.sees("#line-state", "connected")
    chat.page.reload()
    chat.sees("#line-state", "connected")  # without being asked again
    assert len([address for address in addresses if "/page/socket" in address]) == 2
    assert not [address for address in addresses if TOKEN in address or TOKEN.encode().hex() in address]
    assert chat.page.evaluate("document.cookie + JSON.stringify(localStorage)") == "{}"
