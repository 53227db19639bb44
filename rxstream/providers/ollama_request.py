"""Requests in the words of Ollama's own wire, `/api/chat`.

A message of it has one text, however many parts a `Message` has; images are bytes beside it. What a result answers is
said by the tool's name and, for servers that know ids, by the call's id. That a result is an error has no flag, so that
its text is sent as `{"error": text}`. The API streams unless it is told not to, so it is always told.

Source: `api/types.go` and `docs/api.md` of Ollama.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from rxstream.providers.conversation import calls_by_id, error_json, object_arguments, plain_text
from rxstream.providers.provider_request import (
    ProviderRequest,
    cannot_express,
    refuse_signatures,
    sampling_fields,
    say_stream,
    with_extra,
)
from rxstream.requests import (
    ImageContent,
    JsonSchemaFormat,
    Message,
    ModelRequest,
    NativeContent,
    ReasoningContent,
    ReasoningOptions,
    ResponseFormat,
    TextContent,
    Tool,
    ToolCallContent,
    ToolResultContent,
)

__all__ = ("ollama_request",)

WIRE: Final = "ollama"
PATH: Final = "/api/chat"

SAMPLING: Final = {
    name: name for name in ("temperature", "top_p", "top_k", "frequency_penalty", "presence_penalty", "seed")
}

EFFORTS: Final = ("low", "medium", "high")

Said = dict[str, Any]
Calls = dict[str, ToolCallContent]


def ollama_request(
    request: ModelRequest | Mapping[str, Any], /, *, stream: bool, dialect: Any = None
) -> ProviderRequest:
    """The request of the wire `ollama`; see `RequestWriter`. `dialect` is not looked at: this wire has none."""
    body = _body(request) if isinstance(request, ModelRequest) else dict(request)
    say_stream(body, stream=stream)
    body["stream"] = stream
    return ProviderRequest(PATH, body)


def _body(request: ModelRequest) -> dict[str, Any]:
    _refuse(request)
    body: dict[str, Any] = {} if request.model is None else {"model": request.model}
    calls = calls_by_id(request.messages)
    body["messages"] = [said for message in request.messages for said in _WRITERS[message.role](message, calls)]
    if (request.tools or request.native_tools) and request.tool_choice != "none":
        body["tools"] = [*map(_tool, request.tools), *request.native_tools]
    if (form := _format(request.response_format)) is not None:
        body["format"] = form
    if request.reasoning is not None:
        body["think"] = _think(request.reasoning)
    if options := _options(request):
        body["options"] = options
    return with_extra(body, request.extra, ("options",))


def _refuse(request: ModelRequest) -> None:
    if request.tool_choice not in (None, "auto", "none"):
        raise cannot_express("that the model must call a tool", WIRE, field="tool_choice")
    if request.parallel_tool_calls is False:
        raise cannot_express("one tool call at a time", WIRE, field="parallel_tool_calls")
    if request.metadata:
        raise cannot_express("metadata", WIRE, field="metadata")


def _options(request: ModelRequest) -> dict[str, Any]:
    options: dict[str, Any] = dict(sampling_fields(request, SAMPLING, WIRE))
    if request.max_output_tokens is not None:
        options["num_predict"] = request.max_output_tokens
    if request.stop:
        options["stop"] = list(request.stop)
    return options


def _tool(tool: Tool) -> dict[str, Any]:
    if tool.strict:
        raise cannot_express("that a tool's schema is enforced", WIRE, field="tools")
    function: dict[str, Any] = {"name": tool.name, "parameters": tool.parameters}
    if tool.description is not None:
        function["description"] = tool.description
    return {"type": "function", "function": function}


def _format(form: ResponseFormat | None) -> Any:
    if isinstance(form, JsonSchemaFormat):
        return ({} if form.description is None else {"description": form.description}) | form.json_schema
    return "json" if form == "json_object" else None


def _think(reasoning: ReasoningOptions) -> bool | str:
    if reasoning.budget_tokens is not None:
        raise cannot_express(
            "a budget of reasoning tokens", WIRE, "it has reasoning effort", field="reasoning.budget_tokens"
        )
    if reasoning.effort in (None, "none"):
        return reasoning.effort is None
    if reasoning.effort not in EFFORTS:
        what = f"the reasoning effort {reasoning.effort!r}"
        raise cannot_express(what, WIRE, f"it has {', '.join(EFFORTS)}", field="reasoning.effort")
    return reasoning.effort


# Messages -------------------------------------------------------------------------------------------------------------


def _write_plain(message: Message, calls: Calls) -> Iterator[Said]:
    shown = [part for part in message.parts if not isinstance(part, ImageContent)]
    text = plain_text(shown, f"a {message.role} message", WIRE)
    yield {"role": message.role, "content": text} | _images(message.parts)


def _write_answer(message: Message, calls: Calls) -> Iterator[Said]:
    kinds = (ReasoningContent, ToolCallContent)
    shown = [part for part in message.parts if not isinstance(part, kinds)]
    said: Said = {"role": "assistant", "content": plain_text(shown, "an assistant message", WIRE)}
    thoughts = [part for part in message.parts if isinstance(part, ReasoningContent)]
    for part in thoughts:
        refuse_signatures(part, WIRE)
    if thoughts:
        said["thinking"] = "".join(part.text for part in thoughts)
    if asked := [_call(part) for part in message.parts if isinstance(part, ToolCallContent)]:
        said["tool_calls"] = asked
    yield said


def _write_results(message: Message, calls: Calls) -> Iterator[Said]:
    for part in message.parts:
        if isinstance(part, NativeContent):
            yield part.data
        elif isinstance(part, ToolResultContent):
            yield _result(part, calls)


def _call(part: ToolCallContent) -> Said:
    refuse_signatures(part, WIRE)
    return {"id": part.call_id, "function": {"name": part.name, "arguments": object_arguments(part, WIRE)}}


def _result(part: ToolResultContent, calls: Calls) -> Said:
    texts = [piece for piece in part.parts if isinstance(piece, TextContent)]
    text = error_json(part) if part.is_error else plain_text(texts, "a tool result", WIRE)
    name = part.name or (calls[part.call_id].name if part.call_id in calls else None)
    said: Said = {"role": "tool", "content": text, "tool_call_id": part.call_id}
    return said | ({} if name is None else {"tool_name": name}) | _images(part.parts)


def _images(parts: Iterable[object]) -> dict[str, list[str]]:
    images = [part for part in parts if isinstance(part, ImageContent)]
    if any(image.data is None for image in images):
        in_code = "give its bytes: ImageContent.from_bytes(...)"
        raise cannot_express("an image by its address", WIRE, "give its bytes", field="messages", in_code=in_code)
    return {"images": [str(image.data) for image in images]} if images else {}


_WRITERS: Final[Mapping[str, Callable[[Message, Calls], Iterator[Said]]]] = {
    "system": _write_plain,
    "user": _write_plain,
    "assistant": _write_answer,
    "tool": _write_results,
}
