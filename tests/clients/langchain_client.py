"""LangChain's client for OpenAI, over either of OpenAI's two APIs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx
import openai
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from tests.clients.openai_clients import ERRORS, Weather, failure_of
from tests.clients.report import EVERYTHING, TIMEOUT_SECONDS, TOOLS, Call, Failure, Job, Left, OnPiece, Report

__all__ = ("LangChain",)


class LangChain:
    """`ChatOpenAI`.

    Args:
        uses_responses: whether it speaks the Responses API.
    """

    errors: Mapping[int, str] = ERRORS

    def __init__(self, uses_responses: bool) -> None:
        self._uses_responses = uses_responses
        self.name = "langchain-responses" if uses_responses else "langchain-chat"
        # It drops the reasoning that compatible servers send on the chat API.
        shows = EVERYTHING if uses_responses else EVERYTHING - {"reasoning"}
        # Its streams of structured answers lose what was parsed when their chunks are added up.
        self.shows = shows - {"structured streams"}
        self.finishes: Mapping[str, str] = (
            {"stop": "completed", "length": "incomplete", "tool_calls": "completed"}
            if uses_responses
            else {"stop": "stop", "length": "length", "tool_calls": "tool_calls"}
        )

    def ask(self, job: Job, on_piece: OnPiece) -> Report:
        """Ask, and report."""
        report = Report()
        try:
            if job.structured:
                self._structured(job, report)
            else:
                self._plain(job, on_piece, report)
        except Left:
            report.left = True
        except openai.OpenAIError as error:
            report.failure = failure_of(error)
        except (httpx.HTTPError, ValueError) as error:  # a stream's error is a ValueError on the Responses API
            report.failure = Failure(type(error).__name__, str(error))
        return report

    def _plain(self, job: Job, on_piece: OnPiece, report: Report) -> None:
        model: Any = self._model(job)
        if job.tools:
            model = model.bind_tools([{"type": "function", "function": tool} for tool in _tools()])
        if not job.stream:
            self._keep(model.invoke(job.prompt), report)
            return
        whole: Any = None
        for chunk in model.stream(job.prompt):
            whole = chunk if whole is None else whole + chunk
            if piece := str(chunk.text):
                report.text += piece
                report.pieces += 1
                on_piece(piece)
                if job.leave:
                    raise Left
        said = report.text
        self._keep(whole, report)
        assert report.text == said

    def _structured(self, job: Job, report: Report) -> None:
        chain = self._model(job).with_structured_output(Weather, method="json_schema", include_raw=True)
        found = chain.invoke(job.prompt)
        assert isinstance(found, dict)
        assert found["parsing_error"] is None
        self._keep(found["raw"], report)
        report.parsed = found["parsed"].model_dump()

    def _keep(self, message: AIMessage, report: Report) -> None:
        about = message.response_metadata
        report.text = str(message.text)
        report.finish = about.get("status") if self._uses_responses else about.get("finish_reason")
        report.calls = [Call(call["name"], call["args"]) for call in message.tool_calls]
        report.reasoning = "".join(
            str(block.get("reasoning", "")) for block in message.content_blocks if block["type"] == "reasoning"
        )
        if message.usage_metadata is not None:
            report.input_tokens = message.usage_metadata["input_tokens"]
            report.output_tokens = message.usage_metadata["output_tokens"]

    def _model(self, job: Job) -> ChatOpenAI:
        return ChatOpenAI(
            base_url=f"{job.base_url}/v1",
            api_key=SecretStr(job.token),
            model=job.model,
            max_retries=0,
            timeout=TIMEOUT_SECONDS,
            stream_usage=True,
            use_responses_api=self._uses_responses,
            **job.sampling,
        )


def _tools() -> list[dict[str, Any]]:
    return [{"name": name, "parameters": schema} for name, schema in TOOLS.items()]
