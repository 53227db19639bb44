"""OpenAI's own Python client: chat completions and responses, through its helpers that build up the answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import openai
from pydantic import BaseModel, ConfigDict

from tests.clients.report import EVERYTHING, SCHEMA, TIMEOUT_SECONDS, TOOLS, Call, Failure, Job, Left, OnPiece, Report

__all__ = ("OpenAIChat", "OpenAIResponses", "Weather", "failure_of")

ERRORS = {
    400: "BadRequestError",
    401: "AuthenticationError",
    404: "NotFoundError",
    429: "RateLimitError",
    502: "InternalServerError",
    503: "InternalServerError",
}


class Weather(BaseModel):
    """`SCHEMA` as a class, for clients that take one."""

    model_config = ConfigDict(extra="forbid")

    city: str
    degrees: int


assert set(Weather.model_fields) == set(SCHEMA["properties"])


def client_of(job: Job) -> openai.OpenAI:
    """The client, which does not try again by itself."""
    return openai.OpenAI(base_url=f"{job.base_url}/v1", api_key=job.token, max_retries=0, timeout=TIMEOUT_SECONDS)


def failure_of(error: Any) -> Failure:
    """What an error of OpenAI's or Anthropic's client says; both are made of the same mould."""
    response = getattr(error, "response", None)
    retry_after = None if response is None else response.headers.get("retry-after")
    # A subclass that another library made of it is still that error to whoever catches it.
    kind = next(each for each in type(error).__mro__ if each.__module__.split(".")[0] in ("openai", "anthropic"))
    return Failure(kind.__name__, str(error), getattr(error, "status_code", None), retry_after)


class OpenAIChat:
    """`client.chat.completions`."""

    name = "openai-py-chat"
    finishes: Mapping[str, str] = {"stop": "stop", "length": "length", "tool_calls": "tool_calls"}
    shows = EVERYTHING
    errors: Mapping[int, str] = ERRORS

    def ask(self, job: Job, on_piece: OnPiece) -> Report:
        """Ask, and report."""
        report = Report()
        with client_of(job) as client:
            try:
                if job.stream:
                    self._stream(client, job, on_piece, report)
                else:
                    self._whole(client, job, report)
            except Left:
                report.left = True
            except openai.LengthFinishReasonError as error:
                self._keep(error.completion, report)
            except openai.OpenAIError as error:
                report.failure = failure_of(error)
        return report

    def _stream(self, client: openai.OpenAI, job: Job, on_piece: OnPiece, report: Report) -> None:
        options = {"stream_options": {"include_usage": True}, **_chat_options(job)}
        with client.chat.completions.stream(**options) as stream:
            for event in stream:
                if event.type == "chunk":
                    for choice in event.chunk.choices:
                        report.reasoning += getattr(choice.delta, "reasoning_content", None) or ""
                elif event.type == "content.delta" and event.delta:  # the first is empty, with the role
                    report.text += event.delta
                    report.pieces += 1
                    on_piece(event.delta)
                    if job.leave:
                        raise Left
            said = report.text
            self._keep(stream.get_final_completion(), report)
            assert report.text == said

    def _whole(self, client: openai.OpenAI, job: Job, report: Report) -> None:
        ask: Any = client.chat.completions.parse if job.structured else client.chat.completions.create
        completion = ask(**_chat_options(job))
        report.reasoning = getattr(completion.choices[0].message, "reasoning_content", None) or ""
        self._keep(completion, report)

    def _keep(self, completion: Any, report: Report) -> None:
        choice = completion.choices[0]
        report.text = choice.message.content or ""
        report.finish = choice.finish_reason
        report.parsed = _plain(getattr(choice.message, "parsed", None))
        report.calls = [
            Call(call.function.name, json.loads(call.function.arguments)) for call in choice.message.tool_calls or ()
        ]
        if completion.usage is not None:
            report.input_tokens = completion.usage.prompt_tokens
            report.output_tokens = completion.usage.completion_tokens


class OpenAIResponses:
    """`client.responses`."""

    name = "openai-py-responses"
    finishes: Mapping[str, str] = {"stop": "completed", "length": "max_output_tokens", "tool_calls": "completed"}
    shows = EVERYTHING
    errors: Mapping[int, str] = ERRORS

    def ask(self, job: Job, on_piece: OnPiece) -> Report:
        """Ask, and report."""
        report = Report()
        with client_of(job) as client:
            try:
                if job.stream:
                    self._stream(client, job, on_piece, report)
                else:
                    ask: Any = client.responses.parse if job.structured else client.responses.create
                    self._keep(ask(**_responses_options(job)), report)
            except Left:
                report.left = True
            except openai.OpenAIError as error:
                report.failure = failure_of(error)
        return report

    def _stream(self, client: openai.OpenAI, job: Job, on_piece: OnPiece, report: Report) -> None:
        final: Any = None
        with client.responses.stream(**_responses_options(job)) as stream:
            for event in stream:
                if event.type == "response.output_text.delta":
                    report.text += event.delta
                    report.pieces += 1
                    on_piece(event.delta)
                    if job.leave:
                        raise Left
                elif event.type in ("response.completed", "response.incomplete"):
                    final = event.response
                elif event.type == "error":
                    report.failure = Failure("error", event.message)
                elif event.type == "response.failed":
                    assert event.response.error is not None
                    report.failure = Failure("response.failed", event.response.error.message)
        if final is not None:
            said = report.text
            self._keep(final, report)
            assert report.text == said

    def _keep(self, response: Any, report: Report) -> None:
        report.text = response.output_text
        report.finish = response.incomplete_details.reason if response.status == "incomplete" else response.status
        report.parsed = _plain(getattr(response, "output_parsed", None))
        for item in response.output:
            if item.type == "function_call":
                report.calls.append(Call(item.name, json.loads(item.arguments)))
            elif item.type == "reasoning":
                report.reasoning += "".join(part.text for part in [*item.summary, *(item.content or ())])
        if response.usage is not None:
            report.input_tokens, report.output_tokens = response.usage.input_tokens, response.usage.output_tokens


def _chat_options(job: Job) -> dict[str, Any]:
    message = {"role": "user", "content": job.prompt}
    options: dict[str, Any] = {"model": job.model, "messages": [message], **job.sampling}
    if job.tools:
        options["tools"] = [
            {"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in TOOLS.items()
        ]
    return {**options, "response_format": Weather} if job.structured else options


def _responses_options(job: Job) -> dict[str, Any]:
    options: dict[str, Any] = {"model": job.model, "input": job.prompt, **job.sampling}
    if job.tools:
        options["tools"] = [
            {"type": "function", "name": name, "parameters": schema, "strict": False} for name, schema in TOOLS.items()
        ]
    return {**options, "text_format": Weather} if job.structured else options


def _plain(parsed: Any) -> Any:
    return parsed.model_dump() if isinstance(parsed, BaseModel) else None
