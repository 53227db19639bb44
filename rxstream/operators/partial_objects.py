"""Structured output as it grows, and the validated object once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError
from reactivex import Observable, abc

from rxstream.diagnostics import Diagnostics
from rxstream.errors import DecodeError, LimitError, RetryHint, StreamError, TruncatedStreamError
from rxstream.events import Event, TextDelta
from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.stage import Stage, stage_operator
from rxstream.limits import Limits
from rxstream.response.partial_json import MISSING, PartialJSON
from rxstream.response.pieces import utf8_length
from rxstream.response.schema_path import grows_at, has_fixed_strings
from rxstream.response.tracker import Tracker

__all__ = ("PartialObject", "partial_objects")

T = TypeVar("T")

MAX_NAMED_FAULTS: Final = 5


class PartialObject(Generic[T]):
    """A structured answer so far, or in the end.

    Attributes:
        is_final: the answer is complete, and `object` is it.
        object: the validated object; None while the answer grows.
    """

    __slots__ = ("_chars", "_document", "_pieces", "_value", "is_final", "object")

    def __init__(self, document: _Document, is_final: bool = False, object: T | None = None) -> None:
        self._document = document
        self._pieces = len(document.pieces)
        self._value: Any = MISSING
        self.is_final = is_final
        self.object = object

    @property
    def value(self) -> Any:
        """Plain data, not validated: what was certain when this item was made. None where nothing was.

        It is made when it is first asked for; do not change it, for items share what is the same in them. Asked for
        late, when more has come, it costs a new reading of the text up to this item.
        """
        if self._value is MISSING:
            self._value = self._document.value_after(self._pieces)
        return self._value

    @property
    def text(self) -> str:
        """The raw text up to this item."""
        return "".join(self._document.pieces[: self._pieces])

    def __repr__(self) -> str:
        kind = "final" if self.is_final else "provisional"
        return f"PartialObject({kind}, {self._pieces} pieces)"  # what is in it may be long, and is content


def partial_objects(
    model: type[T] | TypeAdapter[T],
    *,
    choice: int = 0,
    limits: Limits | None = None,
    diagnostics: Diagnostics | None = None,
) -> Callable[[Observable[Event]], Observable[PartialObject[T]]]:
    """Read the answer's text as one JSON value: what of it is certain as it grows, and the validated object at the end.

        source  --{"n":1--2,"s":"a--b"}--F|
                partial_objects(Model)
        output  --{}------{n:12,s:a}-{n:12,s:ab}--(O|)

    Provisional values are plain data and never validated, for a part of an answer breaks rules that the whole keeps.
    A number, `true`, `false`, `null`, and a string of which the model allows only some or one with a format (an enum, a
    literal, a date) is there when it is closed; other strings grow. A key is there when its value is. An item comes
    whenever that has changed; below `batch_text` that is once a batch. The text is read once, as it comes; a value is
    made when it is looked at, and shares with the one before what was closed by then.

    The object comes once, last, and only from a completed answer whose whole text is strictly JSON and fits the model.
    Text before or behind the JSON, a Markdown fence too, is an error: ask the provider for structured output.

    Errors, none of which shows the text:
        `DecodeError`: at once where the text can no longer become JSON; at a completed end where it is not whole, does
        not fit the model, there is none, or the model refused. `TruncatedStreamError`: the answer was cut (a length, a
        filter) or its events end without a finish. The last item before it holds what had come, as `value` and `text`.
        `LimitError`: it is longer than `max_text_bytes` or nests deeper than `max_json_depth`. Upstream's own pass.

    Args:
        model: a pydantic model, any type that pydantic validates, or a `TypeAdapter`.
        choice: which of several answers.
        limits: `max_text_bytes` and `max_json_depth` are used.
        diagnostics: where the text goes that was wrong.

    Returns:
        A stage. Other events than text are read for the end and not passed on; `Cancelled` is, and no object comes.

    Raises:
        TypeError: pydantic cannot validate that type.
    """
    adapter = _adapter(model)
    schema = _schema(adapter)

    def make(observer: abc.ObserverBase[PartialObject[T]], flow: FlowScheduler) -> _ObjectReader[T]:
        bounds = flow.scope.limits_for(limits)
        return _ObjectReader(observer, flow, adapter, _Document(schema, bounds), choice, diagnostics)

    return stage_operator(make)


def _adapter(model: type[T] | TypeAdapter[T]) -> TypeAdapter[T]:
    if isinstance(model, TypeAdapter):
        return model
    problem = ""
    try:
        return TypeAdapter(model)
    except PydanticSchemaGenerationError as error:
        problem = str(error).partition("\n")[0]
    raise TypeError(f"partial_objects takes a type that pydantic validates: {problem}")


def _schema(adapter: TypeAdapter[Any]) -> dict[str, Any] | None:
    """The schema, where it has strings that must be whole to be shown."""
    try:
        schema = adapter.json_schema()
    except PydanticInvalidForJsonSchema:
        return None  # a type that has none: its strings are shown as they grow
    return schema if has_fixed_strings(schema) else None


class _Document:
    """The text, and what is read of it so far."""

    __slots__ = ("_limits", "_shown", "_size", "pieces", "reader", "schema")

    def __init__(self, schema: dict[str, Any] | None, limits: Limits) -> None:
        self.schema = schema
        self.reader = PartialJSON(limits.max_json_depth)
        self.pieces: list[str] = []  # bounded: max_text_bytes
        self._limits = limits
        self._size = 0
        self._shown = (0, True)  # the number of a string, and whether it may be seen while it grows

    def add(self, piece: str) -> bool:
        """Take a piece in. Whether what may be shown has changed.

        Raises:
            LimitError: the text is too long, or nests too deep.
            DecodeError: it can no longer become JSON.
        """
        self._size += utf8_length(piece)
        limit = self._limits.max_text_bytes
        if self._size > limit:
            raise LimitError("the text of a structured answer", limit=limit, value=self._size, setting="max_text_bytes")
        self.pieces.append(piece)
        has_changed = self.reader.feed(piece)
        if self.reader.is_too_deep:
            limit = self._limits.max_json_depth
            raise LimitError("nesting of a structured answer", limit=limit, value=limit + 1, setting="max_json_depth")
        if self.reader.fault is not None:
            raise DecodeError(f"the answer is not JSON: {self.reader.fault}", detail=self.text())
        return has_changed or (self.reader.has_grown and self._shows_open_string())

    def _shows_open_string(self) -> bool:
        reader = self.reader
        if self._shown[0] != reader.strings:
            self._shown = (reader.strings, self.shows_open_string(reader))
        return self._shown[1]

    def text(self) -> str:
        return "".join(self.pieces)

    def value_after(self, count: int) -> Any:
        """What was certain after so many pieces."""
        reader = self.reader
        if count != len(self.pieces):
            reader = PartialJSON(self._limits.max_json_depth)
            reader.feed("".join(self.pieces[:count]))
        value = reader.value() if self.shows_open_string(reader) else reader.value_without_open_string()
        return None if value is MISSING else value

    def shows_open_string(self, reader: PartialJSON) -> bool:
        """Whether the string that still grows may be seen."""
        return self.schema is None or reader.open_string() is MISSING or grows_at(self.schema, reader.path())


class _ObjectReader(Stage[Event, PartialObject[T]]):
    """One subscription."""

    __slots__ = ("_adapter", "_choice", "_diagnostics", "_document", "_tracker")

    def __init__(
        self,
        observer: abc.ObserverBase[PartialObject[T]],
        flow: FlowScheduler,
        adapter: TypeAdapter[T],
        document: _Document,
        choice: int,
        diagnostics: Diagnostics | None,
    ) -> None:
        super().__init__(observer, flow)
        self._adapter = adapter
        self._document = document
        self._choice = choice
        self._diagnostics = diagnostics
        self._tracker = Tracker()

    def expand(self, event: Event) -> Iterable[PartialObject[T]]:
        if getattr(event, "choice", self._choice) != self._choice:
            return ()
        self._tracker.note(event)
        if type(event) is not TextDelta or not event.text:
            return ()
        failure: StreamError | None = None
        has_changed = False
        try:
            has_changed = self._document.add(event.text)
        except StreamError as error:
            failure = error
        if failure is not None:
            self._fail(failure)
            return ()
        return (PartialObject(self._document),) if has_changed else ()

    def finish(self, error: Exception | None) -> Iterable[PartialObject[T]]:
        if error is not None:
            return ()
        verdict, _ = self._tracker.judge(None)
        if verdict.outcome == "completed":
            return self._validated()
        if verdict.outcome == "incomplete":
            message = (
                f"the answer was cut ({self._finish_reason() or 'by an overflow policy'}): there is no whole object"
            )
            self._fail(TruncatedStreamError(message, retry=RetryHint(), detail=self._document.text()))
        else:
            self._fail(TruncatedStreamError("the events ended without a finish: there is no whole object"))
        return ()

    def _finish_reason(self) -> str | None:
        state = self._tracker.choices.get(self._choice)
        return None if state is None or state.finish is None else state.finish.finish_reason

    def _validated(self) -> Iterable[PartialObject[T]]:
        text, problem = self._document.text(), ""
        try:
            made = self._adapter.validate_json(text)
        except ValidationError as error:
            problem = _faults(error, _property_names(self._adapter))
        else:
            return (PartialObject(self._document, True, made),)
        if self._finish_reason() == "refusal":
            problem = "the model refused"
        elif not text.strip():
            problem = "there is no text"
        self._fail(DecodeError(f"the answer is not the object that was asked for: {problem}", detail=text))
        return ()

    def _fail(self, error: StreamError) -> None:
        error.phase = error.phase or ("mid_stream" if self._document.pieces else "before_content")
        self._flow.scope.keep_detail(error, self._diagnostics)
        self.end_with(error)


def _faults(error: ValidationError, names: set[str]) -> str:
    """Where it does not fit and why, in the words of the model: a name that it does not have is the answer's own."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    shown = []
    for fault in faults[:MAX_NAMED_FAULTS]:
        path = [str(step) if isinstance(step, int) or step in names else "*" for step in fault["loc"]]
        what = (
            "it is not whole, strict JSON"
            if fault["type"] == "json_invalid"
            else f"{'.'.join(path) or 'it'}: {fault['type']}"
        )
        shown.append(what)
    more = len(faults) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more else "")


def _property_names(adapter: TypeAdapter[Any]) -> set[str]:
    """The names that the model has for its fields."""
    try:
        waiting: list[Any] = [adapter.json_schema()]
    except PydanticInvalidForJsonSchema:
        return set()
    names: set[str] = set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            names.update(node.get("properties", ()))
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
    return names
