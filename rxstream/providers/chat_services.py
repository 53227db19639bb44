"""Where the servers of the chat wire are, and which keys they take: one row each.

Base URLs and variables are those of the providers' own documentation and SDKs. Servers without a place of their own (an
account's, a workspace's) have no base URL: it comes from the caller or from the variable. A key is sent as `Bearer`
where nothing else is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from rxstream.providers.service import Key, Service

__all__ = ("CHAT_SERVICES",)

PREFIX: Final = "v1"


def _at(base_url: str | None, *keys: str, variables: tuple[str, ...] = (), prefix: str = PREFIX) -> Service:
    return Service(base_url, tuple(map(Key, keys)), variables, prefix)


CHAT_SERVICES: Final[Mapping[str, Service]] = MappingProxyType(
    {
        # The plain wire is everybody's: without a base URL it is OpenAI's.
        "openai-chat": Service(None, (Key("OPENAI_API_KEY"),), ("OPENAI_BASE_URL",), PREFIX, home="openai"),
        "openai": Service(
            "https://api.openai.com/v1",
            (Key("OPENAI_API_KEY"),),
            ("OPENAI_BASE_URL",),
            PREFIX,
            header_variables={"openai-organization": "OPENAI_ORG_ID", "openai-project": "OPENAI_PROJECT_ID"},
            custom_headers_variable="OPENAI_CUSTOM_HEADERS",
        ),
        "azure": Service(
            None,
            (Key("AZURE_OPENAI_API_KEY", "api-key"),),
            ("AZURE_OPENAI_ENDPOINT",),
            prefix="openai/v1",
            # The API before v1 has dates for versions, and the model's deployment in its path.
            version_variable="OPENAI_API_VERSION",
            dated_prefix="openai/deployments/{model}",
        ),
        "cerebras": _at("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
        "cloudflare": _at(None, "CLOUDFLARE_API_TOKEN"),
        "dashscope": _at("https://dashscope.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
        "databricks": _at(None, "DATABRICKS_TOKEN", variables=("DATABRICKS_HOST",), prefix="serving-endpoints"),
        "deepseek": _at("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
        "fireworks": _at("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
        "gemini-openai": _at(
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "GOOGLE_API_KEY",
            "GEMINI_API_KEY",
            prefix="v1beta/openai",
        ),
        # The variable of its SDK names the host alone.
        "groq": _at("https://api.groq.com/openai/v1", "GROQ_API_KEY", variables=("GROQ_BASE_URL",), prefix="openai/v1"),
        "huggingface": _at("https://router.huggingface.co/v1", "HF_TOKEN"),
        "litellm": _at("http://127.0.0.1:4000/v1", "LITELLM_API_KEY"),
        "llamacpp": _at("http://127.0.0.1:8080/v1"),
        "lmstudio": _at("http://127.0.0.1:1234/v1"),
        "localai": _at("http://127.0.0.1:8080/v1"),
        "minimax": _at("https://api.minimax.io/v1", "MINIMAX_API_KEY"),
        "mistral": _at("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
        "moonshot": _at("https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
        "ollama-openai": _at(
            "http://127.0.0.1:11434/v1", "OLLAMA_API_KEY", variables=("OLLAMA_BASE_URL", "OLLAMA_HOST")
        ),
        "openrouter": _at("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", prefix="api/v1"),
        "perplexity": _at("https://api.perplexity.ai", "PERPLEXITY_API_KEY", prefix=""),
        "sglang": _at("http://127.0.0.1:30000/v1"),
        "snowflake": _at(None, "SNOWFLAKE_PAT", prefix="api/v2/cortex/v1"),
        "together": _at("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
        "vllm": _at("http://127.0.0.1:8000/v1"),
        "writer": _at("https://api.writer.com/v1", "WRITER_API_KEY"),
        "xai": _at("https://api.x.ai/v1", "XAI_API_KEY"),
        "zai": _at("https://api.z.ai/api/paas/v4", "ZAI_API_KEY", prefix="api/paas/v4"),
    }
)
"""Services by the name of their dialect."""
