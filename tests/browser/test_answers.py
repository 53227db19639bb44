"""A conversation through the page."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import expect

from rxstream.testing.threaded import ThreadedProvider
from tests.browser.answers import MARKDOWN
from tests.browser.chat import Chat
from tests.browser.conftest import OpenChat, serving, settings_for


def test_an_answer_can_be_read_before_it_is_whole(chat: Chat) -> None:
    chat.ask("endless")
    chat.shows("drop drop drop")
    assert chat.answer.get_attribute("aria-busy") == "true"
    chat.sees("#verdict", "flowing")
    chat.press("Stop")


def test_a_whole_answer_says_so_and_what_it_took(chat: Chat) -> None:
    chat.ask("words")
    chat.ends("Finished")
    assert chat.text == "one two three four five"
    chat.sees("#tokens", re.compile(r"^5$"))  # the provider's own count
    chat.sees("#first", re.compile(r"\d+ ms|\d\.\d s"))
    chat.sees("#speed", re.compile(r"/s$"))
    chat.sees("#verdict", "finished")


def test_markdown_is_shown_as_what_it_means(chat: Chat) -> None:
    chat.ask("markdown")
    chat.ends("Finished")
    shown = chat.answer.locator(".markdown")
    expect(shown.locator("h3")).to_have_text("Rivers")
    assert shown.locator("ol > li").count() == 3
    expect(shown.locator("ol ul li").nth(1)).to_have_text("past banks.")
    expect(shown.locator("pre code")).to_contain_text("yield river.pop()")
    expect(shown.get_by_role("group", name="Code, python")).to_be_visible()
    expect(shown.locator("td").first).to_have_text("Nile")
    expect(shown.locator("td").nth(1)).to_have_attribute("align", "right")
    expect(shown.get_by_role("link", name="the source")).to_have_attribute("rel", re.compile("noopener"))


def test_the_next_question_carries_the_conversation(chat: Chat, provider: ThreadedProvider) -> None:
    chat.ask("markdown")
    chat.ends("Finished")
    chat.ask("words")
    chat.ends("Finished")
    asked = provider.requests[-1].json()["messages"]
    assert [message["role"] for message in asked] == ["user", "assistant", "user"]
    assert asked[1]["content"] == MARKDOWN


def test_stop_leaves_the_provider_and_says_that_a_part_is_a_part(chat: Chat, provider: ThreadedProvider) -> None:
    chat.ask("endless")
    chat.shows("drop drop drop")
    chat.press("Stop")
    chat.ends("Stopped")
    provider.wait_until(lambda server: server.requests[-1].disconnected.is_set())
    assert chat.answer.get_attribute("data-outcome") == "cancelled"


def test_escape_stops_too(chat: Chat, provider: ThreadedProvider) -> None:
    before = len(provider.requests)
    chat.ask("silence")
    provider.wait_until(lambda server: len(server.requests) > before)
    chat.page.keyboard.press("Escape")
    chat.ends("Stopped")
    provider.wait_until(lambda server: server.requests[-1].disconnected.is_set())


def test_a_part_does_not_go_back_to_the_model_as_an_answer(chat: Chat, provider: ThreadedProvider) -> None:
    chat.ask("endless")
    chat.shows("drop")
    chat.press("Stop")
    chat.ends("Stopped")
    chat.ask("words")
    chat.ends("Finished")
    assert [message["content"] for message in provider.requests[-1].json()["messages"]] == ["words"]


def test_an_answer_that_breaks_off_is_not_taken_for_whole(chat: Chat) -> None:
    chat.ask("breaks off")
    chat.ends("Ended without its end")
    assert chat.text == "half an ans"
    chat.sees("#verdict", "ended without its end")


def test_an_answer_that_the_model_cut_short_says_so(chat: Chat) -> None:
    chat.ask("too short")
    chat.ends("Cut short by the model")
    expect(chat.answer.locator(".outcome")).to_contain_text("length")


def test_a_provider_that_refuses_is_told(chat: Chat) -> None:
    chat.ask("is busy")
    chat.ends("Failed")
    expect(chat.answer.locator(".outcome")).to_contain_text(re.compile("rate|limit|slow down|429", re.IGNORECASE))


def test_reasoning_is_folded_and_calls_are_named(chat: Chat) -> None:
    chat.ask("thinks")
    chat.ends("Finished")
    reasoning = chat.answer.locator("details.reasoning")
    expect(reasoning.locator(".plain")).to_be_hidden()
    reasoning.locator("summary").click()
    expect(reasoning.locator(".plain")).to_have_text("Clouds, so rain.")
    expect(chat.answer.locator(".note.call")).to_contain_text('weather {"city": "Paris"}')


def test_a_gateway_that_is_gone_leaves_no_answer_that_looks_finished(
    provider: ThreadedProvider, open_chat: OpenChat, tmp_path: Path
) -> None:
    with serving(settings_for(provider), tmp_path) as (address, process):
        chat = open_chat(address)
        chat.ask("endless")
        chat.shows("drop drop drop")
        process.kill()
        chat.ends("Ended without its end")
        chat.sees("#line-state", re.compile("cannot be reached|closed the line"))
        chat.ask("words")
        chat.ends("Failed")
        chat.problems = [problem for problem in chat.problems if "WebSocket connection" not in problem]


def test_a_gateway_that_comes_back_is_asked_again(
    provider: ThreadedProvider, open_chat: OpenChat, tmp_path: Path
) -> None:
    with serving(settings_for(provider), tmp_path) as (address, process):
        chat = open_chat(address)
        process.terminate()
        process.wait()
        chat.sees("#line-state", re.compile("cannot be reached|closed the line"))
    with serving(settings_for(provider), tmp_path, port=int(address.rpartition(":")[2])):
        chat.ask("words")
        chat.ends("Finished")
        chat.sees("#line-state", "connected")


def test_where_any_model_of_a_provider_is_served_one_is_named(
    provider: ThreadedProvider, open_chat: OpenChat, tmp_path: Path
) -> None:
    with serving(settings_for(provider, model="*"), tmp_path) as (address, _):
        chat = open_chat(address)
        chat.sees("#model", "scripted: another model")
        chat.page.get_by_label("Name of the model").fill("stone-7b")
        chat.ask("words")
        chat.ends("Finished")
        assert provider.requests[-1].json()["model"] == "stone-7b"


def test_a_gateway_without_settings_answers_too(open_chat: OpenChat, tmp_path: Path) -> None:
    with serving("", tmp_path) as (address, _):  # the local model, or, where it is not installed, a script
        chat = open_chat(address)
        chat.ask("Tell me a short story about a river.")
        chat.shows(re.compile(r"\w+\W+\w+"))
        chat.press("Cut the line")
        chat.ends("Failed")
