"""How servers of one wire differ, as data: a dialect is a row, not a class.

Plain `openai-chat` reads every one of them: what a server adds is recognized by its keys. A dialect is named where the
bytes alone cannot tell, and where a user wants `ResponseStart.provider` filled in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

__all__ = ("CHAT_DIALECTS", "ChatDialect")


@dataclass(frozen=True, slots=True)
class ChatDialect:
    """What one server of the chat wire does in its own way.

    Args:
        provider: its name, for `ResponseStart`; None for the plain wire, which may be anybody's.
        sends_done: it ends with `[DONE]`; where it never does, its absence is no `Violation`.
        sends_finish: it says why it stopped; where it never does, `[DONE]` alone is the end.
        has_cumulative_text: each chunk repeats all text so far, and only what is new counts. It is never guessed: "ha"
            and then "haha" are three syllables on one server and two on another.
        has_name_pieces: it sends tool names in pieces, to be joined until arguments come.
    """

    provider: str | None = None
    sends_done: bool = True
    sends_finish: bool = True
    has_cumulative_text: bool = False
    has_name_pieces: bool = False


CHAT_DIALECTS: Final[Mapping[str, ChatDialect]] = MappingProxyType(
    {
        "openai-chat": ChatDialect(),
        # Seen to end without [DONE].
        "perplexity": ChatDialect("perplexity", sends_done=False),
        "writer": ChatDialect("writer", sends_done=False),
        # Cortex ends with [DONE] and never says why it stopped.
        "snowflake": ChatDialect("snowflake", sends_finish=False),
        # Everything else about these is recognized by its keys.
        **{
            name: ChatDialect(name)
            for name in (
                "azure",
                "cerebras",
                "cloudflare",
                "dashscope",
                "databricks",
                "deepseek",
                "fireworks",
                "gemini-openai",
                "groq",
                "huggingface",
                "litellm",
                "llamacpp",
                "lmstudio",
                "localai",
                "minimax",
                "mistral",
                "moonshot",
                "ollama-openai",
                "openrouter",
                "sglang",
                "together",
                "vllm",
                "xai",
                "zai",
            )
        },
    }
)
"""Dialects by the name that also serves as a wire's name."""
