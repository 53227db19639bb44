"""What the picture shows is what happens at the provider."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from rxstream.testing import ScriptedProvider
from rxstream.testing.threaded import ThreadedProvider
from tests.browser.chat import Chat


def is_blocked(server: ScriptedProvider) -> bool:
    return server.requests[-1].is_blocked


def test_a_slow_reader_pauses_the_provider_and_a_quick_one_lets_it_go_on(
    chat: Chat, provider: ThreadedProvider
) -> None:
    chat.press("Slow reader")
    chat.ask("flood")
    chat.sees("#gate-words", "provider: paused")
    chat.sees("#line-words", "connected")
    provider.wait_until(is_blocked)  # its kernel takes no more: nobody reads at the other end
    chat.sees("#unread", re.compile(r"KiB|MiB"))
    taken = provider.call(lambda: provider.requests[-1].bytes_sent)
    chat.press("Slow reader")
    provider.wait_until(lambda server: server.requests[-1].bytes_sent > taken + 1_000_000)


def test_a_flood_is_stopped_where_the_page_shows_no_more(chat: Chat, provider: ThreadedProvider) -> None:
    chat.ask("flood")
    chat.ends("Stopped")
    expect(chat.answer.locator(".outcome")).to_contain_text("The page shows 2,000,000 characters of an answer")
    provider.wait_until(lambda server: server.requests[-1].disconnected.is_set())
    assert 1_990_000 < chat.page.evaluate("document.querySelector('.answer .body').textContent.length") < 2_100_000


def test_the_queue_is_full_while_the_provider_is_paused_and_never_over_its_bound(chat: Chat) -> None:
    chat.press("Slow reader")
    chat.ask("endless")
    chat.sees("#fill-events", "32 of 32 events")
    chat.sees("#verdict", "paused")
    assert chat.page.locator("#cells i.full").count() == 32
    chat.sees("#announce", "The queue is full: the provider is paused.")
    chat.press("Stop")
    chat.ends("Stopped")
    chat.sees("#peak", re.compile(r"^32$"))
    chat.sees("#fill-events", "0 of 32 events")


def test_large_events_fill_the_bytes_before_the_places(chat: Chat) -> None:
    chat.press("Slow reader")
    chat.ask("flood")
    chat.sees("#verdict", "paused")
    held = chat.page.locator("#cells i.full").count()
    assert 0 < held < 32
    chat.press("Stop")
    chat.ends("Stopped")


def test_a_slow_reader_gets_one_event_at_a_time(chat: Chat) -> None:
    chat.press("Slow reader")
    expect(chat.page.get_by_role("button", name="Slow reader")).to_have_attribute("aria-pressed", "true")
    chat.ask("endless")
    chat.sees("#verdict", "paused")
    assert chat.text.count("drop") < 12
    chat.sees("#reader", "reads slowly")
    chat.press("Stop")
    chat.ends("Stopped")


def test_batches_join_what_comes_close_together(chat: Chat) -> None:
    chat.ask("markdown")
    chat.ends("Finished")
    pieces, batches = map(int, chat.page.locator("#batches").inner_text().split(" → "))
    assert batches < pieces


def test_a_cut_is_a_cut_at_the_provider_and_no_end_of_an_answer(chat: Chat, provider: ThreadedProvider) -> None:
    chat.ask("endless")
    chat.shows("drop drop drop")
    chat.press("Cut the line")
    chat.ends("Failed")
    provider.wait_until(lambda server: server.requests[-1].disconnected.is_set())
    chat.sees("#line-words", "connection cut")
    assert chat.answer.get_attribute("data-outcome") != "completed"
    expect(chat.answer.locator(".outcome")).to_contain_text("only a part")
    chat.ask("words")  # the page goes on, over a new connection
    chat.ends("Finished")


def test_what_waited_in_the_queue_is_shown_before_the_cut_is(chat: Chat, provider: ThreadedProvider) -> None:
    chat.press("Slow reader")
    chat.ask("endless")
    chat.sees("#fill-events", "32 of 32 events")
    chat.press("Cut the line")
    provider.wait_until(lambda server: server.requests[-1].disconnected.is_set())
    seen = chat.text.count("drop")
    chat.press("Slow reader")
    chat.ends("Failed")
    assert chat.text.count("drop") >= seen + 30


def test_there_is_nothing_to_cut_before_a_question_and_after_its_answer(chat: Chat) -> None:
    cut = chat.page.get_by_role("button", name="Cut the line")
    expect(cut).to_have_attribute("aria-disabled", "true")
    chat.ask("words")
    chat.ends("Finished")
    expect(cut).to_have_attribute("aria-disabled", "true")
    cut.click(force=True)
    chat.sees("#verdict", "finished")


def test_reload_in_the_middle_of_an_answer_leaves_the_provider(chat: Chat, provider: ThreadedProvider) -> None:
    chat.ask("endless")
    chat.shows("drop drop drop")
    chat.page.reload()
    provider.wait_until(lambda server: server.requests[-1].disconnected.is_set())
    chat.sees("#line-state", "connected")
    assert chat.page.locator("article").count() == 0


def test_a_hidden_tab_goes_on_reading(chat: Chat, provider: ThreadedProvider) -> None:
    # A hidden tab has no animation frames: without another clock the page would give no credit any more.
    chat.page.evaluate(
        """() => {
          Object.defineProperty(document, "hidden", { get: () => true });
          window.requestAnimationFrame = () => 0;
          document.dispatchEvent(new Event("visibilitychange"));
        }"""
    )
    chat.ask("words")
    chat.ends("Finished")
