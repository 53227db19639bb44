"""Anthropic's own Python client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anthropic
import httpx

from tests.clients.openai_clients import ERRORS, Weather, failure_of
from tests.clients.report import EVERYTHING, TIMEOUT_SECONDS, TOOLS, Call, Failure, Job, Left, OnPiece, Report

__all__ = ("AnthropicMessages",)


class AnthropicMessages:
    """`client.messages`."""

    name = "anthropic-py"
    finishes: Mapping[str, str] = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}
    shows = EVERYTHING
    errors: Mapping[int, str] = {**ERRORS, 529: "OverloadedError"}

    def ask(self, job: Job, on_piece: OnPiece) -> Report:
        """Ask, and report."""
        report = Report()
        with anthropic.Anthropic(
            base_url=job.base_url, api_key=job.token, max_retries=0, timeout=TIMEOUT_SECONDS
        ) as client:
            try:
                if job.stream:
                    self._stream(client, job, on_piece, report)
                else:
                    ask: Any = client.messages.parse if job.structured else client.messages.create
                    self._keep(ask(**_options(job)), report)
            except Left:
                report.left = True
            except anthropic.AnthropicError as error:
                report.failure = failure_of(error)
            except httpx.HTTPError as error:  # what this client lets through from inside a stream
                report.failure = Failure(type(error).__name__, str(error))
        return report

    def _stream(self, client: anthropic.Anthropic, job: Job, on_piece: OnPiece, report: Report) -> None:
        with client.messages.stream(**_options(job)) as stream:
            for event in stream:
                if event.type == "text":
                    report.text += event.text
                    report.pieces += 1
                    on_piece(event.text)
                    if job.leave:
                        raise Left
            said = report.text
            report.text = ""
            self._keep(stream.get_final_message(), report)
            assert report.text == said

    def _keep(self, message: Any, report: Report) -> None:
        report.finish = message.stop_reason
        report.input_tokens, report.output_tokens = message.usage.input_tokens, message.usage.output_tokens
        for block in message.content:
            if block.type == "text":
                report.text += block.text
            elif block.type == "thinking":
                report.reasoning += block.thinking
            elif block.type == "tool_use":
                report.calls.append(Call(block.name, block.input))
        parsed = getattr(message, "parsed_output", None)
        report.parsed = parsed.model_dump() if isinstance(parsed, Weather) else None


def _options(job: Job) -> dict[str, Any]:
    options: dict[str, Any] = {
        "model": job.model,
        "max_tokens": 1000,
        "messages": [{"role": "user", "content": job.prompt}],
        "extra_body": dict(job.sampling),
    }
    if job.tools:
        options["tools"] = [{"name": name, "input_schema": schema} for name, schema in TOOLS.items()]
    return {**options, "output_format": Weather} if job.structured else options
