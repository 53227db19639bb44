"""No error of a stream shows what was sent or received; the diagnostics hold it, redacted."""

from __future__ import annotations

import logging
import pickle
import traceback
from types import ModuleType
from typing import Any

import pytest
from pydantic import JsonValue

from rxstream.consume.iterate import iterate
from rxstream.diagnostics import Diagnostics
from rxstream.errors import RequestError, StreamError
from rxstream.sources import http_stream
from rxstream.testing import Cut, Reply, Send, Stall, error_reply, run_virtual
from tests.sources.http_streams import both_clients, serving

URL_KEY = "AIzaPLANTEDINTHEURL"
HEADER_KEY = "sk-planted-in-a-header"
PROMPT = "planted-in-the-request"
ANSWER = "planted-in-the-answer"
PLANTED = (URL_KEY, HEADER_KEY, PROMPT, ANSWER)
ECHO: JsonValue = {
    "error": {"message": f"{ANSWER}: {HEADER_KEY} {PROMPT} ?key={URL_KEY}", "type": "invalid_request_error"}
}

REPLIES = {
    "an error that repeats the request": error_reply(400, ECHO),
    "a missing address": error_reply(404, ECHO, headers={"x-echo": HEADER_KEY}),
    "a redirect": Reply([Send(ANSWER.encode())], status=302, headers={"location": f"/?key={URL_KEY}&a={ANSWER}"}),
    "a web page": Reply([Send(f"<p>{ANSWER} {HEADER_KEY}</p>".encode())], content_type="text/html"),
    "no head": Reply(before_head=[Cut()]),
    "silence": Reply([Stall()]),
    "a cut body": Reply([Send(ANSWER.encode()), Cut()]),
    "a damaged body": Reply([Send(ANSWER.encode())], headers={"content-encoding": "gzip"}),
    "an encoding": Reply([Send(ANSWER.encode())], headers={"content-encoding": ANSWER}),
}


async def failing_stream(client: Any, url: str, http: ModuleType, diagnostics: Diagnostics | None) -> StreamError:
    options: dict[str, Any] = {
        "headers": {"authorization": f"Bearer {HEADER_KEY}"},
        "json": {"prompt": PROMPT},
        "timeout": http.Timeout(5),
    }
    with pytest.raises(StreamError) as caught:
        async for _ in iterate(http_stream(client, "POST", url, diagnostics=diagnostics, **options)):
            pass
    return caught.value


def shown(error: StreamError) -> str:
    """Everything that a log, a report or another process may see of it."""
    copy = pickle.loads(pickle.dumps(error))
    texts = [str(error), repr(error), repr(error.args), repr(error.public), repr(vars(copy)), repr(copy)]
    return "\n".join(texts + traceback.format_exception(error))


@both_clients
@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES.keys())
@pytest.mark.parametrize("keeps", [True, False], ids=["diagnostics", "no diagnostics"])
def test_nothing_planted_is_shown(
    http: ModuleType, reply: Reply, keeps: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> StreamError:
        async with serving(http, reply) as (provider, client):
            url = f"{provider.base_url}/v1?key={URL_KEY}"
            return await failing_stream(client, url, http, Diagnostics() if keeps else None)

    with caplog.at_level(logging.DEBUG, logger="rxstream"):
        error = run_virtual(main())
    assert [word for word in PLANTED if word in shown(error)] == []
    assert (error.__cause__, error.__context__) == (None, None)
    assert error.take_detail() is None


@both_clients
@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES.keys())
def test_no_frame_that_holds_the_request_is_in_the_traceback(http: ModuleType, reply: Reply) -> None:
    """Error reporters send the variables of each frame."""

    async def main() -> StreamError:
        async with serving(http, reply) as (provider, client):
            return await failing_stream(client, provider.base_url, http, None)

    modules = [frame.f_globals["__name__"] for frame, _ in traceback.walk_tb(run_virtual(main()).__traceback__)]
    assert "rxstream.consume.iterate" in modules
    assert [name for name in modules if name.startswith(("rxstream.sources", "httpx"))] == []


@both_clients
@pytest.mark.parametrize(
    "url", [f"http://127.0.0.1:9x/?key={URL_KEY}", f"ftp://h/?key={URL_KEY}"], ids=["invalid", "scheme"]
)
def test_a_url_that_cannot_be_used_is_not_shown(http: ModuleType, url: str) -> None:
    async def main() -> StreamError:
        async with serving(http, Reply()) as (_, client):
            return await failing_stream(client, url, http, None)

    error = run_virtual(main())
    assert URL_KEY not in shown(error)
    assert (error.__cause__, error.__context__) == (None, None)


@both_clients
def test_the_diagnostics_hold_the_body_without_its_keys(http: ModuleType) -> None:
    async def main() -> None:
        diagnostics = Diagnostics()
        async with serving(http, error_reply(400, ECHO)) as (provider, client):
            error = await failing_stream(client, provider.base_url, http, diagnostics)
            record = diagnostics.get(error.public.correlation_id)
        assert record is not None
        assert record.detail is not None
        assert ANSWER in record.detail
        assert HEADER_KEY not in record.detail
        assert URL_KEY not in record.detail

    run_virtual(main())


@both_clients
def test_the_diagnostics_of_the_consumer_serve_a_source_without_its_own(http: ModuleType) -> None:
    async def main() -> None:
        diagnostics = Diagnostics()
        async with serving(http, Reply(before_head=[Cut()])) as (provider, client):
            with pytest.raises(StreamError):
                await anext(iterate(http_stream(client, "GET", provider.base_url), diagnostics=diagnostics))
        (record,) = diagnostics.records()
        assert record.detail is not None
        assert "RemoteProtocolError" in record.detail

    run_virtual(main())


@both_clients
def test_a_key_that_no_header_can_hold_is_not_shown(http: ModuleType) -> None:
    async def main() -> StreamError:
        async with serving(http, Reply()) as (provider, client):
            headers = {"authorization": f"Bearer {HEADER_KEY}\u201d"}  # pasted with its quotation mark
            with pytest.raises(RequestError, match="header") as caught:
                async for _ in iterate(http_stream(client, "POST", provider.base_url, headers=headers)):
                    pass
            return caught.value

    error = run_virtual(main())
    assert HEADER_KEY not in shown(error)
    assert error.__context__ is None
