"""Clients in JavaScript: one Node.js process that takes a request on each line and answers with lines of JSON."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

from tests.clients.openai_clients import ERRORS
from tests.clients.programs import HERE, node_modules, program
from tests.clients.report import EVERYTHING, SCHEMA, TIMEOUT_SECONDS, TOOLS, Call, Failure, Job, OnPiece, Report

__all__ = ("NODE_CLIENTS", "Node", "NodeClient", "run_node")


class Node:
    """The process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, job: Job, on_piece: OnPiece) -> Report:
        """Hand over a request, and read what the client says of it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = {**asdict(job), "schema": SCHEMA, "toolSchemas": TOOLS, "timeoutSeconds": TIMEOUT_SECONDS}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            said = json.loads(line)
            if "report" in said:
                return _report(said["report"])
            on_piece(said["piece"])
        raise AssertionError(f"node ended with status {self._process.wait()}")


def _report(said: dict[str, Any]) -> Report:
    failure = said.pop("failure", None)
    calls = [Call(**call) for call in said.pop("calls", ())]
    return Report(**said, calls=calls, failure=None if failure is None else Failure(**failure))


@contextmanager
def run_node() -> Iterator[Node]:
    """A process for the length of the block."""
    node_modules()
    process = subprocess.Popen(
        [program("node"), "serve_jobs.mjs"], cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        yield Node(process)


class NodeClient:
    """One of the clients in that process.

    Args:
        name: its name there.
        finishes: what it calls each reason.
        shows: what it can tell.
        errors: the class of its error for each status.
    """

    def __init__(
        self, name: str, finishes: Mapping[str, str], shows: frozenset[str], errors: Mapping[int, str]
    ) -> None:
        self.name = name
        self.finishes = finishes
        self.shows = shows
        self.errors = errors
        self.node: Node | None = None

    def ask(self, job: Job, on_piece: OnPiece) -> Report:
        """Ask, and report."""
        assert self.node is not None, "the test has no process"
        return self.node.run(replace(job, name=self.name), on_piece)


_AI = {"stop": "stop", "length": "length", "tool_calls": "tool-calls"}

NODE_CLIENTS = (
    NodeClient("openai-npm-chat", {"stop": "stop", "length": "length", "tool_calls": "tool_calls"}, EVERYTHING, ERRORS),
    NodeClient(
        "openai-npm-responses",
        {"stop": "completed", "length": "max_output_tokens", "tool_calls": "completed"},
        EVERYTHING,
        ERRORS,
    ),
    NodeClient("ai-compatible", _AI, EVERYTHING, dict.fromkeys(ERRORS, "AI_APICallError")),
    # The transport reads a stream of parts: whole answers and errors with a class it does not know.
    NodeClient("ai-ui", _AI, EVERYTHING - {"whole"}, dict.fromkeys(ERRORS, "Error")),
)
