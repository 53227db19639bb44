"""A real `rxstream serve`, a scripted provider behind it, and Debian's Chromium in front of it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from rxstream.testing import ScriptedProvider
from rxstream.testing.threaded import ThreadedProvider
from tests.browser.answers import reply_to
from tests.browser.chat import Chat

HERE = Path(__file__).parent
CHROMIUM_ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
START_SECONDS = 30

# A page is given as long as it takes on a machine that has other things to do: no verdict depends on its speed.
expect.set_options(timeout=20_000)

OpenChat = Callable[..., Chat]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium")
    if path is None:
        pytest.fail("the browser tests need Chromium: apt install chromium (none is downloaded)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(CHROMIUM_ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of the accessibility checker."""
    script = HERE / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.fail("the accessibility tests need axe-core: install npm (apt install npm)")
        subprocess.run([npm, "ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=HERE, check=True, timeout=120)
    return script.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def provider() -> Iterator[ThreadedProvider]:
    with ScriptedProvider.run_in_thread(reply_to) as provider:
        yield provider


@contextmanager
def serving(settings: str, folder: Path, port: int = 0) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`rxstream serve` with these settings: its address and its process. Port 0 is a free one."""
    file = folder / "gateway.toml"
    file.write_text(settings, encoding="utf-8")
    program = Path(sys.executable).with_name("rxstream")
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [program, "serve", "--config", file, "--port", str(port)], stdout=subprocess.PIPE, stderr=log, text=True
        )
    try:
        yield _address(process, folder), process
    finally:
        process.terminate()
        try:
            process.wait(START_SECONDS)
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


def _address(process: subprocess.Popen[str], folder: Path) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            return found.group()
    raise AssertionError(f"the gateway did not start: {(folder / 'log').read_text()}")


def settings_for(provider: ThreadedProvider, *, model: str = "scripted-1") -> str:
    """One scripted model."""
    return f"""\
[server]
shutdown_grace_seconds = 0
[[models]]
name = "scripted"
provider = "openai-chat"
model = "{model}"
base_url = "{provider.base_url}"
"""


@pytest.fixture(scope="session")
def gateway(provider: ThreadedProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a gateway in front of the scripted provider."""
    with serving(settings_for(provider), tmp_path_factory.mktemp("gateway")) as (address, _):
        yield address


@pytest.fixture
def open_chat(browser: Browser) -> Iterator[OpenChat]:
    """Opens the page of a gateway; at the end nothing may have gone wrong in it."""
    contexts: list[BrowserContext] = []
    chats: list[Chat] = []

    def open_at(address: str, *, width: int = 1280, height: int = 800, is_ready: bool = True, **options: Any) -> Chat:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        context.set_default_timeout(20_000)
        chat = Chat(context.new_page(), address)
        chats.append(chat)
        chat.open(is_ready=is_ready)
        return chat

    yield open_at
    problems = [problem for chat in chats for problem in chat.problems]
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture
def chat(open_chat: OpenChat, gateway: str) -> Chat:
    """The page, as wide as a desk."""
    return open_chat(gateway)


@pytest.fixture
def page(chat: Chat) -> Page:
    """The browser's own view of it."""
    return chat.page
