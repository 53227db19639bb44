"""What the operator sees: metrics whose labels are bounded, and one line a request without content."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from typing import Any

import pytest

from rxstream.events import Usage
from rxstream.gateway.app import create_app
from rxstream.gateway.config import LogConfig
from rxstream.gateway.log import LOGGER_NAME, GatewayLog, set_up_logging
from rxstream.testing import Reply, Request, ScriptedProvider, Send, Stall, answer, error_reply, run

from .kit import ASK, CHAT, asking, client_of, config_for

USAGE = Usage(input_tokens=30, output_tokens=20)


def by_question(request: Request) -> Reply:
    asked = request.json()["messages"][0]["content"]
    return error_reply(429) if asked == "too much" else answer("hi", usage=USAGE)


def asked(content: str, **more: Any) -> dict[str, Any]:
    return {**ASK[CHAT], "messages": [{"role": "user", "content": content}], **more}


def test_metrics_count_requests_tokens_times_and_errors() -> None:
    async def main() -> str:
        async with asking(by_question, aliases={"fast": "m"}) as (client, _):
            await client.post(CHAT, json=asked("q", stream=True))
            await client.post(CHAT, json=asked("q", model="fast"))
            await client.post(CHAT, json=asked("too much"))
            await client.post(CHAT, json=asked("q", model="planted-name"))
            return (await client.get("/metrics")).text

    shown = run(main())
    for line in (
        'rxstream_requests_total{model="m",outcome="completed",route="/v1/chat/completions"} 1.0',
        'rxstream_requests_total{model="fast",outcome="completed",route="/v1/chat/completions"} 1.0',
        'rxstream_requests_total{model="m",outcome="failed",route="/v1/chat/completions"} 1.0',
        'rxstream_requests_total{model="none",outcome="failed",route="/v1/chat/completions"} 1.0',
        'rxstream_errors_total{category="rate_limited",model="m",route="/v1/chat/completions"} 1.0',
        'rxstream_errors_total{category="not_found",model="none",route="/v1/chat/completions"} 1.0',
        'rxstream_tokens_total{kind="input",model="m",route="/v1/chat/completions"} 30.0',
        'rxstream_tokens_total{kind="output",model="fast",route="/v1/chat/completions"} 20.0',
        'rxstream_time_to_first_token_seconds_count{model="m",route="/v1/chat/completions"} 1.0',
        'rxstream_request_seconds_count{model="m",route="/v1/chat/completions"} 2.0',
        "rxstream_streams_active 0.0",
        "rxstream_streams_limit 256.0",
    ):
        assert line in shown.splitlines()
    assert "planted" not in shown


@pytest.mark.parametrize("stream", [True, False])
def test_a_count_of_tokens_without_bound_does_no_harm(stream: bool, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOGGER_NAME)
    last = b'{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":%b,%b}}'
    data = last % (b"1" + b"0" * 400, b'"completion_tokens":7')

    async def main() -> str:
        async with asking(Reply([Send(b"data: %b\n\ndata: [DONE]\n\n" % data)])) as (client, _):
            assert (await client.post(CHAT, json=asked("q", stream=stream))).status_code == 200
            return (await client.get("/metrics")).text

    assert 'rxstream_tokens_total{kind="output",model="m",route="/v1/chat/completions"} 7.0' in run(main())
    (record,) = (record for record in caplog.records if record.name == LOGGER_NAME)
    assert record.getMessage() == "request"


def test_a_client_cannot_make_labels() -> None:
    async def main() -> str:
        async with asking(by_question, model="*", entry={"name": "any"}) as (client, _):
            for number in range(20):
                await client.post(CHAT, json=asked("q", model=f"any/{number}"))
                await client.post(f"/v1/{number}", json={})
            return (await client.get("/metrics")).text

    shown = [line for line in run(main()).splitlines() if line.startswith("rxstream_requests_total")]
    assert shown == ['rxstream_requests_total{model="any/*",outcome="completed",route="/v1/chat/completions"} 20.0']


def test_a_client_cannot_write_into_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOGGER_NAME)

    async def main() -> None:
        async with asking(by_question, model="*", entry={"name": "any"}) as (client, _):
            for stream in (True, False):
                await client.post(CHAT, json=asked("q", model="any/planted", stream=stream))
            await client.post(CHAT, json=asked("q", model="planted"))

    run(main())
    lines = [record.__dict__["fields"] for record in caplog.records if record.name == LOGGER_NAME]
    assert [line["model"] for line in lines] == ["any/*", "any/*", None]
    assert "planted" not in str(lines)


def test_metrics_can_be_left_out() -> None:
    async def main() -> int:
        async with asking(by_question, telemetry={"metrics": False}) as (client, _):
            return (await client.get("/metrics")).status_code

    assert run(main()) == 404


def test_a_request_is_one_line_without_content(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOGGER_NAME)

    async def main() -> None:
        async with asking(by_question) as (client, _):
            headers = {"x-request-id": "id-1"}
            await client.post(CHAT, json=asked("planted question", stream=True), headers=headers)
            await client.post(CHAT, json=asked("too much"))
            await client.get("/healthz")

    run(main())
    first, second = (record.__dict__["fields"] for record in caplog.records if record.name == LOGGER_NAME)
    assert {key: first[key] for key in ("request_id", "route", "model", "provider", "stream", "status", "outcome")} == {
        "request_id": "id-1",
        "route": CHAT,
        "model": "m",
        "provider": "openai-chat",
        "stream": True,
        "status": 200,
        "outcome": "completed",
    }
    assert (first["input_tokens"], first["output_tokens"], first["error"]) == (30, 20, None)
    assert (second["status"], second["outcome"], second["error"]) == (429, "failed", "rate_limited")
    assert second["correlation_id"]
    assert "planted" not in str(first)


@pytest.mark.parametrize(
    ("reply", "body", "status"),
    [
        (error_reply(429), {}, 429),
        (error_reply(401), {}, 502),
        (Reply([Send(b"data: {}\n\n")]), {}, 502),
        (answer("hi"), {"model": "nobody"}, 404),
        (answer("hi"), {"n": "two", "stream": "yes"}, 400),
    ],
)
def test_the_line_of_a_request_joins_the_two_ids_that_its_client_sees(
    reply: Reply, body: dict[str, Any], status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, LOGGER_NAME)

    async def main() -> tuple[str, str]:
        async with asking(reply) as (client, _):
            said = await client.post(CHAT, json={**ASK[CHAT], **body})
            assert said.status_code == status
            return said.headers["x-request-id"], said.json()["error"]["correlation_id"]

    assert [run(main())] == ids_told(caplog)


def test_a_whole_answer_that_a_shutdown_ends_is_in_the_log_under_the_id_that_its_client_sees(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, LOGGER_NAME)

    async def main() -> tuple[str, str]:
        async with ScriptedProvider(Reply([Stall()])) as provider:
            app = create_app(config_for(provider.base_url))
            async with client_of(app) as client:
                waiting = asyncio.create_task(client.post(CHAT, json=ASK[CHAT]))
                await provider.request()
                app.state.gateway.end_streams()
                said = await waiting
        assert said.status_code == 503
        return said.headers["x-request-id"], said.json()["error"]["correlation_id"]

    assert [run(main())] == ids_told(caplog)


def ids_told(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    """What the lines of requests say of their ids."""
    lines = [record.__dict__["fields"] for record in caplog.records if record.getMessage() == "request"]
    return [(fields["request_id"], fields["correlation_id"]) for fields in lines]


def test_lines_are_json_and_a_level_decides_which() -> None:
    logger = logging.getLogger(LOGGER_NAME)
    before = (logger.handlers, logger.level, logger.propagate)
    try:
        for level, expected in (("info", ["request", "odd", "bad"]), ("warning", ["odd", "bad"]), ("off", [])):
            stream = io.StringIO()
            set_up_logging(LogConfig.model_validate({"level": level}), stream)
            log = GatewayLog()
            log.request(route="/x", model=None, name="a\nb")
            log.warning("odd")
            log.error("bad")
            lines = [json.loads(line) for line in stream.getvalue().splitlines()]
            assert [line["event"] for line in lines] == expected
        stream = io.StringIO()
        set_up_logging(LogConfig(access=False), stream)
        GatewayLog(access=False).request(route="/x")
        assert stream.getvalue() == ""
        try:
            raise ValueError("planted")
        except ValueError:
            logger.exception("failed")
        assert json.loads(stream.getvalue())["exception"] == "ValueError"
        assert "planted" not in stream.getvalue()
    finally:
        logger.handlers, logger.level, logger.propagate = before
        logging.getLogger("uvicorn").handlers.clear()


def test_diagnostics_go_to_the_file_that_is_named(tmp_path: Any) -> None:
    file = tmp_path / "detail.jsonl"

    async def main() -> str:
        reply = error_reply(500, {"error": {"message": "kept for the operator"}})
        async with asking(reply, log={"diagnostics_file": str(file)}) as (client, _):
            said = await client.post(CHAT, json=ASK[CHAT])
            correlation_id = said.json()["error"]["correlation_id"]
            assert isinstance(correlation_id, str)
            return correlation_id

    correlation_id = run(main())
    assert (file.stat().st_mode & 0o777) == 0o600
    assert [json.loads(line)["correlation_id"] for line in file.read_text().splitlines()] == [correlation_id]
    assert "kept for the operator" in file.read_text()
