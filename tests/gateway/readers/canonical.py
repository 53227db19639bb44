"""Requests as hypothesis draws them: for each wire all that it can say, in the form in which reading gives it back.

A wire has one way to say what a `ModelRequest` can say in several (a message of one text, or its text as a string), and
the strategies draw the form that is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st
from pydantic_core import to_json

from rxstream.requests import (
    Content,
    ImageContent,
    JsonSchemaFormat,
    Message,
    ModelRequest,
    NamedTool,
    ReasoningContent,
    ReasoningOptions,
    TextContent,
    Tool,
    ToolCallContent,
    ToolResultContent,
)
from tests.event_strategies import json_values

Strategy = st.SearchStrategy[Any]

characters = st.characters(exclude_categories=["Cs"])
texts = st.text(characters, min_size=1, max_size=12)
maybe_empty = st.text(characters, max_size=12)
names = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_-]{0,11}", fullmatch=True)
keys = st.text(characters, max_size=6)
clean_values = json_values.filter(lambda value: _is_unicode(value))
objects = st.dictionaries(keys, clean_values, max_size=3)
schemas = objects.map(lambda more: {"type": "object", **more})
arguments = objects.map(lambda value: to_json(value).decode())
flags = st.none() | st.booleans()

plain_texts = st.builds(TextContent, text=texts)
images = st.builds(ImageContent, url=st.sampled_from(["https://images.example/a.png", "http://images.example/b"])) | (
    st.binary(max_size=6).map(lambda data: ImageContent.from_bytes(data, "image/png"))
)


def _is_unicode(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def as_said(parts: Sequence[Any]) -> Any:
    """Parts as a message has them: one plain text is a string."""
    return parts[0].text if len(parts) == 1 and isinstance(parts[0], TextContent) else tuple(parts)


def joined(parts: Sequence[Content]) -> list[Content]:
    """Texts that follow each other as one."""
    said: list[Content] = []
    for part in parts:
        last = said[-1] if said else None
        if isinstance(part, TextContent) and isinstance(last, TextContent):
            said[-1] = TextContent(text=last.text + part.text)
        else:
            said.append(part)
    return said


def calls(draw: Any, kinds: Sequence[str] = ("function",), signed: bool = False) -> list[ToolCallContent]:
    """Some calls, each with an id of its own."""
    found = []
    for call_id in draw(st.lists(names, max_size=3, unique=True)):
        kind = draw(st.sampled_from(kinds))
        said = draw(arguments if kind == "function" else maybe_empty)
        signatures: Any = {"signature": draw(texts)} if signed and draw(st.booleans()) else {}
        found.append(
            ToolCallContent(call_id=call_id, name=draw(names), arguments=said, kind=kind, signatures=signatures)
        )
    return found


def result_contents(*parts: Strategy) -> Strategy:
    """What a tool gave back."""
    return maybe_empty | st.lists(st.one_of(*parts), min_size=1, max_size=3).map(as_said)


def results(draw: Any, made: Sequence[ToolCallContent], *parts: Strategy, errors: bool = False) -> list[Any]:
    """The results of calls."""
    return [
        ToolResultContent(
            call_id=call.call_id,
            content=draw(result_contents(*parts)),
            is_error=errors and draw(st.booleans()),
        )
        for call in made
    ]


def questions(draw: Any) -> Message:
    """What a user says: something, for empty content behind results is lost on a wire that joins the two."""
    return Message.user(draw(texts | st.lists(plain_texts | images, min_size=1, max_size=3).map(as_said)))


def chat_turn(draw: Any) -> list[Message]:
    """An answer of the chat wire and the results of its calls: reasoning, then one text, then calls."""
    parts: list[Any] = draw(st.lists(st.builds(ReasoningContent, text=texts), max_size=1))
    parts += draw(st.lists(plain_texts, max_size=1))
    made = calls(draw, ("function", "custom"), signed=True)
    return [
        Message.assistant(as_said([*parts, *made]) if parts or made else ""),
        *(Message(role="tool", content=(result,)) for result in results(draw, made, plain_texts)),
    ]


def responses_turn(draw: Any) -> list[Message]:
    """An answer of the Responses wire: texts, reasoning and calls in any order."""
    made = calls(draw, ("function", "custom"))
    said = draw(st.lists(plain_texts | st.builds(ReasoningContent, text=texts) | _encrypted(), max_size=4))
    parts = joined(draw(st.permutations([*said, *made])))
    answer = Message.assistant(as_said([part for n, part in enumerate(parts) if _stands_alone(parts, n)]))
    found = [answer] if answer.content else []
    return [*found, Message(role="tool", content=tuple(results(draw, made, plain_texts, images)))] if made else found


def _encrypted() -> Strategy:
    return st.builds(ReasoningContent, text=maybe_empty, signatures=texts.map(lambda data: {"encrypted": data}))


def _stands_alone(parts: Sequence[Content], index: int) -> bool:
    """Encrypted reasoning without a summary, behind reasoning in plain text, is an item with that text as summary."""
    part, before = parts[index], parts[index - 1] if index else None
    follows = isinstance(before, ReasoningContent) and not before.signatures
    return not (isinstance(part, ReasoningContent) and part.signatures and not part.text and follows)


def anthropic_turn(draw: Any) -> list[Message]:
    """An answer of the Anthropic wire: texts, signed reasoning and calls in any order."""
    made = calls(draw)
    signed = st.builds(ReasoningContent, text=maybe_empty, signatures=texts.map(lambda data: {"signature": data}))
    redacted = st.builds(ReasoningContent, signatures=texts.map(lambda data: {"redacted": data}))
    said = draw(st.lists(plain_texts | signed | redacted, max_size=4))
    parts = draw(st.permutations([*said, *made]))
    answer = Message.assistant(as_said(parts) if parts else "")
    content = tuple(results(draw, made, plain_texts, images, errors=True))
    return [answer, Message(role="tool", content=content)] if made else [answer]


def tools_of(draw: Any) -> dict[str, Any]:
    """Tools, and which of them must be called."""
    found = [
        Tool(
            name=name,
            description=draw(st.none() | maybe_empty),
            parameters=draw(schemas),
            strict=draw(flags),
        )
        for name in draw(st.lists(names, max_size=3, unique=True))
    ]
    choices: list[Any] = [None, "auto", "none", "required", *(NamedTool(name=tool.name) for tool in found)]
    return {"tools": found, "tool_choice": draw(st.sampled_from(choices))}


formats = st.sampled_from([None, "text", "json_object"]) | st.builds(
    JsonSchemaFormat, schema=schemas, name=names, description=st.none() | texts, strict=flags
)
efforts = st.sampled_from(["none", "minimal", "low", "medium", "high", "xhigh", "max"])
numbers = st.floats(-2, 2, allow_nan=False)
settings = {
    "model": st.none() | names,
    "max_output_tokens": st.none() | st.integers(1, 10**9),
    "temperature": st.none() | st.floats(0, 2),
    "top_p": st.none() | st.floats(0, 1),
}


def _drawn(draw: Any, **strategies: Strategy) -> dict[str, Any]:
    return {name: draw(strategy) for name, strategy in strategies.items()}


def _conversation(draw: Any, turn: Callable[[Any], list[Message]], instructions: Strategy) -> list[Message]:
    messages = [Message.system(draw(instructions))] if draw(st.booleans()) else []
    messages.append(questions(draw))
    for _ in range(draw(st.integers(0, 2))):
        messages += turn(draw)
        messages.append(questions(draw))
    return messages


listed_instructions = texts | st.lists(plain_texts, min_size=2, max_size=3).map(tuple)


@st.composite
def chat_requests(draw: Any) -> ModelRequest:
    """Requests as the chat wire says them."""
    return ModelRequest(
        messages=_conversation(draw, chat_turn, listed_instructions),
        **tools_of(draw),
        **_drawn(draw, **settings, frequency_penalty=st.none() | numbers, presence_penalty=st.none() | numbers),
        **_drawn(draw, seed=st.none() | st.integers(-(2**63), 2**63), parallel_tool_calls=flags),
        stop=draw(st.lists(texts, max_size=3)),
        response_format=draw(formats),
        reasoning=draw(st.none() | st.builds(ReasoningOptions, effort=efforts)),
    )


@st.composite
def responses_requests(draw: Any) -> ModelRequest:
    """Requests as the Responses wire says them."""
    return ModelRequest(
        messages=_conversation(draw, responses_turn, texts),
        **tools_of(draw),
        **_drawn(draw, **settings, parallel_tool_calls=flags),
        response_format=draw(formats),
        reasoning=draw(st.none() | st.builds(ReasoningOptions, effort=efforts)),
    )


@st.composite
def anthropic_requests(draw: Any) -> ModelRequest:
    """Requests as the Anthropic wire says them: always with a bound, and without what it cannot say."""
    budgets = st.builds(ReasoningOptions, budget_tokens=st.integers(1, 10**6))
    efforts_here = st.builds(ReasoningOptions, effort=efforts.filter(lambda effort: effort != "minimal"))
    return ModelRequest(
        messages=_conversation(draw, anthropic_turn, listed_instructions),
        **_serial(draw, tools_of(draw)),
        **_drawn(
            draw, **{**settings, "max_output_tokens": st.integers(1, 10**9)}, top_k=st.none() | st.integers(1, 99)
        ),
        stop=draw(st.lists(texts, max_size=3)),
        response_format=draw(st.none() | st.builds(JsonSchemaFormat, schema=schemas)),
        reasoning=draw(st.none() | budgets | efforts_here),
    )


def _serial(draw: Any, use: dict[str, Any]) -> dict[str, Any]:
    """With calls one at a time, where the wire can say it: beside a choice other than none."""
    can = use["tool_choice"] not in (None, "none")
    return {**use, "parallel_tool_calls": False if can and draw(st.booleans()) else None}
