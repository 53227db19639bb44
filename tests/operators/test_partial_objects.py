"""Structured output: provisional data as it grows, the validated object once, and never one of a part."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal

import pytest
import reactivex as rx
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter, field_validator
from reactivex.subject import Subject

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import Cancelled, Event, Finish, ReasoningDelta, ResponseStart, TextDelta
from rxstream.testing import run_virtual
from tests.response.test_growth import cpu_seconds


class Job(BaseModel):
    status: Literal["pending", "done"]
    n: int = Field(ge=10)
    note: str = ""


TEXT = '{"status":"pending","n":12,"note":"Hé \\u00e9"}'
STOP = Finish("stop")


def text(*pieces: str, end: Event | None = STOP) -> list[Event]:
    return [*map(TextDelta, pieces), *(() if end is None else (end,))]


async def objects(events: Sequence[Event], model: Any = Job, **options: Any) -> tuple[list[Any], Exception | None]:
    items: list[Any] = []
    source: Any = rxs.from_iterable(events)
    try:
        async for item in rxs.iterate(source.pipe(ops.partial_objects(model, **options))):
            items.append(item)
    except Exception as error:
        return items, error
    return items, None


def read(events: Sequence[Event], model: Any = Job, **options: Any) -> tuple[list[Any], Exception | None]:
    return run_virtual(objects(events, model, **options))


def test_numbers_and_literals_come_when_they_are_closed_and_the_object_once_at_the_end() -> None:
    items, error = read(text('{"status":"pen', 'ding","n":1', '2,"note":"a', 'b"}'))
    assert error is None
    assert [(item.value, item.is_final, item.object) for item in items] == [
        ({}, False, None),
        ({"status": "pending"}, False, None),
        ({"status": "pending", "n": 12, "note": "a"}, False, None),
        ({"status": "pending", "n": 12, "note": "ab"}, False, None),
        ({"status": "pending", "n": 12, "note": "ab"}, True, Job(status="pending", n=12, note="ab")),
    ]


def test_a_piece_that_shows_nothing_new_makes_no_item() -> None:
    items, _ = read(text("{", '"sta', 'tus":', '"pen', "din", 'g"', ' ,"n": 1', "2}", " "))
    final = {"status": "pending", "n": 12}
    assert [item.value for item in items] == [{}, {"status": "pending"}, final, final]
    assert [item.is_final for item in items] == [False, False, False, True]


def test_values_looked_at_late_are_what_they_were() -> None:
    items, _ = read(text(*TEXT))
    late = [item.value for item in items]
    values: list[Any] = []

    async def main() -> None:
        source: Any = rxs.from_iterable(text(*TEXT))
        async for item in rxs.iterate(source.pipe(ops.partial_objects(Job))):
            values.append(item.value)

    run_virtual(main())
    assert late == values
    assert [item.text for item in items][-1] == TEXT
    assert all(TEXT.startswith(item.text) for item in items)


@given(st.data())
def test_any_cut_gives_the_same_object(data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(TEXT)), max_size=6)))
    items, error = read(text(*(TEXT[start:end] for start, end in zip([0, *cuts], [*cuts, len(TEXT)], strict=True))))
    assert error is None
    assert [item.object for item in items if item.is_final] == [Job(status="pending", n=12, note="Hé é")]
    assert items[-1].is_final


def test_a_validator_sees_the_whole_object_only_and_once() -> None:
    seen: list[int] = []

    class Checked(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def note(cls, value: int) -> int:
            seen.append(value)
            return value

    read(text('{"n"', ":1", "2", "3}"), Checked)
    assert seen == [123]


def test_any_type_that_pydantic_validates_serves() -> None:
    items, _ = read(text("[1,2", ",3]"), list[int])
    assert [item.value for item in items] == [[1], [1, 2, 3], [1, 2, 3]]
    assert items[-1].object == [1, 2, 3]
    items, _ = read(text("12"), TypeAdapter(int))
    assert [(item.value, item.object) for item in items] == [(None, 12)]


def test_reasoning_and_other_choices_are_not_in_the_text() -> None:
    events = [ResponseStart("1"), ReasoningDelta("{"), TextDelta("no", choice=1), *text('{"status":"done","n":10}')]
    items, error = read([*events, Finish("stop", choice=1)])
    assert error is None
    assert items[-1].object == Job(status="done", n=10)


def test_nothing_is_read_of_a_cancelled_answer() -> None:
    async def main() -> None:
        source: Subject[Any] = Subject()
        stream = rxs.iterate(source.pipe(ops.partial_objects(Job)))
        source.on_next(TextDelta('{"n":10,"status":"done"}'))
        source.on_next(Cancelled("user_stop"))
        items: list[Any] = [item async for item in stream]
        assert isinstance(items[-1], Cancelled)
        assert not any(item.is_final for item in items[:-1])

    run_virtual(main())


# Ends that are no object ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_an_answer_that_was_cut_is_an_error_and_what_had_come_is_in_the_last_item(reason: Any) -> None:
    items, error = read(text('{"status":"done","n":12', end=Finish(reason)))
    assert isinstance(error, rxs.TruncatedStreamError)
    assert reason in str(error)
    assert (error.phase, error.public.retry.retryable) == ("mid_stream", False)
    assert (items[-1].value, items[-1].text) == ({"status": "done"}, '{"status":"done","n":12')
    assert not items[-1].is_final


def test_a_refusal_is_an_error_that_says_so() -> None:
    _, error = read([Finish("refusal")])
    assert isinstance(error, rxs.DecodeError)
    assert str(error).endswith("the model refused")


def test_another_choice_that_was_cut_does_not_matter() -> None:
    events = [*text("[1]", end=None), TextDelta("x", choice=1), Finish("length", choice=1), STOP]
    items, error = read(events, list[int])
    assert error is None
    assert items[-1].object == [1]


def test_a_whole_text_of_an_answer_that_was_cut_is_no_object() -> None:
    items, error = read(text('{"status":"done","n":12}', end=Finish("length")))
    assert isinstance(error, rxs.TruncatedStreamError)
    assert [item.object for item in items] == [None]


def test_events_without_a_finish_are_an_error() -> None:
    _, error = read(text('{"status":"done","n":12}', end=None))
    assert isinstance(error, rxs.TruncatedStreamError)


def test_an_error_of_upstream_passes() -> None:
    async def main() -> None:
        with pytest.raises(KeyError, match="broken"):
            await anext(rxs.iterate(rx.throw(KeyError("broken")).pipe(ops.partial_objects(Job))))

    run_virtual(main())


WRONG = {
    '{"status":"done"}': "n: missing",
    '{"status":"gone","n":1}': "status: literal_error; n: greater_than_equal",
    '{"status":"done","n":12': "it is not whole, strict JSON",
    "": "there is no text",
    " \n": "there is no text",
}


@pytest.mark.parametrize(("wrong", "says"), WRONG.items())
def test_a_completed_answer_that_is_not_the_object_says_where_and_shows_nothing_of_it(wrong: str, says: str) -> None:
    diagnostics = rxs.Diagnostics()
    items, error = read(text(wrong), diagnostics=diagnostics)
    assert isinstance(error, rxs.DecodeError)
    assert str(error) == f"the answer is not the object that was asked for: {says}"
    assert (error.__cause__, error.__context__) == (None, None)
    assert not any(item.is_final for item in items)
    assert [record.detail for record in diagnostics.records()] == [wrong]


def test_names_that_are_the_answers_own_are_not_shown() -> None:
    class Strict(BaseModel, extra="forbid"):
        n: dict[str, int]

    _, error = read(text('{"n":{"PLANTED":"x"},"PLANTED2":1}'), Strict)
    assert str(error).endswith("n.*: int_parsing; *: extra_forbidden")


def test_of_many_faults_the_first_are_named() -> None:
    _, error = read(text(json.dumps([{}] * 20)), list[Job])
    assert str(error).count("missing") == 5
    assert str(error).endswith("; and 35 more")


@pytest.mark.parametrize("start", ["Sure! ", "```json\n", '{"status" "', "{} {"])
def test_what_cannot_become_json_fails_at_once_and_lets_the_source_go(start: str) -> None:
    disposed: list[bool] = []

    async def endless() -> AsyncIterator[Event]:
        try:
            yield TextDelta(start)
            while True:
                await asyncio.sleep(1)
                yield TextDelta("x")
        finally:
            disposed.append(True)

    async def main() -> None:
        source: Any = rxs.from_aiter(endless())
        stream = rxs.iterate(source.pipe(ops.partial_objects(Job)))
        with pytest.raises(rxs.DecodeError, match="not JSON"):
            while True:
                await anext(stream)
        await stream.aclose()
        assert asyncio.get_running_loop().time() == 0
        assert disposed == [True]

    run_virtual(main())


def test_a_validator_that_fails_with_a_bug_is_not_called_a_wrong_answer() -> None:
    class Buggy(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def bug(cls, value: int) -> int:
            raise KeyError("a bug")

    _, error = read(text('{"n":1}'), Buggy)
    assert isinstance(error, KeyError)


@pytest.mark.parametrize(
    ("events", "limits", "setting"),
    [
        (text('{"note":"', "a" * 100), rxs.Limits(max_text_bytes=50), "max_text_bytes"),
        (text("[[[["), rxs.Limits(max_json_depth=3), "max_json_depth"),
    ],
)
def test_a_limit_is_a_named_error(events: list[Event], limits: rxs.Limits, setting: str) -> None:
    _, error = read(events, limits=limits)
    assert isinstance(error, rxs.LimitError)
    assert error.setting == setting


def test_a_type_that_nobody_can_validate_is_refused_at_assembly() -> None:
    class Plain:
        pass

    with pytest.raises(TypeError, match="validates"):
        ops.partial_objects(Plain)


def test_a_model_without_a_json_schema_shows_its_strings_as_they_grow() -> None:
    class Odd(BaseModel):
        call: Any = None
        kind: Literal["ab"]

        @classmethod
        def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> Any:
            from pydantic.errors import PydanticInvalidForJsonSchema

            raise PydanticInvalidForJsonSchema("none")

    items, error = read(text('{"kind":"a', 'b"}'), Odd)
    assert error is None
    assert items[0].value == {"kind": "a"}


# Progress, demand, cost ----------------------------------------------------------------------------------------------


def test_progress_is_seen_batch_by_batch_while_the_list_grows() -> None:
    """A hundred deltas, 50 ms apart: something new is there in each second, not everything at the end."""

    async def slowly() -> AsyncIterator[Event]:
        yield TextDelta("[")
        for number in range(100):
            await asyncio.sleep(0.05)
            yield TextDelta(f"{number},")
        yield TextDelta("0]")
        yield STOP

    async def main() -> None:
        source: Any = rxs.from_aiter(slowly())
        stream = rxs.iterate(source.pipe(ops.batch_text(max_wait_seconds=0.2), ops.partial_objects(list[int])))
        seen = [(asyncio.get_running_loop().time(), len(item.value)) async for item in stream]
        for second in range(1, 5):
            assert any(second - 1 < at <= second for at, _ in seen)
            assert max(count for at, count in seen if at <= second) >= 20 * second - 5

    run_virtual(main())


@pytest.mark.parametrize("model", [str, list[Literal["aaaa"]]], ids=["one string", "a list"])
def test_eight_times_as_much_costs_about_eight_times_as_much(model: Any) -> None:
    def events(pieces: int) -> list[Event]:
        first, again, last = ('"', "aaaa", '"') if model is str else ('["aaaa"', ',"aaaa"', "]")
        return text(first, *[again] * pieces, last)

    few, many = events(500), events(4000)
    assert read(many, model)[1] is None
    assert cpu_seconds(lambda: read(many, model)) < 3 * 8 * cpu_seconds(lambda: read(few, model))


def test_demand_reaches_the_source_through_it() -> None:
    read_ahead: list[int] = []

    async def counting() -> AsyncIterator[Event]:
        yield TextDelta('"')
        for number in range(100):
            read_ahead.append(number)
            yield TextDelta("a")

    async def main() -> None:
        source: Any = rxs.from_aiter(counting())
        stream = rxs.iterate(source.pipe(ops.partial_objects(str)))
        await anext(stream)
        await asyncio.sleep(1)
        assert len(read_ahead) <= 1
        await stream.aclose()

    run_virtual(main())


def test_two_subscribers_share_nothing() -> None:
    async def main() -> None:
        source: Any = rxs.from_iterable(text("[1,", "2]"))
        events = source.pipe(ops.partial_objects(list[int]))
        first, second = rxs.iterate(events), rxs.iterate(events)
        for _ in range(3):
            assert (await anext(first)).value == (await anext(second)).value

    run_virtual(main())
