"""A function's parameters: their JSON Schema for the model, and the check of the arguments that the model sends.

Both are pydantic's, made from the signature as `validate_call` would, but for the parameter that takes the context.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from inspect import Parameter
from typing import Any, Final, get_type_hints

from pydantic import PydanticUserError, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from rxstream.tools.context import ToolContext, ToolError

__all__ = ("Parameters", "underlying_function")

MAX_PROBLEMS: Final = 8
"""So many faults of one call's arguments are told to the model."""

NAMED: Final = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


class _PlainSchema(GenerateJsonSchema):
    """Without titles made from names, which cost tokens and say nothing; a default without a JSON form is left out."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012  # as the base declares it

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


class Parameters:
    """What a function takes.

    Args:
        function: any callable with named parameters.

    Raises:
        TypeError: a parameter has no name that JSON could use, or an annotation that nothing is known of.
    """

    __slots__ = ("_adapter", "_names", "_required", "context_name", "json_schema")

    def __init__(self, function: Callable[..., Any]) -> None:
        hints = _hints(function)
        signature = inspect.signature(function)
        self.context_name = next((name for name, hint in hints.items() if hint is ToolContext), None)
        """The parameter that takes the `ToolContext`; None where none does."""
        kept = [_named(one, hints) for one in signature.parameters.values() if one.name != self.context_name]
        self._names = tuple(one.name for one in kept if one.kind is Parameter.KEYWORD_ONLY)
        self._required = tuple(one.name for one in kept if one.default is Parameter.empty and one.name in self._names)
        keeper: Any = _keeper(kept)  # pydantic takes a function, and its types know only types
        try:
            self._adapter: TypeAdapter[dict[str, Any]] = TypeAdapter(keeper)
            self.json_schema = self._adapter.json_schema(schema_generator=_PlainSchema)
            """The JSON Schema of the arguments: an object."""
        except PydanticUserError as error:
            raise TypeError(f"a parameter of {function!r} has no form in JSON: {error.message}") from error

    def read(self, arguments: str) -> dict[str, Any]:
        """The arguments of a call, from their JSON; nothing stands for no arguments.

        Raises:
            ToolError: they do not fit, with a message for the model that quotes none of them.
        """
        text = arguments.strip()
        if text in ("", "null"):
            text = "{}"
        if text[0] != "{":  # a list would be read as arguments by position
            raise ToolError("the arguments must be one JSON object")
        return self._checked(self._adapter.validate_json, text)

    def read_text(self, text: str) -> dict[str, Any]:
        """The free text of a `custom` call, which goes to the one parameter there is.

        Raises:
            ToolError: there is not exactly one, or it takes something else.
        """
        names = self._required or self._names
        if len(names) != 1:
            raise ToolError("free text needs a tool with exactly one parameter")
        return self._checked(self._adapter.validate_python, {names[0]: text})

    def _checked(self, validate: Callable[[Any], Any], arguments: Any) -> dict[str, Any]:
        problems = ""
        try:
            read: dict[str, Any] = validate(arguments)
            return read
        except ValidationError as error:
            problems = _describe(error)
        raise ToolError(f"the arguments do not fit: {problems}")


def underlying_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function that is run in the end, below `functools.partial`, decorators and `__call__`."""
    inner: Any = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    inner = inspect.unwrap(inner)
    return inner if inspect.isroutine(inner) else type(inner).__call__


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        hints = get_type_hints(underlying_function(function), include_extras=True)
    except NameError as error:
        raise TypeError(
            f"an annotation of {function!r} names {error.name!r}, which its module does not have: tools are annotated "
            "with names of their module"
        ) from None
    hints.pop("return", None)
    return hints


def _named(parameter: Parameter, hints: dict[str, Any]) -> Parameter:
    """The parameter as one that is given by name."""
    if parameter.kind not in NAMED and parameter.kind is not Parameter.VAR_KEYWORD:
        raise TypeError(f"a tool's arguments have names: {str(parameter)!r} can only be given by position")
    annotated = parameter.replace(annotation=hints.get(parameter.name, Any))
    return annotated.replace(kind=Parameter.KEYWORD_ONLY) if parameter.kind in NAMED else annotated


def _keeper(parameters: Sequence[Parameter]) -> Callable[..., dict[str, Any]]:
    """A function with these parameters that gives back what it was called with."""

    def keep(**arguments: Any) -> dict[str, Any]:
        return arguments

    keep.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what `inspect` asks first
    keep.__annotations__ = {one.name: one.annotation for one in parameters}
    return keep


def _describe(error: ValidationError) -> str:
    """What is wrong, without the values."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    told = [f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}" for one in found[:MAX_PROBLEMS]]
    more = len(found) - len(told)
    return "; ".join(told) + (f"; and {more} more" if more else "")
