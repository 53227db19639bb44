"""A tool and the function that runs it."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, Self, overload

from pydantic import Field, PrivateAttr

from rxstream.requests.options import Tool
from rxstream.tools.context import ToolContext, ToolError
from rxstream.tools.parameters import Parameters, underlying_function

__all__ = ("FunctionTool", "as_tools", "tool")


class FunctionTool(Tool):
    """A `Tool` of a request, with the function behind it: one object for the request and for `run_tools`.

    `FunctionTool.of` and the decorator `tool` make it. It can still be called as the function.

    Args:
        timeout_seconds: the longest that one call may take; None leaves it to `run_tools`.
        idempotent: running it again does no harm: it has no side effect, or has it once for the same key. A call that
            did not finish is then an `error`, which may be tried again, and not `unknown`.
        in_thread: a plain function runs in a thread, so that it holds up nobody; False runs it on the loop.
    """

    timeout_seconds: float | None = Field(default=None, gt=0)
    idempotent: bool = False
    in_thread: bool = True
    _function: Callable[..., Any] | None = PrivateAttr(default=None)
    _takes: Parameters | None = PrivateAttr(default=None)
    _is_async: bool = PrivateAttr(default=False)

    @classmethod
    def of(
        cls,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        strict: bool | None = None,
        timeout_seconds: float | None = None,
        idempotent: bool = False,
        in_thread: bool = True,
    ) -> Self:
        """The tool that runs `function`.

        Args:
            function: plain or async, with named parameters. `Annotated[str, Field(description=...)]` describes one; one
                that is annotated `ToolContext` is given the context, and the model does not see it.
            name: what the model calls it; the function's name by default.
            description: the function's docstring by default.
            strict: the provider is to enforce the schema.
            timeout_seconds: see the class.
            idempotent: see the class.
            in_thread: see the class.

        Raises:
            TypeError: it has no name, or a parameter that JSON has no form for.
            ValueError: `timeout_seconds` is not positive.
        """
        inner = underlying_function(function)
        known_as = name or getattr(function, "__name__", None)
        if known_as is None:
            raise TypeError(f"{function!r} has no name: tool(name=...)(function) gives it one")
        if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
            raise TypeError(f"the tool {known_as!r} gives one result: it must not be a generator")
        takes = Parameters(function)
        made = cls(
            name=known_as,
            description=description or inspect.getdoc(function) or None,
            parameters=takes.json_schema,
            strict=strict,
            timeout_seconds=timeout_seconds,
            idempotent=idempotent,
            in_thread=in_thread,
        )
        made._function, made._takes = function, takes
        made._is_async = inspect.iscoroutinefunction(inner)
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, without any check."""
        function, _ = self._parts()
        return function(*args, **kwargs)

    def read(self, arguments: str, *, is_text: bool = False) -> dict[str, Any]:
        """The arguments of a call as the function takes them.

        Args:
            arguments: their JSON.
            is_text: they are the free text of a `custom` call.

        Raises:
            ToolError: they do not fit; the message quotes none of them.
        """
        _, takes = self._parts()
        return takes.read_text(arguments) if is_text else takes.read(arguments)

    async def run(self, arguments: dict[str, Any], context: ToolContext) -> Any:
        """Run the function. A thread cannot be stopped: where this is cancelled, it still waits for the thread's end.

        Args:
            arguments: what `read` gave.
            context: the call.
        """
        function, takes = self._parts()
        given = arguments if takes.context_name is None else {**arguments, takes.context_name: context}
        if self._is_async or not self.in_thread:
            result = function(**given)
        else:
            result = await _in_thread(functools.partial(function, **given), context)
        return await result if inspect.isawaitable(result) else result

    def _parts(self) -> tuple[Callable[..., Any], Parameters]:
        if self._function is None or self._takes is None:
            raise TypeError(f"the tool {self.name!r} has no function: FunctionTool.of(function) makes one that has")
        return self._function, self._takes


@overload
def tool(function: Callable[..., Any], /) -> FunctionTool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    strict: bool | None = None,
    timeout_seconds: float | None = None,
    idempotent: bool = False,
    in_thread: bool = True,
) -> Callable[[Callable[..., Any]], FunctionTool]: ...


def tool(function: Callable[..., Any] | None = None, /, **settings: Any) -> Any:
    """Make a tool of a function; a decorator, with settings or without.

        @rxs.tool(timeout_seconds=10, idempotent=True)
        async def weather(city: str) -> dict[str, float]:
            \"\"\"The weather in a city, now.\"\"\"

    Args:
        function: plain or async.
        settings: those of `FunctionTool.of`.

    Returns:
        The tool, for `run_tools`, `run_turns` and `ModelRequest(tools=...)`.
    """
    if function is None:
        return lambda function: FunctionTool.of(function, **settings)
    return FunctionTool.of(function, **settings)


def as_tools(tools: Iterable[FunctionTool | Callable[..., Any]]) -> dict[str, FunctionTool]:
    """Tools by their names; a function becomes a tool.

    Raises:
        TypeError: `tools` is no list of them, or one is neither a function nor a tool that has one.
        ValueError: two have the same name.
    """
    if callable(tools) or not isinstance(tools, Iterable):
        raise TypeError("tools are given as a list, one alone too: [tool]")
    named: dict[str, FunctionTool] = {}
    for one in tools:
        if not callable(one):
            raise TypeError(f"{one!r} is no function and has none; rxs.tool(function) makes a tool")
        made = one if isinstance(one, FunctionTool) else FunctionTool.of(one)
        made._parts()
        if made.name in named:
            raise ValueError(f"two tools have the name {made.name!r}")
        named[made.name] = made
    return named


async def _in_thread(work: Callable[[], Any], context: ToolContext) -> Any:
    """Run `work` in the loop's executor, in this context; a cancelled wait lasts as long as the thread."""

    def begin() -> Any:
        if context.cancellation.is_cancelled:  # it had waited for a free thread
            raise ToolError("the call was cancelled before it began")
        try:
            return work()
        except StopIteration as error:  # a future cannot hold it, and would never be done
            raise RuntimeError("the tool raised StopIteration") from error

    loop = asyncio.get_running_loop()
    future = loop.run_in_executor(None, contextvars.copy_context().run, begin)
    future.add_done_callback(_look_at)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        await asyncio.wait([future])
        raise


def _look_at(future: asyncio.Future[Any]) -> None:
    """Of what a thread raises after its call was cancelled, the loop is not to complain."""
    if not future.cancelled():
        future.exception()
