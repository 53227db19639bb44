"""Secrets planted in every place they come from, and looked for in every place they might be seen in."""

from __future__ import annotations

import json
import logging
import pickle
import traceback
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import reactivex.operators as rx

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import EVENT_ADAPTER, Event
from rxstream.testing import Cut, Reply, ScriptedProvider, Send, error_reply, run_virtual

HEADER = "sk-PLANTED-in-a-header"
URL = "AIzaPLANTEDINTHEURL"
ECHO = "sk-PLANTED-in-an-echo"
ARGUMENT = "ghp_PLANTEDINANARGUMENT"
USER = "sk-PLANTED-by-a-function"

CHUNKS: tuple[dict[str, Any], ...] = (
    {"choices": [{"index": 0, "delta": {"content": f"your key is {ECHO[:9]}"}}]},
    {"choices": [{"index": 0, "delta": {"content": f"{ECHO[9:]} and so on"}}], "debug": {"authorization": HEADER}},
    {
        "choices": [
            {
                "index": 0,
                "delta": {
                    "tool_calls": [
                        {"index": 0, "id": "1", "function": {"name": "f", "arguments": f'{{"k":"{ARGUMENT[:8]}'}}
                    ]
                },
            }
        ]
    },
    {
        "choices": [
            {"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": f'{ARGUMENT[8:]}"}}'}}]}}
        ]
    },
)
FINISH: dict[str, Any] = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
FAILURE: dict[str, Any] = {
    "error": {"message": f"bad key {ECHO} at ?key={URL}", "code": 500, "param": f"Bearer {HEADER}"}
}


def frames(*chunks: dict[str, Any]) -> bytes:
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)


DONE = b"data: [DONE]\n\n"
REPLIES = {
    "an answer": Reply([Send(frames(*CHUNKS, FINISH) + DONE)]),
    "an error in the stream": Reply([Send(frames(*CHUNKS, FAILURE))]),
    "a bad frame": Reply([Send(frames(*CHUNKS) + f"data: {{{ECHO}\n\n".encode())]),
    "a cut answer": Reply([Send(frames(*CHUNKS[:3])), Cut()]),
    "a refused key": error_reply(401, FAILURE),
}


def explode(event: Event) -> Event:
    """A function of a user that fails, with a secret in what it says and in what that came from."""
    if event.type == "tool_call":
        try:
            raise KeyError(USER)
        except KeyError:
            raise ValueError(f"no tenant for {USER}") from KeyError(HEADER)
    return event


async def read(reply: Reply, diagnostics: rxs.Diagnostics, *functions: Any) -> tuple[list[Event], BaseException | None]:
    events: list[Event] = []
    async with ScriptedProvider(reply) as provider, httpx.AsyncClient(trust_env=False) as client:
        stages: Any = (ops.parse("openai-chat"), *functions, ops.redact(), ops.bounded_buffer())
        source: Any = rxs.http_stream(
            client,
            "POST",
            f"{provider.base_url}/v1?key={URL}",
            headers={"authorization": f"Bearer {HEADER}"},
            json={"messages": [ARGUMENT]},
        )
        redacted = source.pipe(*stages)
        try:
            async for event in rxs.iterate(redacted, diagnostics=diagnostics):
                events.append(event)
        except Exception as error:
            return events, error
    return events, None


def chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def seen(events: list[Event], error: BaseException | None) -> str:
    """All that a log, a screen, another process or a store may show of a run."""
    texts = [repr(event) for event in events] + [EVENT_ADAPTER.dump_json(event).decode() for event in events]
    pieces: dict[str, str] = {}
    for event in events:  # what somebody who joins the deltas reads
        piece = getattr(event, "text", None) or getattr(event, "arguments", None) or ""
        pieces[event.type] = pieces.get(event.type, "") + piece
    texts += pieces.values()
    for each in chain(error):
        texts += [str(each), repr(each), repr(each.args), repr(vars(each)), "".join(traceback.format_exception(each))]
    if error is not None:
        texts.append(repr(vars(pickle.loads(pickle.dumps(error)))))
    return "\n".join(texts)


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
@pytest.mark.parametrize("functions", [(), (rx.map(explode),)], ids=["plain", "a function that fails"])
def test_nothing_that_was_planted_is_seen_behind_redact(
    reply: Reply, functions: tuple[Any, ...], caplog: pytest.LogCaptureFixture
) -> None:
    diagnostics = rxs.Diagnostics()
    with caplog.at_level(logging.DEBUG):
        events, error = run_virtual(read(reply, diagnostics, *functions))
    shown = seen(events, error) + repr(diagnostics.records())
    assert "PLANTED" not in shown
    assert error is None or (error.__cause__, error.__context__) == (None, None)
    ours = [record for record in caplog.records if record.name.startswith("rxstream")]
    assert "PLANTED" not in "".join(record.getMessage() for record in ours)


def test_the_run_with_planted_secrets_shows_them_without_redact() -> None:
    """The test above can fail: the same events before `redact` show each secret that came with the answer."""

    async def main() -> list[Event]:
        source = rxs.from_chunks([frames(*CHUNKS, FINISH) + DONE])
        return [event async for event in rxs.iterate(source.pipe(ops.parse("openai-chat")))]

    shown = seen(run_virtual(main()), None)
    assert ECHO in shown
    assert ARGUMENT in shown


def test_the_requests_line_of_the_http_client_is_the_only_one_with_the_url(caplog: pytest.LogCaptureFixture) -> None:
    """httpx logs each URL at INFO, query and all: README says how to silence it."""
    with caplog.at_level(logging.INFO):
        run_virtual(read(REPLIES["an answer"], rxs.Diagnostics()))
    loggers = {record.name for record in caplog.records if URL in record.getMessage()}
    assert loggers == {"httpx"}
