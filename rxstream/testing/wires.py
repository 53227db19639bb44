"""Well-formed answers in the bytes of a wire: what a provider that does everything right would send.

Each wire is a file with functions of one `Answer`: the frames of its stream, in order, and its body where it is not
streamed (but for two wires that the library reads as streams only). They are written from the providers' documented
formats and share no code with the library's encoders, so that the two can be tested against each other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from rxstream.testing.anthropic_wire import anthropic_body, anthropic_sse
from rxstream.testing.bedrock_wire import converse_body, converse_eventstream, invoke_eventstream
from rxstream.testing.chat_wire import openai_chat_body, openai_chat_sse
from rxstream.testing.cohere_v1_wire import cohere_v1_ndjson
from rxstream.testing.cohere_wire import cohere_v2_body, cohere_v2_sse
from rxstream.testing.completions_wire import completions_body, completions_sse
from rxstream.testing.gemini_wire import gemini_array, gemini_body, gemini_sse
from rxstream.testing.interactions_wire import gemini_interactions_sse
from rxstream.testing.ollama_wire import ollama_body, ollama_ndjson
from rxstream.testing.responses_wire import responses_body, responses_sse
from rxstream.testing.scripted_answer import Answer

__all__ = ("WIRES", "ScriptedWire")

SSE = "text/event-stream; charset=utf-8"
EVENT_STREAM = "application/vnd.amazon.eventstream"


class ScriptedWire(NamedTuple):
    """How an answer is said on a wire.

    Args:
        stream: its frames, each with what ends it.
        body: its body where it is not streamed; None where the library does not read that.
        content_type: what a stream says of itself.
    """

    stream: Callable[[Answer], list[bytes]]
    body: Callable[[Answer], dict[str, Any]] | None = None
    content_type: str = SSE


WIRES: dict[str, ScriptedWire] = {
    "anthropic": ScriptedWire(anthropic_sse, anthropic_body),
    "bedrock-converse": ScriptedWire(converse_eventstream, converse_body, EVENT_STREAM),
    "bedrock-invoke": ScriptedWire(invoke_eventstream, anthropic_body, EVENT_STREAM),
    "cohere-v1": ScriptedWire(cohere_v1_ndjson, content_type="application/stream+json"),
    "cohere-v2": ScriptedWire(cohere_v2_sse, cohere_v2_body),
    "gemini": ScriptedWire(gemini_sse, gemini_body),
    "gemini-array": ScriptedWire(gemini_array, gemini_body, "application/json"),
    "gemini-interactions": ScriptedWire(gemini_interactions_sse),
    "ollama": ScriptedWire(ollama_ndjson, ollama_body, "application/x-ndjson"),
    "openai-chat": ScriptedWire(openai_chat_sse, openai_chat_body),
    "openai-completions": ScriptedWire(completions_sse, completions_body),
    "openai-responses": ScriptedWire(responses_sse, responses_body),
}
"""The wires that a scripted model can speak."""
