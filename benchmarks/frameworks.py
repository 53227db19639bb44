"""The frameworks that stand on the openai package: LangChain, Pydantic AI, LiteLLM. Imported by the rows alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from benchmarks.transport import client_of

__all__ = ("langchain", "litellm", "pydantic_ai")

BASE_URL = "http://provider/v1"


def _openai_client(chunks: Sequence[bytes]) -> Any:
    import httpx2
    import openai

    return openai.AsyncOpenAI(api_key="none", base_url=BASE_URL, http_client=client_of(httpx2, chunks))


async def langchain(chunks: Sequence[bytes]) -> int:
    """`ChatOpenAI.astream` of langchain-openai."""
    import httpx2
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    client = client_of(httpx2, chunks)
    model = ChatOpenAI(model="m", api_key=SecretStr("none"), base_url=BASE_URL, http_async_client=client)
    seen = 0
    async for chunk in model.astream("q"):
        seen += bool(chunk.content)
    return seen


async def pydantic_ai(chunks: Sequence[bytes]) -> int:
    """`model_request_stream` of pydantic-ai, below its agents."""
    from pydantic_ai.direct import model_request_stream
    from pydantic_ai.messages import ModelRequest
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel("m", provider=OpenAIProvider(openai_client=_openai_client(chunks)))
    seen = 0
    async with model_request_stream(model, [ModelRequest.user_text_prompt("q")]) as stream:
        async for event in stream:
            seen += event.event_kind in ("part_start", "part_delta")
    return seen


async def litellm(chunks: Sequence[bytes]) -> int:
    """`acompletion(stream=True)` of litellm."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network at import
    import litellm as library

    messages = [{"role": "user", "content": "q"}]
    client = _openai_client(chunks)
    stream: Any = await library.acompletion(model="openai/m", messages=messages, stream=True, client=client)
    seen = 0
    async for chunk in stream:
        seen += bool(chunk.choices and chunk.choices[0].delta.content)
    return seen
