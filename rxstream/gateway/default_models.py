"""What a gateway without settings serves: the local model, or, where that is not installed, a scripted one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from rxstream.events import Usage
from rxstream.gateway.config import Config, ModelConfig
from rxstream.local import LocalModel, LocalModelError
from rxstream.testing import Reply, Request, ScriptedProvider, answer

__all__ = ("default_models",)

NAME: Final = "local"

SCRIPTED: Final = (
    "This is not a language model: it is a scripted answer, streamed over real HTTP, because no model is configured "
    "and the local one is not installed. For a real one on this machine run pip install 'rxstream[local]' and then "
    "rxstream local install; or name a provider, as in rxstream serve --model openai/gpt-5-mini."
)

PACING_SECONDS: Final = 0.03


@contextmanager
def default_models(config: Config) -> Iterator[tuple[Config, str | None]]:
    """The settings with a model in them, which runs for the length of the block.

    Yields:
        The settings, and a sentence about what was done; as they were and None where they name models.
    """
    if config.models:
        yield config, None
        return
    with ExitStack() as stack:
        try:
            local = stack.enter_context(LocalModel())
        except LocalModelError as error:
            provider = stack.enter_context(ScriptedProvider.run_in_thread(_scripted, send_buffer_bytes=64 * 1024))
            entry = _entry(provider.base_url, "scripted", {})
            said = f"no model is configured, and there is no local one, so a script answers ({error})"
        else:
            entry = _entry(local.base_url, local.model_name, dict(local.request_headers))
            said = f"no model is configured: {local.model_name} answers, on this machine"
        yield config.model_copy(update={"models": (entry,)}), said


def _entry(base_url: str, model: str, headers: dict[str, str]) -> ModelConfig:
    return ModelConfig(name=NAME, provider="openai-chat", model=model, base_url=base_url, headers=headers)


def _scripted(request: Request) -> Reply:
    words = SCRIPTED.split(" ")
    pieces = [word if number == 0 else f" {word}" for number, word in enumerate(words)]
    usage = Usage(input_tokens=_length(request.body), output_tokens=len(words))
    return answer(*pieces, usage=usage, model="scripted", pacing_seconds=PACING_SECONDS)


def _length(body: bytes) -> int:
    """Words of the question: what a script counts as its tokens."""
    asked: Any = json.loads(body)
    return sum(len(str(message.get("content", "")).split()) for message in asked.get("messages", ()))
