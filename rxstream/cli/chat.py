"""One question, one answer, streamed to the terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import httpx
import reactivex.operators as rx
from reactivex import Observable

from rxstream import operators as ops
from rxstream.cancellation import Cancellation, Interrupted
from rxstream.cli.console import say
from rxstream.cli.exit_codes import INTERRUPTED, exit_code
from rxstream.cli.interrupt import cancel_on_interrupt
from rxstream.cli.probe import Probe
from rxstream.consume.subscribe import subscribe
from rxstream.endpoint import connect
from rxstream.local import LocalModel
from rxstream.sinks.terminal import TerminalSink

__all__ = ("ChatOptions", "run_chat")


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """What to ask, and whom.

    Args:
        prompt: the question.
        provider: the wire, such as `openai-chat` or `anthropic`.
        base_url: the server; None is the local model.
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
        client = await stack.enter_async_context(httpx.AsyncClient(timeout=httpx.Timeout(30, read=None)))
        base_url, model = options.base_url, options.model
        if base_url is None:
            try:
                with stop.interrupts():
                    local = await stack.enter_async_context(LocalModel())
            except Interrupted:
                options.say("cancelled")
                return INTERRUPTED
            base_url, model = local.base_url, model or local.model_name
        endpoint = connect(options.provider, base_url=base_url, client=client)
        probe, stats = Probe(), ops.BufferStats()
        events = endpoint.stream(_body(options, model)).pipe(*_pipeline(probe, stats, stop))
        end = await subscribe(events, TerminalSink(show_reasoning=options.show_reasoning)).end()
        options.say(probe.summary(end, stats))
        if end.error is not None:
            options.say(f"rxstream: {end.error}")
        return INTERRUPTED if stop.is_cancelled else exit_code(end.outcome)


def _body(options: ChatOptions, model: str | None) -> dict[str, Any]:
    body: dict[str, Any] = {"messages": [{"role": "user", "content": options.prompt}]}
    settings = {"model": model, "max_tokens": options.max_tokens, "temperature": options.temperature}
    return body | {name: value for name, value in settings.items() if value is not None}


def _pipeline(probe: Probe, stats: ops.BufferStats, stop: Cancellation) -> tuple[Callable[[Any], Observable[Any]], ...]:
    return (
        rx.do_action(probe.note),
        ops.batch_text(leading=True),
        ops.cancel_on(stop),
        ops.bounded_buffer(stats=stats),
    )
