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
        token_limit_field: what it calls the most tokens of an answer. OpenAI's newer models refuse the older name, and
            many servers do not know the newer one.
        refused_limit_field: its other name, where a server is known to refuse it and to take `token_limit_field` from
            every model; None where the other name may serve too.
        seed_field: what it calls the seed.
        takes_top_k: it knows `top_k`, which OpenAI's wire does not have.
        takes_stream_options: it can be asked for usage at the end of a stream; who cannot be asked sends it anyway.
        has_json_schema: an answer can be held to a JSON Schema.
        reasoning_field: where the reasoning of earlier answers goes back; None where it is refused.
        takes_call_signature: a call's signature goes back beside it, as Gemini asks for it behind this wire.
    """

    provider: str | None = None
    sends_done: bool = True
    sends_finish: bool = True
    has_cumulative_text: bool = False
    has_name_pieces: bool = False
    token_limit_field: str = "max_tokens"
    refused_limit_field: str | None = None
    seed_field: str = "seed"
    takes_top_k: bool = False
    takes_stream_options: bool = True
    has_json_schema: bool = True
    reasoning_field: str | None = "reasoning_content"
    takes_call_signature: bool = False


CHAT_DIALECTS: Final[Mapping[str, ChatDialect]] = MappingProxyType(
    {
        "openai-chat": ChatDialect(takes_call_signature=True),
        # OpenAI's models never show their reasoning here, and the API refuses fields that it does not know.
        "openai": ChatDialect(
            "openai",
            token_limit_field="max_completion_tokens",
            refused_limit_field="max_tokens",  # by its models that reason
            reasoning_field=None,
        ),
        "azure": ChatDialect("azure", token_limit_field="max_completion_tokens", reasoning_field=None),
        # Seen to end without [DONE].
        "perplexity": ChatDialect("perplexity", sends_done=False, reasoning_field=None),
        "writer": ChatDialect("writer", sends_done=False),
        # Cortex's own endpoint ends with [DONE] and never says why it stopped.
        "snowflake": ChatDialect("snowflake", sends_finish=False),
        # Seen to answer 422 to every field that it does not know, `stream_options` and reasoning among them.
        "mistral": ChatDialect(
            "mistral",
            refused_limit_field="max_completion_tokens",
            seed_field="random_seed",
            takes_stream_options=False,
            reasoning_field=None,
        ),
        # Seen to break off when its reasoning comes back in a field.
        "cerebras": ChatDialect("cerebras", token_limit_field="max_completion_tokens", reasoning_field=None),
        # It refuses a conversation whose reasoning does not come back.
        "deepseek": ChatDialect("deepseek", has_json_schema=False),
        "gemini-openai": ChatDialect("gemini-openai", takes_call_signature=True),
        # Those that call reasoning by this name, coming and going.
        "groq": ChatDialect("groq", reasoning_field="reasoning"),
        "ollama-openai": ChatDialect("ollama-openai", reasoning_field="reasoning"),
        "openrouter": ChatDialect("openrouter", reasoning_field="reasoning", takes_top_k=True),
        # Everything else about these is recognized by its keys.
        **{
            name: ChatDialect(name, takes_top_k=True)
            for name in ("fireworks", "llamacpp", "lmstudio", "localai", "sglang", "together", "vllm")
        },
        **{
            name: ChatDialect(name)
            for name in (
                "cloudflare",
                "dashscope",
                "databricks",
                "huggingface",
                "litellm",
                "minimax",
                "moonshot",
                "xai",
                "zai",
            )
        },
    }
)
"""Dialects by the name that also serves as a wire's name."""
