"""The page in a test's words: what a person does with it, and sees."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import ConsoleMessage, Page, Request, expect

__all__ = ("Chat",)


class Chat:
    """One tab.

    Args:
        page: the browser's.
        address: of the gateway.
    """

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        self.problems: list[str] = []
        self.foreign: list[str] = []
        page.on("console", self._note_console)
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("request", self._note_request)

    def _note_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):  # violations of the content security policy are among them
            self.problems.append(f"{message.type}: {message.text}")

    def _note_request(self, request: Request) -> None:
        if not request.url.startswith((self.address, self.address.replace("http", "ws", 1))):
            self.foreign.append(request.url)

    def open(self, *, is_ready: bool = True) -> None:
        """Go to the page."""
        self.page.goto(self.address)
        if is_ready:
            expect(self.page.locator("#line-state")).to_have_text("connected")

    # What a person does ------------------------------------------------------------------------------------------

    def ask(self, question: str) -> None:
        """Write it, and send it with the keyboard."""
        self.page.get_by_label("Your question").fill(question)
        self.page.keyboard.press("Enter")

    def press(self, name: str) -> None:
        """Click the button of that name."""
        self.page.get_by_role("button", name=name, exact=True).click()

    # What a person sees ------------------------------------------------------------------------------------------

    @property
    def answer(self) -> Any:
        """The newest answer."""
        return self.page.locator("article.answer").last

    @property
    def text(self) -> str:
        """What of it can be read."""
        return str(self.answer.locator(".body").inner_text())

    def sees(self, selector: str, text: str | re.Pattern[str]) -> None:
        """Wait until something says `text`."""
        expect(self.page.locator(selector)).to_contain_text(text)

    def shows(self, text: str | re.Pattern[str]) -> None:
        """Wait until the newest answer has `text`: of the model, not what stands there until its first word."""
        expect(self.answer.locator(".body:not(:has(> .waiting))")).to_contain_text(text)

    def ends(self, title: str) -> None:
        """Wait until the newest answer has ended so."""
        expect(self.answer.locator(".outcome strong")).to_have_text(title)
        expect(self.page.locator("#send")).to_be_visible()
