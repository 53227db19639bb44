"""curl, which shows bytes as they arrive: the four routes, read as plain server-sent events."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.clients.programs import program
from tests.clients.report import EVERYTHING, SCHEMA, TIMEOUT_SECONDS, TOOLS, Call, Failure, Job, OnPiece, Report

__all__ = ("Curl", "curl_arguments")

PATHS = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "ai-sdk-ui": "/api/chat",
}


def body_of(format: str, job: Job) -> dict[str, Any]:
    """The request, in the words of a route."""
    message = {"role": "user", "content": job.prompt}
    ui_message = {"id": "1", "role": "user", "parts": [{"type": "text", "text": job.prompt}]}
    bodies: dict[str, dict[str, Any]] = {
        "openai-chat": {"messages": [message], "stream": True, "stream_options": {"include_usage": True}},
        "openai-responses": {"input": job.prompt, "stream": True},
        "anthropic": {"messages": [message], "stream": True, "max_tokens": 1000},
        "ai-sdk-ui": {"id": "c", "messages": [ui_message], "includeUsage": True},
    }
    body = {"model": job.model, **bodies[format], **job.sampling}
    if job.tools:
        body["tools"] = _tools(format)
    return body | _FORMATS[format] if job.structured else body


def _tools(format: str) -> Any:
    if format == "ai-sdk-ui":
        return {name: {"parameters": schema} for name, schema in TOOLS.items()}
    if format == "anthropic":
        return [{"name": name, "input_schema": schema} for name, schema in TOOLS.items()]
    functions = [{"name": name, "parameters": schema} for name, schema in TOOLS.items()]
    if format == "openai-responses":
        return [{"type": "function", **function} for function in functions]
    return [{"type": "function", "function": function} for function in functions]


_NAMED = {"name": "weather", "schema": SCHEMA}

_FORMATS: Mapping[str, dict[str, Any]] = {
    "openai-chat": {"response_format": {"type": "json_schema", "json_schema": _NAMED}},
    "openai-responses": {"text": {"format": {"type": "json_schema", **_NAMED}}},
    "anthropic": {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
    "ai-sdk-ui": {"responseFormat": {"type": "json", **_NAMED}},
}
"""How each route is asked for answers of `SCHEMA`."""


def curl_arguments(format: str, job: Job, *more: str) -> list[str]:
    """The command, but for the body, which it reads from its standard input."""
    command = [program("curl"), "--no-buffer", "--silent", "--show-error", "--max-time", str(TIMEOUT_SECONDS)]
    headers = ("--header", "content-type: application/json")
    return [*command, *headers, "--data-binary", "@-", *more, f"{job.base_url}{PATHS[format]}"]


class Curl:
    """`curl -N` at one route.

    Args:
        format: of the route.
    """

    errors: Mapping[int, str] = dict.fromkeys((400, 401, 404, 429, 502, 503, 529), "HTTP")

    def __init__(self, format: str) -> None:
        self._format = format
        self.name = f"curl-{format}"
        self.shows = EVERYTHING - {"whole"}
        self.finishes = FINISHES[format]

    def ask(self, job: Job, on_piece: OnPiece) -> Report:
        """Ask, and report."""
        report = Report()
        arguments = curl_arguments(self._format, job, "--write-out", "\n:status %{http_code} %header{retry-after}\n")
        with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as curl:
            assert curl.stdin is not None
            assert curl.stdout is not None
            curl.stdin.write(json.dumps(body_of(self._format, job)).encode())
            curl.stdin.close()
            self._read(curl.stdout, job, on_piece, report)
            if report.left:
                curl.kill()
        report.calls = [Call(call.name, json.loads(call.arguments)) for call in report.calls]
        if job.structured and report.failure is None:
            report.parsed = json.loads(report.text)
        return report

    def _read(self, lines: Iterator[bytes], job: Job, on_piece: OnPiece, report: Report) -> None:
        read, rest = READERS[self._format], b""
        for line in lines:
            if line.startswith(b":status "):
                self._refused(line, rest, report)
            elif line.startswith(b"data: {"):
                if piece := read(json.loads(line[6:]), report):
                    report.text += piece
                    report.pieces += 1
                    on_piece(piece)
                    if job.leave:
                        report.left = True
                        return
            else:
                rest += line

    def _refused(self, line: bytes, body: bytes, report: Report) -> None:
        _, status, *after = line.decode().split()
        if status != "200":
            report.failure = Failure("HTTP", body.decode(), int(status), *after)


def _chat(frame: dict[str, Any], report: Report) -> str:
    if "error" in frame:
        report.failure = Failure("error", frame["error"]["message"])
        return ""
    if usage := frame.get("usage"):
        report.input_tokens, report.output_tokens = usage["prompt_tokens"], usage["completion_tokens"]
    text = ""
    for choice in frame["choices"]:
        delta = choice["delta"]
        text += delta.get("content") or ""
        report.reasoning += delta.get("reasoning_content") or ""
        for entry in delta.get("tool_calls", ()):
            assert entry["index"] == len(report.calls) - ("id" not in entry)
            _call(report, entry["function"].get("name"), entry["function"]["arguments"])
        report.finish = choice["finish_reason"] or report.finish
    return text


def _call(report: Report, name: str | None, arguments: str) -> None:
    """A call that begins, where it has a name, or the next piece of the arguments of the last one."""
    call = report.calls.pop() if name is None else Call(name, "")
    report.calls.append(Call(call.name, call.arguments + arguments))


def _responses(frame: dict[str, Any], report: Report) -> str:
    kind = frame["type"]
    if kind in ("response.completed", "response.incomplete"):
        response = frame["response"]
        report.finish = response["status"]
        report.input_tokens, report.output_tokens = (
            response["usage"][f"{side}_tokens"] for side in ("input", "output")
        )
    elif kind == "error":
        report.failure = Failure(kind, frame["message"])
    elif kind == "response.failed":
        report.failure = Failure(kind, frame["response"]["error"]["message"])
    elif kind == "response.output_item.done" and frame["item"]["type"] == "function_call":
        _call(report, frame["item"]["name"], frame["item"]["arguments"])
    elif kind.startswith("response.reasoning") and kind.endswith(".delta"):
        report.reasoning += frame["delta"]
    return str(frame["delta"]) if kind == "response.output_text.delta" else ""


def _anthropic(frame: dict[str, Any], report: Report) -> str:
    if frame["type"] == "error":
        report.failure = Failure("error", frame["error"]["message"])
    elif frame["type"] == "message_delta":
        report.finish = frame["delta"]["stop_reason"]
        report.input_tokens = frame["usage"].get("input_tokens", report.input_tokens)
        report.output_tokens = frame["usage"]["output_tokens"]
    elif frame["type"] == "content_block_start" and frame["content_block"]["type"] == "tool_use":
        _call(report, frame["content_block"]["name"], "")
    elif frame["type"] == "content_block_delta":
        delta = frame["delta"]
        report.reasoning += delta.get("thinking", "")
        if "partial_json" in delta:
            _call(report, None, delta["partial_json"])
        return str(delta.get("text", ""))
    return ""


def _ui(frame: dict[str, Any], report: Report) -> str:
    if frame["type"] == "error":
        report.failure = Failure("error", frame["errorText"])
    elif frame["type"] == "finish":
        report.finish = frame["finishReason"]
        usage = frame.get("messageMetadata", {}).get("usage", {})
        report.input_tokens, report.output_tokens = usage.get("input_tokens"), usage.get("output_tokens")
    elif frame["type"] == "reasoning-delta":
        report.reasoning += frame["delta"]
    elif frame["type"] == "tool-input-available":
        _call(report, frame["toolName"], json.dumps(frame["input"]))
    elif frame["type"] == "text-delta":
        return str(frame["delta"])
    return ""


READERS: dict[str, Callable[[dict[str, Any], Report], str]] = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "ai-sdk-ui": _ui,
}

FINISHES: dict[str, Mapping[str, str]] = {
    "openai-chat": {"stop": "stop", "length": "length", "tool_calls": "tool_calls"},
    "openai-responses": {"stop": "completed", "length": "incomplete", "tool_calls": "completed"},
    "anthropic": {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"},
    "ai-sdk-ui": {"stop": "stop", "length": "length", "tool_calls": "tool-calls"},
}
