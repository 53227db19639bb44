"""One question, one answer, streamed to the terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Final

import reactivex.operators as rx
from reactivex import Observable

from rxstream import operators as ops
from rxstream.cancellation import Cancellation, Interrupted
from rxstream.cli.console import say
from rxstream.cli.exit_codes import INTERRUPTED, exit_code
from rxstream.cli.interrupt import cancel_on_interrupt
from rxstream.cli.probe import Probe
from rxstream.cli.words import check_provider, in_words
from rxstream.consume.subscribe import subscribe
from rxstream.endpoint import Endpoint, connect
from rxstream.local import LocalModel
from rxstream.requests import ModelRequest
from rxstream.sinks.terminal import TerminalSink

__all__ = ("ChatOptions", "open_endpoint", "request_of", "run_chat")

LOCAL_WIRES: Final = ("openai-chat", "anthropic")
"""What the local model speaks: these names mean it where no server is named."""


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """What to ask, and whom.

    Args:
        prompt: the question.
        provider: the wire or the provider, such as `openai-chat` or `groq`, or with a model `groq/...`.
        base_url: the server; None is the local model for a wire that it speaks, else the provider's own.
        model: the model's name; None is the server's own, where it has one.
        max_tokens: the most tokens of the answer; None is the server's own limit where the wire has one.
        temperature: None is the server's own.
        show_reasoning: whether reasoning is written too.
        say: where the last line goes.
    """

    prompt: str
    provider: str = "openai-chat"
    base_url: str | None = None
    model: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    show_reasoning: bool = True
    say: Callable[[str], None] = say


def run_chat(options: ChatOptions) -> int:
    """Ask, and write the answer as it comes. Returns the exit code; Ctrl-C stops the model and is 130."""
    try:
        return asyncio.run(_chat(options))
    except KeyboardInterrupt:  # Ctrl-C twice, or where the loop cannot hear it
        options.say("cancelled")
        return INTERRUPTED


async def _chat(options: ChatOptions) -> int:
    stop = Cancellation()
    async with AsyncExitStack() as stack:
        stack.enter_context(cancel_on_interrupt(stop))
        try:
            with stop.interrupts():
                endpoint = await stack.enter_async_context(await open_endpoint(options, stack))
        except Interrupted:
            options.say("cancelled")
            return INTERRUPTED
        probe, stats = Probe(), ops.BufferStats()
        events = endpoint.stream(request_of(options)).pipe(*_pipeline(probe, stats, stop))
        end = await subscribe(events, TerminalSink(show_reasoning=options.show_reasoning)).end()
        options.say(probe.summary(end, stats))
        if end.error is not None:
            options.say(f"rxstream: {in_words(end.error)}")
        return INTERRUPTED if stop.is_cancelled else exit_code(end.outcome)


async def open_endpoint(options: ChatOptions, stack: AsyncExitStack) -> Endpoint:
    """Who answers: the local model, closed with `stack`, or a provider."""
    check_provider(options.provider)
    if options.base_url is not None or options.provider not in LOCAL_WIRES:
        return connect(options.provider, base_url=options.base_url, model=options.model)
    local = await stack.enter_async_context(LocalModel())
    return connect(
        options.provider,
        base_url=local.base_url,
        api_key="",  # a key in the environment is for others
        headers=local.request_headers,
        model=options.model or local.model_name,
    )


def request_of(options: ChatOptions) -> ModelRequest:
    """What is asked."""
    return ModelRequest.of(options.prompt, max_output_tokens=options.max_tokens, temperature=options.temperature)


def _pipeline(probe: Probe, stats: ops.BufferStats, stop: Cancellation) -> tuple[Callable[[Any], Observable[Any]], ...]:
    return (
        rx.do_action(probe.note),
        ops.batch_text(leading=True),
        ops.cancel_on(stop),
        ops.bounded_buffer(stats=stats),
    )
