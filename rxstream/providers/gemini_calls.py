"""Function calls of a Gemini candidate: whole in one part, or value by value over many.

A part with a name begins a call. Without `willContinue` it is all of it. With it, parts without a name go on, and the
first without `willContinue` closes the call; it is often `{}`. The wire sends no index, and an id only lately: parts
that name no call belong to the one that began last.

Source: `FunctionCall` of Vertex AI.
"""

from __future__ import annotations

from pydantic import JsonValue
from pydantic_core import from_json, to_json

from rxstream.events import Event
from rxstream.limits import Limits
from rxstream.providers.fields import JsonObject, objects_in, string_field
from rxstream.providers.gemini_context import GeminiContext
from rxstream.providers.gemini_partial_args import PartialArguments, PartialArgumentsError
from rxstream.providers.part_tracker import PartTracker
from rxstream.providers.tool_assembly import CallIds, OpenCall

__all__ = ("FunctionCalls",)


class _Call(OpenCall):
    """A call, and the text its arguments become."""

    __slots__ = ("_args", "_partial", "_problem", "wire_id")

    def __init__(self, ids: CallIds, limits: Limits, *, part_id: str, choice: int) -> None:
        super().__init__(ids, limits, part_id=part_id, choice=choice)
        self.wire_id = ""
        self._args: JsonValue = None
        self._partial = PartialArguments(limits.max_json_depth)
        self._problem: str | None = None

    def take(self, args: JsonValue, entries: JsonValue, out: list[Event]) -> None:
        """Take in what one part has: arguments whole, or some of their values."""
        self._args = args or self._args
        if not entries or self._problem is not None:
            return
        try:
            for entry in objects_in(entries, "partialArgs"):
                self.append(self._partial.write(entry), out)
        except PartialArgumentsError as error:
            self._problem = f"the arguments cannot be put together: {error}"

    def close(self, out: list[Event]) -> str | None:
        """The wire closed it: send the verdict. Returns why it must not run, None where it may."""
        if self._problem is None:
            if self._args and not self.has_arguments:
                self.append(self._args if isinstance(self._args, str) else to_json(self._args).decode(), out)
            else:
                self.append(self._partial.close(), out)
                if self._args and from_json(self.text) != self._args:
                    self._problem = "the arguments came twice, and not the same"
        return self.decide(out, cut=self._problem)


class FunctionCalls:
    """The calls of one candidate.

    Args:
        choice: its index.
        context: what the candidates share.
        parts: gives a call its place in the answer.

    Attributes:
        count: how many began.
        faults: why calls cannot run although they were closed.
    """

    __slots__ = ("_choice", "_context", "_open", "_parts", "count", "faults")

    def __init__(self, choice: int, context: GeminiContext, parts: PartTracker) -> None:
        self._choice = choice
        self._context = context
        self._parts = parts
        self._open: list[_Call] = []  # bounded: max_tool_calls
        self.count = 0
        self.faults: list[str] = []  # bounded: max_tool_calls

    def read(self, piece: JsonObject, out: list[Event]) -> str:
        """Read the `functionCall` of one part.

        Returns:
            The part it belongs to; empty where it says nothing.

        Raises:
            WrongTypeError: a field cannot be understood.
            LimitError: the call, or the number of calls, is over its limit.
        """
        name, wire_id = string_field(piece, "name"), string_field(piece, "id")
        args, entries = piece.get("args"), piece.get("partialArgs")
        call = self._find(name, wire_id)
        if call is None:
            if not (name or wire_id or args or entries):
                return ""  # the end of a call that was never begun
            call = self._begin(name, wire_id, out)
        call.take(args, entries, out)
        if piece.get("willContinue") is not True:
            fault = call.close(out)
            self._open.remove(call)  # only now: a call that reached its limit is abandoned with the others
            if fault is not None:
                self.faults.append(fault)
        return call.part_id

    def abandon(self, reason: str, out: list[Event]) -> None:
        """No call that is open will be closed."""
        for call in self._open:
            call.decide(out, cut=reason)
            self.faults.append(reason)
        self._open.clear()

    def _find(self, name: str, wire_id: str) -> _Call | None:
        if wire_id:
            known = next((call for call in self._open if call.wire_id == wire_id), None)
            if known is not None:
                return known
        return None if name or not self._open else self._open[-1]

    def _begin(self, name: str, wire_id: str, out: list[Event]) -> _Call:
        self._context.count_call()
        self.count += 1
        part_id = self._parts.enter_call()
        call = _Call(self._context.ids, self._context.limits, part_id=part_id, choice=self._choice)
        call.wire_id = wire_id
        call.call_id = self._context.own_id(wire_id, self._choice, out)
        call.name = name
        if name:
            call.start(out)
        self._open.append(call)
        return call
