"""What a model is told of a function, and which arguments reach it."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Iterator
from contextvars import ContextVar
from datetime import date
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

import rxstream as rxs
from rxstream.testing import run_virtual
from rxstream.tools import as_tools


class Place(BaseModel):
    """A place."""

    city: str


def weather(
    place: Place,
    when: date,
    unit: Annotated[Literal["c", "f"], Field(description="Celsius or Fahrenheit")] = "c",
    *,
    context: rxs.ToolContext,
) -> str:
    """The weather in a place."""
    return f"{place.city} {when.year} {unit} {context.call_id}"


NOTHING = object()


def schema(city: str, json: object = NOTHING) -> None:
    """Parameters may be named as anything, also as what pydantic's models have."""


def describe(**facts: int) -> dict[str, int]:
    return facts


def say(text: str, loudly: bool = False) -> str:
    return text.upper() if loudly else text


class Counter:
    """A tool with a state."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, n: int) -> int:
        """Add."""
        self.count += n
        return self.count

    async def __call__(self, n: int) -> int:
        return self.add(n)


def context(call_id: str = "c") -> rxs.ToolContext:
    return rxs.ToolContext(call_id, "key", rxs.Cancellation())


def run(function: Any, arguments: str, **settings: Any) -> Any:
    made = rxs.FunctionTool.of(function, **settings)
    return run_virtual(made.run(made.read(arguments), context()))


def test_the_schema_is_that_of_the_signature_without_the_context() -> None:
    made = rxs.tool(weather)
    assert (made.name, made.description, made.strict) == ("weather", "The weather in a place.", None)
    assert list(made.parameters["properties"]) == ["place", "when", "unit"]
    assert made.parameters["required"] == ["place", "when"]
    assert made.parameters["type"] == "object"
    assert made.parameters["additionalProperties"] is False
    assert made.parameters["properties"]["unit"] == {
        "default": "c",
        "description": "Celsius or Fahrenheit",
        "enum": ["c", "f"],
        "type": "string",
    }


def test_a_tool_stands_in_a_request_as_it_is() -> None:
    made = rxs.tool(weather)
    assert rxs.ModelRequest.of("?", tools=[made]).tools == (made,)


def test_arguments_come_as_the_types_of_the_signature() -> None:
    assert run(weather, '{"place":{"city":"Oslo"},"when":"2024-02-29"}') == "Oslo 2024 c c"


def test_a_parameter_may_have_a_name_of_pydantics_own() -> None:
    made = rxs.tool(schema)
    assert list(made.parameters["properties"]) == ["city", "json"]
    assert made.read('{"city":"x","json":[1]}') == {"city": "x", "json": [1]}


def test_named_arguments_of_any_name_are_checked_too() -> None:
    assert run(describe, '{"a":1,"b":2}') == {"a": 1, "b": 2}
    with pytest.raises(rxs.ToolError, match="b: Input should be a valid integer"):
        rxs.tool(describe).read('{"b":"two"}')


@pytest.mark.parametrize("nothing", ["", "  ", "null", "{}"])
def test_no_arguments_are_an_empty_object(nothing: str) -> None:
    assert run(describe, nothing) == {}


@pytest.mark.parametrize("arguments", ['{"text":"SECRET"', '"SECRET"', '["SECRET"]', '{"text":["SECRET"]}', '{"x":1}'])
def test_arguments_that_do_not_fit_are_told_without_being_quoted(arguments: str) -> None:
    with pytest.raises(rxs.ToolError) as raised:
        rxs.tool(say).read(arguments)
    assert "SECRET" not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


def test_of_many_faults_only_some_are_told() -> None:
    with pytest.raises(rxs.ToolError, match=r"and 92 more$"):
        rxs.tool(describe).read("{" + ",".join(f'"k{n}":"x"' for n in range(100)) + "}")


def test_free_text_goes_to_the_one_parameter() -> None:
    made = rxs.tool(say)
    assert made.read("{not json", is_text=True) == {"text": "{not json", "loudly": False}
    with pytest.raises(rxs.ToolError, match="exactly one parameter"):
        rxs.tool(describe).read("x", is_text=True)


def test_methods_partials_and_callable_objects_are_tools() -> None:
    counter = Counter()
    assert run(counter.add, '{"n":2}') == 2
    assert run(counter, '{"n":3}', name="count") == 5
    assert run(functools.partial(say, loudly=True), '{"text":"a"}', name="shout") == "A"


def test_a_decorated_function_can_still_be_called() -> None:
    @rxs.tool(name="double", timeout_seconds=2, idempotent=True)
    def twice(n: int) -> int:
        return 2 * n

    assert twice(4) == 8
    assert (twice.name, twice.timeout_seconds, twice.idempotent) == ("double", 2, True)


def test_a_plain_function_runs_in_a_thread_with_the_callers_context() -> None:
    user: ContextVar[str] = ContextVar("user")

    def whoami() -> tuple[str, bool]:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return user.get(), False
        return user.get(), True

    async def main() -> None:
        user.set("ada")
        for in_thread in (True, False):
            made = rxs.FunctionTool.of(whoami, in_thread=in_thread)
            assert await made.run({}, context()) == ("ada", not in_thread)

    run_virtual(main())


def test_a_plain_function_that_returns_an_awaitable_is_awaited() -> None:
    async def later(n: int) -> int:
        await asyncio.sleep(1)
        return n

    assert run(lambda n: later(n), '{"n":1}', name="later") == 1


def test_what_a_thread_raises_comes_out_of_it() -> None:
    def fails() -> None:
        raise KeyError("k")

    def stops() -> None:
        raise StopIteration

    with pytest.raises(KeyError):
        run(fails, "")
    with pytest.raises(RuntimeError, match="StopIteration"):
        run(stops, "")


def test_remaining_seconds_are_read_on_the_loops_clock() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        limited = rxs.ToolContext("c", "k", rxs.Cancellation(), loop.time() + 5, loop.time)
        await asyncio.sleep(3)
        assert limited.remaining_seconds == 2
        await asyncio.sleep(3)
        assert limited.remaining_seconds == 0
        assert context().remaining_seconds is None

    run_virtual(main())


def generates() -> Iterator[int]:
    yield 1


def positional(a: int, /) -> None: ...


def variadic(*a: int) -> None: ...


def foreign(a: asyncio.Event) -> None: ...


def unknown(a: NoSuchName) -> None: ...  # type: ignore[name-defined]  # noqa: F821  # that is the point


@pytest.mark.parametrize("wrong", [generates, positional, variadic, foreign, unknown, functools.partial(say)])
def test_what_cannot_be_a_tool_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError):
        rxs.tool(wrong)


def test_a_time_limit_that_is_not_positive_is_refused() -> None:
    with pytest.raises(ValueError):
        rxs.FunctionTool.of(say, timeout_seconds=0)


def test_tools_have_functions_and_names_of_their_own() -> None:
    with pytest.raises(TypeError, match="no function"):
        as_tools([rxs.Tool(name="x")])  # type: ignore[list-item]  # that is the point
    with pytest.raises(TypeError, match="no function"):
        as_tools([rxs.FunctionTool(name="x")])
    with pytest.raises(ValueError, match="'say'"):
        as_tools([say, rxs.tool(say)])
