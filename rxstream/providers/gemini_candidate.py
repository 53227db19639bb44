"""One candidate of a Gemini stream: its parts become events in their order, its finish reason waits for the end.

A part holds one kind of data under one key, so its readers stand in a table by key. Beside the data there may be
`thought`, which makes text reasoning, and `thoughtSignature`, which must go back in the same part it came in: a signed
part is never joined with its neighbours, and an empty text that carries a signature is a part of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from pydantic import JsonValue
from pydantic_core import to_json

from rxstream.events import (
    Event,
    Finish,
    FinishReason,
    MediaDelta,
    ProviderEvent,
    ReasoningDelta,
    ReasoningSignature,
    ServerToolCall,
    ServerToolResult,
    TextDelta,
    Violation,
)
from rxstream.providers.fields import JsonObject, WrongTypeError, leftovers, object_field, objects_in, string_field
from rxstream.providers.finish import CUTS_CALLS, reconcile_finish
from rxstream.providers.gemini_calls import FunctionCalls
from rxstream.providers.gemini_context import GeminiContext
from rxstream.providers.gemini_finish import gemini_finish, is_unspecified
from rxstream.providers.gemini_sources import SOURCES, SourceLists
from rxstream.providers.part_tracker import PartTracker

__all__ = ("Candidate",)

CODE: Final = "executableCode"
"""The provider-run tool that has no name of its own."""

PLAIN_KEYS: Final = frozenset(("content", "index", "finishReason", "finishMessage", "logprobsResult"))
CONTENT_KEYS: Final = frozenset(("parts", "role"))
PART_ATTRIBUTES: Final = frozenset(("thought", "thoughtSignature"))


class _ServerCall(NamedTuple):
    call_id: str
    name: str


class Candidate:
    """What is known of one candidate.

    Args:
        index: the wire's number of it.
        context: what the candidates share.
    """

    __slots__ = (
        "_context",
        "_finish_detail",
        "_server_calls",
        "_sources",
        "_text_id",
        "calls",
        "finish_raw",
        "index",
        "parts",
    )

    def __init__(self, index: int, context: GeminiContext) -> None:
        self.index = index
        self.parts = PartTracker(index)
        self.calls = FunctionCalls(index, context, self.parts)
        self.finish_raw: str | int | None = None
        self._finish_detail: JsonValue = None
        self._context = context
        self._sources = SourceLists(index, context.extras)
        self._server_calls: list[_ServerCall] = []  # without their result; bounded: max_tool_calls
        self._text_id = ""  # the part that the last text went to

    def read(self, entry: JsonObject, out: list[Event]) -> None:
        """Read one entry of `candidates`.

        Raises:
            WrongTypeError: a field cannot be understood; `out` has what came before it.
            LimitError: a call, or their number, is over its limit.
        """
        content = object_field(entry, "content")
        start = len(out)
        for part in objects_in(content.get("parts"), "parts"):
            self._read_part(part, out)
        if logprobs := entry.get("logprobsResult"):
            self._read_logprobs(logprobs, start, out)
        if rest := leftovers(content, CONTENT_KEYS):
            self._keep("content", rest, out)
        for key, value in entry.items():
            if key in SOURCES:
                self._sources.read(key, value, self._text_id, out)
            elif key not in PLAIN_KEYS:
                self._keep(key, value, out)
        self._take_finish(entry)

    @property
    def open_text(self) -> str:
        """The part that a further plain piece of text goes to; empty where it begins one."""
        return self.parts.part_id if self.parts.kind == "text" else ""

    @property
    def awaits_code(self) -> bool:
        """Whether code was to run whose result never came, although the model did not stop for another reason."""
        return gemini_finish(self.finish_raw) == "stop" and any(call.name == CODE for call in self._server_calls)

    def give_up(self, reason: str, out: list[Event]) -> None:
        """The candidate will not end: none of its open calls will be closed."""
        self.calls.abandon(reason, out)

    def conclude(self, out: list[Event]) -> None:
        """The stream has ended as it should: the verdict on calls that stayed open."""
        self.calls.abandon("the answer ended before this call did", out)
        faults = self.calls.faults
        if faults and self._reason() not in CUTS_CALLS:
            message = f"a finished tool call cannot run: {faults[0]}"
            out.append(Violation("invalid_tool_call", message, len(faults), self.index))

    def finish(self) -> Finish:
        """The finish, by what was seen of it. Without any, the prompt was blocked."""
        return Finish(self._reason(), self.finish_raw, self.index, self._finish_detail)

    def _reason(self) -> FinishReason:
        reason = gemini_finish(self.finish_raw)
        return "content_filter" if reason is None else reconcile_finish(reason, has_calls=self.calls.count > 0)

    def _take_finish(self, entry: JsonObject) -> None:
        """Remember the last reason: with code execution each turn of the model has its own."""
        if message := entry.get("finishMessage"):
            self._finish_detail = {"finishMessage": message}
        raw = entry.get("finishReason")
        if raw is None or raw == "":
            return
        if not isinstance(raw, (str, int)) or isinstance(raw, bool):
            raise WrongTypeError("finishReason", raw)
        if self.finish_raw is None or not is_unspecified(raw):
            self.finish_raw = raw

    # -------------------------------------------------------------- parts

    def _read_part(self, part: JsonObject, out: list[Event]) -> None:
        signature = string_field(part, "thoughtSignature")
        if signature:
            self.parts.pass_call()  # what follows is not joined with what is open
        part_id = ""
        for key, value in part.items():
            if value is None or key in PART_ATTRIBUTES:
                continue
            reader = _PART_READERS.get(key)
            if reader is not None:
                part_id = reader(self, part, out) or part_id
            else:
                out.append(ProviderEvent(key, value, self.parts.part_id, self.index))
        if signature:
            part_id = part_id or self.parts.begin("signature")
            out.append(ReasoningSignature(signature, part_id, self.index))
            self.parts.pass_call()

    def _read_text(self, part: JsonObject, out: list[Event]) -> str:
        text = string_field(part, "text")
        if not text:
            return ""
        if part.get("thought"):
            part_id = self.parts.enter("reasoning")
            out.append(ReasoningDelta(text, part_id, self.index))
        else:
            part_id = self._text_id = self.parts.enter("text")
            out.append(TextDelta(text, part_id, self.index))
        return part_id

    def _read_call(self, part: JsonObject, out: list[Event]) -> str:
        part_id = self.calls.read(object_field(part, "functionCall"), out)
        self.parts.pass_call()
        return part_id

    def _read_media(self, part: JsonObject, out: list[Event]) -> str:
        """An image is whole in one part; audio goes on. An image of a thought is no part of the answer."""
        media = object_field(part, "inlineData")
        kind, data = string_field(media, "mimeType"), string_field(media, "data")
        if part.get("thought"):
            out.append(ProviderEvent("inlineData", part, self.parts.part_id, self.index))
            return ""
        if not data:
            return ""
        part_id = self.parts.enter(kind) if kind.startswith("audio/") else self.parts.begin(kind)
        out.append(MediaDelta(kind, data, part_id, self.index))
        return part_id

    def _read_code(self, part: JsonObject, out: list[Event]) -> str:
        code = object_field(part, CODE)
        arguments = {key: value for key, value in code.items() if key != "id"}
        return self._call_server(string_field(code, "id"), CODE, arguments, part, out)

    def _read_code_result(self, part: JsonObject, out: list[Event]) -> str:
        result = object_field(part, "codeExecutionResult")
        output = {key: value for key, value in result.items() if key != "id"}
        return self._answer_server(string_field(result, "id"), CODE, output, out)

    def _read_server_call(self, part: JsonObject, out: list[Event]) -> str:
        call = object_field(part, "toolCall")
        return self._call_server(string_field(call, "id"), string_field(call, "toolType"), call.get("args"), part, out)

    def _read_server_result(self, part: JsonObject, out: list[Event]) -> str:
        result = object_field(part, "toolResponse")
        name = string_field(result, "toolType")
        return self._answer_server(string_field(result, "id"), name, result.get("response"), out)

    def _call_server(self, call_id: str, name: str, arguments: JsonValue, part: JsonObject, out: list[Event]) -> str:
        call = _ServerCall(call_id or self._context.ids.new(), name)
        if len(self._server_calls) < self._context.limits.max_tool_calls:
            self._server_calls.append(call)
        part_id = self.parts.enter_call()
        text = None if arguments is None else to_json(arguments).decode()
        out.append(ServerToolCall(call.call_id, name, text, part_id, self.index, part))
        return part_id

    def _answer_server(self, call_id: str, name: str, output: JsonValue, out: list[Event]) -> str:
        """A result without an id belongs to the oldest call of that name that has none."""
        matches = (call for call in self._server_calls if (call.call_id == call_id if call_id else call.name == name))
        call = next(matches, None)
        if call is not None:
            self._server_calls.remove(call)
        call_id = call_id or (call.call_id if call is not None else self._context.ids.new())
        part_id = self.parts.enter_call()
        out.append(ServerToolResult(call_id, name, output, part_id, self.index))
        return part_id

    # -------------------------------------------------------------- the rest

    def _read_logprobs(self, logprobs: JsonValue, start: int, out: list[Event]) -> None:
        """Put the entries of a chunk with the first text of that chunk."""
        entries = _logprob_entries(logprobs) if isinstance(logprobs, dict) else []
        if not entries:
            self._keep("logprobsResult", logprobs, out)
            return
        text = next((event for event in out[start:] if isinstance(event, TextDelta)), None)
        if text is None:
            text = TextDelta("", self.parts.enter("text"), self.index)
            out.append(text)
        text.logprobs = entries  # made just now, and not handed on yet

    def _keep(self, name: str, value: JsonValue, out: list[Event]) -> None:
        self._context.extras.offer(ProviderEvent(name, value, self.parts.part_id, self.index), out)


def _logprob_entries(logprobs: JsonObject) -> list[JsonValue]:
    """One entry for each chosen token, with the candidates it was chosen from."""
    chosen, top = logprobs.get("chosenCandidates"), logprobs.get("topCandidates")
    entries = list(objects_in(chosen, "chosenCandidates"))
    others = list(objects_in(top, "topCandidates"))
    if len(others) != len(entries):
        others = [{}] * len(entries)
    return [entry | other for entry, other in zip(entries, others, strict=True)]


_PART_READERS: Final[Mapping[str, Callable[[Candidate, JsonObject, list[Event]], str]]] = {
    "text": Candidate._read_text,
    "functionCall": Candidate._read_call,
    "inlineData": Candidate._read_media,
    CODE: Candidate._read_code,
    "codeExecutionResult": Candidate._read_code_result,
    "toolCall": Candidate._read_server_call,
    "toolResponse": Candidate._read_server_result,
}
"""What each kind of data in a part becomes. A reader gives the part of the answer it went to, or nothing."""
