"""What a provider hears in a request: its body reduced to one form, so that every wire's can be held against it.

It is written from the documented request of each wire, and shares no code with what writes them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

__all__ = ("HEARD", "Heard")

Body = dict[str, Any]
Said = tuple[str, ...]


class Heard(NamedTuple):
    """A conversation as it arrived.

    Args:
        said: who said what, in order; of a call its id, name and arguments, of a result its call and text.
        signatures: what came back with an answer, for the provider to check.
        tools: the names of the tools.
        settings: the temperature, and the most tokens of the answer.
    """

    said: list[Said]
    signatures: list[str]
    tools: list[str]
    settings: tuple[float, int]


def _texts(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _call(call_id: str, name: str, arguments: Any) -> Said:
    value = json.loads(arguments) if isinstance(arguments, str) else arguments
    return ("call", call_id, name, json.dumps(value, sort_keys=True))


def _function(call: Body) -> Said:
    return _call(call["id"], call["function"]["name"], call["function"]["arguments"])


def _reasoned(text: str | None) -> list[Said]:
    return [("reasoning", text)] if text else []


def _names(tools: Iterable[Body]) -> list[str]:
    return [tool["function"]["name"] for tool in tools]


def _chat(body: Body) -> Heard:
    said: list[Said] = []
    for message in body["messages"]:
        role, content = message["role"], message.get("content")
        if role == "tool":
            said.append(("result", message["tool_call_id"], _texts(content)))
            continue
        said += _reasoned(message.get("reasoning_content") or message.get("reasoning"))
        said += [(role, _texts(content))] if content else []
        said += [_function(call) for call in message.get("tool_calls", ())]
    limit = body.get("max_tokens") or body["max_completion_tokens"]
    return Heard(said, [], _names(body["tools"]), (body["temperature"], limit))


def _anthropic(body: Body) -> Heard:
    said: list[Said] = [("system", body["system"])]
    signatures: list[str] = []
    for message in body["messages"]:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if block["type"] == "thinking":
                signatures.append(block["signature"])
            said.append(_anthropic_block(message["role"], block))
    return Heard(said, signatures, [t["name"] for t in body["tools"]], (body["temperature"], body["max_tokens"]))


def _anthropic_block(role: str, block: Body) -> Said:
    if block["type"] == "thinking":
        return ("reasoning", block["thinking"])
    if block["type"] == "tool_use":
        return _call(block["id"], block["name"], block["input"])
    if block["type"] == "tool_result":
        return ("result", block["tool_use_id"], _texts(block["content"]))
    return (role, block["text"])


def _responses(body: Body) -> Heard:
    said: list[Said] = [("system", body["instructions"])]
    signatures: list[str] = []
    for item in body["input"]:
        kind = item.get("type", "message")
        if kind == "reasoning":
            signatures.append(item["encrypted_content"])
            said.append(("reasoning", _texts(item["summary"])))
        elif kind == "function_call":
            said.append(_call(item["call_id"], item["name"], item["arguments"]))
        elif kind == "function_call_output":
            said.append(("result", item["call_id"], _texts(item["output"])))
        else:
            said.append((item["role"], _texts(item["content"])))
    settings = body["temperature"], body["max_output_tokens"]
    return Heard(said, signatures, [tool["name"] for tool in body["tools"]], settings)


def _gemini(body: Body) -> Heard:
    said: list[Said] = [("system", _texts(body["systemInstruction"]["parts"]))]
    signatures: list[str] = []
    for content in body["contents"]:
        role = {"user": "user", "model": "assistant"}[content["role"]]
        for part in content["parts"]:
            signatures += [part["thoughtSignature"]] if "thoughtSignature" in part else []
            said.append(_gemini_part(role, part))
    tools = [function["name"] for tool in body["tools"] for function in tool["functionDeclarations"]]
    config = body["generationConfig"]
    return Heard(said, signatures, tools, (config["temperature"], config["maxOutputTokens"]))


def _gemini_part(role: str, part: Body) -> Said:
    if call := part.get("functionCall"):
        return _call(call["id"], call["name"], call["args"])
    if result := part.get("functionResponse"):
        assert result["name"] == "weather"
        return ("result", result["id"], json.dumps(result["response"], separators=(",", ":")))
    return ("reasoning" if part.get("thought") else role, part["text"])


def _cohere(body: Body) -> Heard:
    said: list[Said] = []
    for message in body["messages"]:
        role, content = message["role"], message.get("content") or ()
        if role == "tool":
            said.append(("result", message["tool_call_id"], _texts(content)))
            continue
        said += _reasoned(message.get("tool_plan"))
        said += [(role, _texts(content))] if content else []
        said += [_function(call) for call in message.get("tool_calls", ())]
    return Heard(said, [], _names(body["tools"]), (body["temperature"], body["max_tokens"]))


def _ollama(body: Body) -> Heard:
    said: list[Said] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            assert message["tool_name"] == "weather"
            said.append(("result", message["tool_call_id"], message["content"]))
            continue
        said += _reasoned(message.get("thinking"))
        said += [(message["role"], message["content"])] if message["content"] else []
        said += [_function(call) for call in message.get("tool_calls", ())]
    options = body["options"]
    return Heard(said, [], _names(body["tools"]), (options["temperature"], options["num_predict"]))


def _converse(body: Body) -> Heard:
    said: list[Said] = [("system", _texts(body["system"]))]
    signatures: list[str] = []
    for message in body["messages"]:
        for block in message["content"]:
            said += _converse_block(message["role"], block)
            if thought := block.get("reasoningContent"):
                signatures.append(thought["reasoningText"]["signature"])
    tools = [tool["toolSpec"]["name"] for tool in body["toolConfig"]["tools"]]
    config = body["inferenceConfig"]
    return Heard(said, signatures, tools, (config["temperature"], config["maxTokens"]))


def _converse_block(role: str, block: Body) -> Iterator[Said]:
    ((kind, value),) = block.items()
    if kind == "toolUse":
        yield _call(value["toolUseId"], value["name"], value["input"])
    elif kind == "toolResult":
        yield ("result", value["toolUseId"], _texts(value["content"]))
    elif kind == "reasoningContent":
        yield ("reasoning", value["reasoningText"]["text"])
    else:
        yield (role, value)


HEARD: Mapping[str, Callable[[Body], Heard]] = {
    "anthropic": _anthropic,
    "bedrock-converse": _converse,
    "bedrock-invoke": _anthropic,
    "cohere-v2": _cohere,
    "gemini": _gemini,
    "ollama": _ollama,
    "openai-chat": _chat,
    "openai-responses": _responses,
}
"""The reader of each wire's requests."""
