"""Taking secrets out of events: cut anywhere, in any field, in errors; and nothing else is changed or held."""

from __future__ import annotations

import asyncio
import re
import traceback
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
import reactivex as rx
from hypothesis import given
from hypothesis import strategies as st
from reactivex.subject import Subject

import rxstream as rxs
from rxstream import operators as ops
from rxstream.consume.pull import open_pull
from rxstream.events import (
    Annotation,
    Cancelled,
    Event,
    Finish,
    MediaDelta,
    ProviderEvent,
    ReasoningDelta,
    ReasoningSignature,
    ResponseFinal,
    ResponseStart,
    ServerToolCall,
    ServerToolResult,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallInvalid,
    ToolCallStart,
    ToolResult,
    Usage,
    UsageUpdate,
    Violation,
)
from rxstream.flow import Scope
from rxstream.testing import run_virtual

KEY = "sk-PLANTEDPLANTED"
GONE = "[redacted]"
STOP = Finish("stop")
BROKEN: list[Event] = [TextDelta("a sk-PLA")]


async def redacted(events: Sequence[Event], **options: Any) -> list[Event]:
    return [event async for event in rxs.iterate(rxs.from_iterable(events).pipe(ops.redact(**options)))]


def check(events: Sequence[Event], expected: Sequence[Event], **options: Any) -> None:
    assert run_virtual(redacted(events, **options)) == list(expected)


def test_a_secret_cut_over_deltas_is_replaced_and_the_rest_comes_at_once() -> None:
    check(
        events=[TextDelta("the key s"), TextDelta("k-PLAN"), TextDelta("TEDPLANTED"), TextDelta("!. ok"), STOP],
        expected=[TextDelta("the key "), TextDelta(GONE), TextDelta("!. ok"), STOP],
    )


def test_a_text_without_secrets_is_the_same_objects() -> None:
    events: list[Event] = [ResponseStart("1"), TextDelta("Hello"), TextDelta(" you", logprobs=[1]), STOP]
    passed = run_virtual(redacted(events))
    assert [id(event) for event in passed] == [id(event) for event in events]


def test_what_might_have_become_a_secret_leaves_at_the_finish_as_it_was() -> None:
    check(
        events=[TextDelta("a sk-12"), STOP],
        expected=[TextDelta("a "), TextDelta("sk-12"), STOP],
    )


USAGE = UsageUpdate(Usage(output_tokens=3))


def test_what_comes_in_the_middle_of_a_text_waits_until_its_beginning_is_known() -> None:
    note, odd = ProviderEvent("ping", {"token": KEY}), Violation("odd", "odd")
    clean = replace(note, data={"token": GONE})
    check(
        events=[TextDelta("a sk-a"), USAGE, note, TextDelta("pple"), odd, TextDelta(" pie"), USAGE, STOP],
        expected=[
            *(TextDelta("a "), TextDelta("sk-a"), USAGE, clean),
            *(TextDelta("pple"), odd, TextDelta(" pie"), USAGE, STOP),
        ],
    )
    check(
        events=[TextDelta("sk-PLAN"), USAGE, TextDelta("TED"), odd, TextDelta("PLANTED it is"), STOP],
        expected=[TextDelta(GONE), USAGE, odd, TextDelta(" it is"), STOP],
    )
    check(
        events=[TextDelta("sk-a"), USAGE, TextDelta(" b, password: hunter2, sk-b"), USAGE, STOP],
        expected=[TextDelta("sk-a"), USAGE, TextDelta(f" b, password: {GONE}, "), TextDelta("sk-b"), USAGE, STOP],
    )


def test_a_call_or_another_text_in_between_takes_a_part_of_a_secret_for_one() -> None:
    for between in (ToolCallStart("1", "f"), TextDelta("x", "q"), ReasoningDelta("x")):
        check(
            events=[TextDelta("sk-a"), USAGE, between, TextDelta("pple pie"), STOP],
            expected=[TextDelta(GONE), USAGE, between, TextDelta(" pie"), STOP],
        )


def test_no_more_than_sixteen_events_wait_for_a_text() -> None:
    check(
        events=[TextDelta("sk-a"), *[USAGE] * 16, TextDelta("pple pie")],
        expected=[TextDelta("sk-a"), *[USAGE] * 16, TextDelta("pple pie")],
    )
    check(
        events=[TextDelta("sk-a"), *[USAGE] * 17, TextDelta("pple.")],
        expected=[TextDelta(GONE), *[USAGE] * 17, TextDelta(".")],
    )


def test_what_waits_behind_a_text_leaves_with_it_at_the_end_and_is_counted_when_it_is_dropped() -> None:
    check(events=[TextDelta("sk-a"), USAGE], expected=[TextDelta(GONE), USAGE])
    check(
        events=[TextDelta("sk-a"), USAGE, TextDelta("b"), USAGE, STOP],
        expected=[TextDelta("sk-a"), USAGE, TextDelta("b"), USAGE, STOP],
    )

    async def main() -> int:
        hot: Subject[Event] = Subject()
        scope = Scope()
        pull = open_pull(hot.pipe(ops.redact()), scope)
        for event in (TextDelta("sk-a"), USAGE, USAGE):
            hot.on_next(event)
        pull.dispose()
        return scope.discarded

    assert run_virtual(main()) == 3


def test_what_tells_nothing_leaves_before_another_event_and_the_secret_does_not() -> None:
    usage = UsageUpdate(Usage(input_tokens=1))
    check(
        events=[TextDelta("a sk"), usage, TextDelta("-PLANTEDPLANTED ok"), STOP],
        expected=[TextDelta("a "), TextDelta("sk"), usage, TextDelta(f"{GONE} ok"), STOP],
    )
    check(
        events=[TextDelta("a sk-PLA"), usage, TextDelta("NTEDPLANTED ok"), STOP],
        expected=[TextDelta("a "), TextDelta(GONE), usage, TextDelta(" ok"), STOP],
    )


def test_texts_that_grow_in_turns_have_each_its_own_secret() -> None:
    check(
        events=[
            ToolCallDelta("1", '{"a":"sk-PLANTED1'),
            ToolCallDelta("2", '{"b":"z'),
            ToolCallDelta("1", 'PLANTED"}'),
            ToolCallDelta("2", 'y"}'),
            ToolCall("1", "f", f'{{"a":"{KEY}"}}'),
        ],
        expected=[
            ToolCallDelta("1", f'{{"a":"{GONE}'),
            ToolCallDelta("2", '{"b":"z'),
            ToolCallDelta("1", '"}'),
            ToolCallDelta("2", 'y"}'),
            ToolCall("1", "f", f'{{"a":"{GONE}"}}'),
        ],
    )


def test_text_and_reasoning_of_one_part_are_two_texts() -> None:
    check(
        events=[TextDelta("a sk-PLANTED1"), ReasoningDelta("PLANTED"), TextDelta("P ok"), STOP],
        expected=[TextDelta(f"a {GONE}"), ReasoningDelta("PLANTED"), TextDelta(" ok"), STOP],
    )


def test_what_is_held_at_an_error_or_a_bare_end_leaves_unless_it_is_a_part_of_a_secret() -> None:
    check(events=[TextDelta("a sk-PLA")], expected=[TextDelta("a "), TextDelta(GONE)])
    check(events=[TextDelta("what?")], expected=[TextDelta("what"), TextDelta("?")])

    async def main() -> None:
        source: Any = rx.concat(rxs.from_iterable(BROKEN), rx.throw(ValueError("broken")))
        stream = rxs.iterate(source.pipe(ops.redact()))
        assert [await anext(stream), await anext(stream)] == [TextDelta("a "), TextDelta(GONE)]
        with pytest.raises(ValueError, match="broken"):
            await anext(stream)

    run_virtual(main())


RAW: Any = {"error": f"bad {KEY}", "api_key": "PLANTED", "messages": ["PLANTED"], "n": 1}
SHOWN: Any = {"error": f"bad {GONE}", "api_key": GONE, "messages": "[left out]", "n": 1}

EVERYWHERE: list[tuple[Event, Event]] = [
    (ProviderEvent("x", RAW), ProviderEvent("x", SHOWN)),
    (ServerToolCall("1", "f", KEY, raw=RAW), ServerToolCall("1", "f", GONE, raw=SHOWN)),
    (ResponseFinal(RAW, text=f"a {KEY}"), ResponseFinal(SHOWN, text=f"a {GONE}")),
    (
        ResponseFinal(None, tool_calls=[ToolCall("1", "f", KEY)]),
        ResponseFinal(None, tool_calls=[ToolCall("1", "f", GONE)]),
    ),
    (UsageUpdate(Usage(raw=RAW)), UsageUpdate(Usage(raw=SHOWN))),
    (ToolCallInvalid("1", "f", KEY, f"no {KEY}"), ToolCallInvalid("1", "f", GONE, f"no {GONE}")),
    (ToolResult("1", "f", {"password": "PLANTED"}), ToolResult("1", "f", {"password": GONE})),
    (ServerToolResult("1", "f", [KEY]), ServerToolResult("1", "f", [GONE])),
    (Annotation("url", {"url": "http://h?key=PLANTED"}), Annotation("url", {"url": f"http://h?key={GONE}"})),
    (Finish("other", KEY, detail=KEY), Finish("other", GONE, detail=GONE)),
    (Violation("c", KEY), Violation("c", GONE)),
    (ToolCallStart("1", KEY), ToolCallStart("1", GONE)),
]


@pytest.mark.parametrize(("event", "expected"), EVERYWHERE, ids=lambda event: str(event.type))
def test_every_event_that_can_hold_words_is_redacted(event: Event, expected: Event) -> None:
    check([event], [expected])


@pytest.mark.parametrize("event", [ReasoningSignature(KEY), MediaDelta("image/png", KEY)], ids=lambda event: event.type)
def test_what_must_stay_as_it_is_passes(event: Event) -> None:
    check([event], [event])


def test_an_event_that_is_changed_is_a_copy() -> None:
    event = ProviderEvent("x", {"password": "PLANTED"})
    check([event], [ProviderEvent("x", {"password": GONE})])
    assert event.data == {"password": "PLANTED"}


def test_log_probabilities_of_a_changed_piece_are_dropped() -> None:
    check(
        events=[TextDelta(f"a {KEY} ok", logprobs=[{"token": "sk"}]), TextDelta("d", logprobs=[1]), STOP],
        expected=[TextDelta(f"a {GONE} ok"), TextDelta("d", logprobs=[1]), STOP],
    )


def test_a_cancellation_overtakes_what_is_held() -> None:
    async def main() -> None:
        source: Subject[Any] = Subject()
        stream = rxs.iterate(source.pipe(ops.redact()))
        source.on_next(TextDelta("a sk"))
        source.on_next(Cancelled("user_stop", f"because of {KEY}"))
        seen = [event async for event in stream]
        assert seen[-1] == Cancelled("user_stop", f"because of {GONE}")
        assert TextDelta("sk") not in seen

    run_virtual(main())


def test_two_subscribers_share_nothing() -> None:
    async def main() -> None:
        source: Any = rxs.from_iterable([TextDelta("a sk"), TextDelta("-PLANTEDPLANTED"), STOP])
        events = source.pipe(ops.redact())
        first, second = rxs.iterate(events), rxs.iterate(events)
        got = [(await anext(first), await anext(second)) for _ in range(3)]
        assert [a for a, _ in got] == [b for _, b in got] == [TextDelta("a "), TextDelta(GONE), STOP]

    run_virtual(main())


def test_demand_reaches_the_source_through_it() -> None:
    read = 0

    async def counting() -> AsyncIterator[Event]:
        nonlocal read
        for _ in range(100):
            read += 1
            yield TextDelta("word ")
            await asyncio.sleep(0)

    async def main() -> None:
        source: Any = rxs.from_aiter(counting())
        stream = rxs.iterate(source.pipe(ops.redact()))
        await anext(stream)
        await asyncio.sleep(1)
        assert read <= 2
        await stream.aclose()

    run_virtual(main())


# Errors --------------------------------------------------------------------------------------------------------------


def failure(error: Exception, diagnostics: rxs.Diagnostics | None = None) -> BaseException:
    async def main() -> BaseException:
        stream = rxs.iterate(rx.throw(error).pipe(ops.redact(diagnostics=diagnostics)))
        with pytest.raises(Exception) as caught:
            await anext(stream)
        return caught.value

    return run_virtual(main())


def test_an_error_without_secrets_is_the_same_error() -> None:
    error = ValueError("a bug")
    assert failure(error) is error


def test_an_exception_that_shows_a_secret_becomes_one_that_names_its_class() -> None:
    diagnostics = rxs.Diagnostics()
    made = failure(ValueError(f"cannot use {KEY}"), diagnostics)
    assert isinstance(made, rxs.StreamError)
    assert str(made) == "a function of the pipeline raised ValueError"
    assert KEY not in "".join(traceback.format_exception(made))
    record = diagnostics.get(made.public.correlation_id)
    assert record is not None
    assert record.detail == f"ValueError: cannot use {GONE}"


def test_an_exception_that_came_from_one_with_a_secret_is_replaced_too() -> None:
    error = ValueError("a bug")
    error.__context__ = KeyError(KEY)
    made = failure(error)
    assert made is not error
    assert KEY not in "".join(traceback.format_exception(made))


def test_the_message_of_one_of_ours_is_redacted_and_the_rest_stays() -> None:
    error = rxs.ProviderError(f"bad {KEY}", status=401, code="c", category="authentication")
    made = failure(error)
    assert isinstance(made, rxs.ProviderError)
    assert (str(made), made.args, made.status, made.code) == (f"bad {GONE}", (f"bad {GONE}",), 401, "c")
    assert made.public.correlation_id == error.public.correlation_id
    assert KEY not in repr(vars(made))


# Any cut -------------------------------------------------------------------------------------------------------------


TEXT = 'say sk-PLANTEDPLANTED, {"api_key": "PLANTED"} and ?key=PLANTED; is sk-it so? bearer of news'
CLEAN = f'say {GONE}, {{"api_key": "{GONE}"}} and ?key={GONE}; is sk-it so? bearer of news'


@given(st.lists(st.integers(0, len(TEXT)), max_size=10), st.booleans())
def test_any_cut_gives_the_text_that_the_whole_gives(places: list[int], are_parted: bool) -> None:
    """Also where other events stand between the pieces: none of them is lost, and none leaves its place among them."""
    cuts = sorted(places)
    pieces = [TEXT[start:end] for start, end in zip([0, *cuts], [*cuts, len(TEXT)], strict=True)]
    between = [ProviderEvent("n", number) for number in range(len(pieces))] if are_parted else []
    events: list[Event] = []
    for number, piece in enumerate(pieces):
        events += [TextDelta(piece), *between[number : number + 1]]
    out = run_virtual(redacted([*events, STOP]))
    shown = "".join(event.text for event in out if isinstance(event, TextDelta))
    if are_parted:  # a beginning that tells nothing does not wait for what follows
        shown = re.sub(r"^say (s|sk|sk-)\[", "say [", shown)
    assert shown == CLEAN
    assert [event for event in out if isinstance(event, ProviderEvent)] == between
    for event in between:  # text before and behind it, but for a secret in which it came
        before = "".join(each.text for each in out[: out.index(event)] if isinstance(each, TextDelta))
        came = "".join(pieces[: int(str(event.data)) + 1])
        assert came.startswith(before) or before.endswith(GONE) or GONE in before
