"""What the picture shows is what happens at the provider."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from rxstream.testing import ScriptedProvider
from rxstream.testing.threaded import ThreadedProvider
from tests.browser.chat import Chat

LANES = {"read": (0.1, 0.29), "queue": (0.3, 0.7), "taken": (0.8, 1.0)}
"""Where in the height of the diagram each lane is."""

COUNT = """
([name, from, to]) => {
  const hex = getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const color = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const drawn = document.getElementById("marbles");
  const { width, height } = drawn;
  const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(drawn, 0, 0);
  const top = Math.round(height * from);
  const { data } = copy.getImageData(0, top, width, Math.round(height * to) - top);
  let count = 0;
  for (let at = 0; at < data.length; at += 4) {
    if (data[at + 3] > 60 && color.every((value, part) => Math.abs(data[at + part] - value) < 12)) count += 1;
  }
  return count;
}
"""


def painted(chat: Chat, color: str, lane: str) -> int:
    """How many points of a lane of the marble diagram have a color of the page."""
    return int(chat.page.evaluate(COUNT, [color, *LANES[lane]]))


def paints(chat: Chat, color: str, lane: str) -> None:
    """Wait until there are some."""
    chat.page.wait_for_function(f"(asked) => ({COUNT.strip()})(asked) > 20", arg=[color, *LANES[lane]])


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


def test_the_timeline_shows_what_came_what_waits_and_where_the_provider_was_paused(chat: Chat) -> None:
    colors = [("water-fill", lane) for lane in LANES] + [("shut-fill", "read")]
    assert [painted(chat, *each) for each in colors] == [0, 0, 0, 0]
    chat.press("Slow reader")
    chat.ask("endless")
    for color, lane in colors:
        paints(chat, color, lane)
    chat.press("Stop")
    chat.ends("Stopped")


def test_the_timeline_tells_reasoning_calls_and_a_break_apart(chat: Chat) -> None:
    chat.ask("thinks slowly")
    chat.ends("Finished")
    for lane in ("read", "taken"):
        paints(chat, "violet", lane)
        paints(chat, "ink", lane)
    assert painted(chat, "bad", "taken") == 0
    chat.ask("breaks off")
    chat.ends("Ended without its end")
    paints(chat, "bad", "taken")
    assert painted(chat, "violet", "taken") == 0
