"""The doctor: a proxy that holds streams back, compresses them or cuts them off is found, with what to change."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from rxstream.gateway.app import create_app
from rxstream.gateway.config import Config
from rxstream.gateway.doctor import Arrival, DoctorError, Finding, Observation, diagnose, observe, self_test_url
from rxstream.gateway.doctor.self_test import MARK, MAX_STREAMS
from rxstream.testing import run_virtual

from .kit import LOOPBACK, client_of, config_for, running
from .proxies import (
    Head,
    Relay,
    as_http_1_0,
    cut_off,
    gzipped,
    held,
    in_blocks,
    passed_on,
    proxy_before,
    same,
    with_head,
    without,
)

CONFIG = config_for("http://127.0.0.1:9/v1")


def seen_through(
    relay: Relay | None, *, request_head: Head = same, config: Config = CONFIG, **asked: Any
) -> Observation:
    """What is seen of a gateway through a proxy, or of itself; on a clock that no load of the machine moves."""

    async def main() -> Observation:
        async with running(config) as gateway, httpx.AsyncClient() as client:
            if relay is None:
                return await observe(client, self_test_url(gateway.base_url), **asked)
            async with proxy_before(gateway.address, relay, request_head=request_head) as url:
                return await observe(client, self_test_url(url), **asked)

    return run_virtual(main())


def problems(seen: Observation) -> list[str]:
    """What is wrong, in words."""
    return [finding.what for finding in diagnose(seen) if finding.is_problem]


def test_frames_pass_as_they_are_sent_where_nothing_is_in_between() -> None:
    seen = seen_through(None, frames=5)
    assert diagnose(seen) == ()
    assert [arrival.sent_seconds for arrival in seen.arrivals] == [0.0, 0.2, 0.4, 0.6, 0.8]
    assert seen.held_seconds < 0.02
    assert (seen.http_version, seen.gateway_http_version) == ("HTTP/1.1", "1.1")


def test_a_proxy_that_passes_pieces_on_is_good() -> None:
    assert diagnose(seen_through(passed_on)) == ()


def test_a_proxy_that_waits_for_the_end_is_found() -> None:
    seen = seen_through(held, frames=5)
    assert problems(seen) == ["frames are held back, up to 0.80 s: 5 came all at once"]
    [finding] = [finding for finding in diagnose(seen) if finding.is_problem]
    assert any("proxy_buffering off" in way for way in finding.change)


def test_a_proxy_that_waits_for_a_full_block_is_found() -> None:
    seen = seen_through(in_blocks(200), frames=10)
    [problem] = problems(seen)
    assert problem.startswith("frames are held back")
    assert "pieces" in problem


def test_a_proxy_that_compresses_in_blocks_is_found_by_both() -> None:
    seen = seen_through(gzipped(flushes=False), request_head=as_http_1_0, frames=4)
    assert problems(seen) == [
        "frames are held back, up to 0.60 s: 4 came all at once",
        "the stream is compressed (gzip) on the way: frames wait until a block of it is full",
        "the proxy speaks HTTP/1.0 to the gateway: a stream that is cut off looks like one that ended",
    ]


def test_a_proxy_that_compresses_each_piece_by_itself_is_said_and_no_problem() -> None:
    seen = seen_through(gzipped(flushes=True), request_head=as_http_1_0)
    assert len(seen.arrivals) == 10
    compression, old_http = (finding for finding in diagnose(seen) if finding.change)
    assert (compression.is_problem, old_http.is_problem) == (False, True)
    assert compression.what == "the stream is compressed (gzip) on the way, and each frame is let out at once"


def test_a_proxy_that_speaks_an_older_http_to_the_gateway_is_found() -> None:
    seen = seen_through(passed_on, request_head=as_http_1_0)
    [finding] = diagnose(seen)
    assert finding.is_problem
    assert "HTTP/1.0 to the gateway" in finding.what
    assert "proxy_http_version 1.1" in finding.change[0]


def test_a_proxy_that_cuts_a_stream_off_is_found() -> None:
    [problem] = problems(seen_through(cut_off(4096), frames=5))
    assert problem == "the stream was cut off after 1 of 5 frames: the connection broke off"


def test_headers_that_did_not_come_through_are_said_and_no_problem() -> None:
    findings = diagnose(seen_through(with_head(without(b"x-accel-buffering", b"cache-control"))))
    assert [finding.is_problem for finding in findings] == [False, False]
    assert findings[0].what.startswith("X-Accel-Buffering: no did not come through")
    assert findings[1].what.startswith("Cache-Control: no-transform did not come through")


def test_another_content_type_is_a_problem() -> None:
    relay = with_head(lambda head: head.replace(b"text/event-stream", b"text/plain"))
    assert problems(seen_through(relay)) == ["the Content-Type became text/plain: browsers refuse it"]


def test_a_gateway_that_asks_for_a_token_gets_one() -> None:
    config = config_for("http://127.0.0.1:9/v1", server={"tokens": ["sesame"]})
    assert seen_through(passed_on, config=config).status == 401
    assert diagnose(seen_through(passed_on, config=config, token="sesame")) == ()


def test_an_address_where_nothing_answers_is_a_problem() -> None:
    async def main() -> Observation:
        async with httpx.AsyncClient() as client, proxy_before(("127.0.0.1", 9), passed_on) as url:
            gone = url
        async with httpx.AsyncClient() as client:
            return await observe(client, self_test_url(gone))

    seen = run_virtual(main())
    assert seen.status is None
    assert problems(seen) == ["nothing answers there"]


def answered(*args: Any, **more: Any) -> Observation:
    """What is seen of a server that answers so."""

    async def main() -> Observation:
        transport = httpx.MockTransport(lambda _: httpx.Response(*args, **more))
        async with httpx.AsyncClient(transport=transport) as client:
            return await observe(client, self_test_url("http://proxy.example"))

    return run_virtual(main())


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (404, "status 404, and not from an rxstream gateway"),
        (200, "status 200, and not from an rxstream gateway"),
        (301, "status 301, and not from an rxstream gateway"),
        (502, "status 502: the proxy does not reach the gateway"),
        (403, "status 403: who asks under this name is not let in"),
        (429, "the gateway runs as many self-tests as it may"),
    ],
)
def test_an_answer_that_is_not_the_gateways_is_a_problem(status: int, why: str) -> None:
    assert problems(answered(status, text="<html>")) == [why]


ODD = 'data: {"n":1,"of":10,"at_ms":%s,"http":"%s"}\n\n'


@pytest.mark.parametrize(
    "text",
    [
        "data: {}\n\n",
        'data: {"n": "x"}\n\n',
        "data: [" + "[" * 500 + "\n\n",
        ODD % ("0", "\\u001b[2J"),
        ODD % ("-1", "1.1"),
        ODD % ("NaN", "1.1"),
        ODD % ("1e300", "1.1"),
    ],
)
def test_frames_of_something_else_are_a_problem(text: str) -> None:
    found = problems(answered(200, headers={MARK: "1", "content-type": "text/event-stream"}, text=text))
    assert found == ["the stream was cut off after 0 of 10 frames: what came is not the self-test's frames"]


def test_frames_in_another_order_are_a_problem() -> None:
    text = "".join(f'data: {{"n":{number},"of":10,"at_ms":{number},"http":"1.1"}}\n\n' for number in (1, 3, 2))
    found = problems(answered(200, headers={MARK: "1", "content-type": "text/event-stream"}, text=text))
    assert found == ["the stream was cut off after 1 of 10 frames: the frames do not come in their order"]


def test_an_answer_without_end_is_not_read_for_ever() -> None:
    seen = answered(200, headers={MARK: "1", "content-type": "text/event-stream"}, text=": x\n" * 100_000)
    assert seen.problem == "it sends more than a self-test"


def test_a_slow_way_there_is_said_and_no_problem() -> None:
    arrivals = tuple(Arrival(sent / 5, 2 + sent / 5) for sent in range(5))
    headers = {
        MARK: "1",
        "content-type": "text/event-stream",
        "cache-control": "no-transform",
        "x-accel-buffering": "no",
    }
    seen = Observation("u", 5, 0.2, 200, headers, "HTTP/1.1", "1.1", 2.0, 2.0, arrivals)
    assert diagnose(seen) == (
        Finding(False, "the first byte took 2.00 s, though it was sent at once: the way there is slow"),
    )


@pytest.mark.parametrize(
    ("said", "url"),
    [
        ("http://h.example", "http://h.example/healthz/stream"),
        ("h.example:8080", "http://h.example:8080/healthz/stream"),
        ("https://h.example/v1", "https://h.example/healthz/stream"),
        ("https://h.example/models/v1/", "https://h.example/models/healthz/stream"),
        ("https://h.example/models/v1/chat/completions?x=1#y", "https://h.example/models/healthz/stream"),
        ("https://h.example/healthz/stream", "https://h.example/healthz/stream"),
    ],
)
def test_the_self_test_stands_beside_the_apis(said: str, url: str) -> None:
    assert self_test_url(said) == url


@pytest.mark.parametrize("said", ["ftp://h.example", "http://", "", "http://[::1", "http://h:port", "http://h:65536"])
def test_what_is_no_address_is_refused(said: str) -> None:
    with pytest.raises(DoctorError, match="such as https://"):
        self_test_url(said)


@pytest.mark.parametrize(
    "query", ["n=0", "n=51", "n=-1", "n=x", "n=1e3", "n=٣", "interval_ms=0", "interval_ms=1001", "n="]
)
def test_the_self_test_is_bounded(query: str) -> None:
    async def main() -> httpx.Response:
        async with client_of(create_app(CONFIG)) as client:
            return await client.get(f"/healthz/stream?{query}")

    response = run_virtual(main())
    assert response.status_code == 400
    assert "must be a whole number" in response.text


def test_only_so_many_self_tests_run_at_once_and_one_that_ends_makes_room() -> None:
    async def main() -> list[int]:
        async with running(CONFIG) as gateway, httpx.AsyncClient(base_url=gateway.base_url) as client:
            waiting = [client.build_request("GET", "/healthz/stream?n=50") for _ in range(MAX_STREAMS)]
            responses = [await client.send(request, stream=True) for request in waiting]
            refused = await client.get("/healthz/stream?n=1")
            assert refused.headers["retry-after"]
            for response in responses:
                await response.aread()
            again = await client.get("/healthz/stream?n=1")
            return [response.status_code for response in (*responses, refused, again)]

    assert run_virtual(main()) == [*[200] * MAX_STREAMS, 429, 200]


def test_a_self_test_whose_client_left_makes_room() -> None:
    async def main() -> int:
        async with running(CONFIG) as gateway, httpx.AsyncClient(base_url=gateway.base_url) as client:
            for _ in range(2 * MAX_STREAMS):
                async with client.stream("GET", "/healthz/stream?n=50&interval_ms=1000") as response:
                    async for _ in response.aiter_bytes():
                        break
                await client.get("/healthz")
            return (await client.get("/healthz/stream?n=1")).status_code

    assert run_virtual(main()) == 200


def test_a_self_test_ends_when_the_gateway_does() -> None:
    async def main() -> tuple[str, float]:
        async with httpx.AsyncClient() as client:
            async with running(CONFIG) as gateway:
                test = f"{gateway.base_url}/healthz/stream?n=50&interval_ms=1000"
                async with client.stream("GET", test) as response:
                    pieces = response.aiter_text()
                    first = await anext(pieces)
                    gateway.gateway.slots.is_closed = True
                    rest = [piece async for piece in pieces]
                    return first + "".join(rest), asyncio.get_running_loop().time()

    text, seconds = run_virtual(main())
    assert text == 'data: {"n":1,"of":50,"at_ms":0,"http":"1.1"}\n\n'
    assert seconds < 2


def test_the_self_test_has_nothing_in_it_but_times() -> None:
    async def main() -> httpx.Response:
        async with client_of(create_app(CONFIG)) as client:
            return await client.get(f"{LOOPBACK}/healthz/stream?n=2&interval_ms=50")

    response = run_virtual(main())
    assert response.text == (
        'data: {"n":1,"of":2,"at_ms":0,"http":"1.1"}\n\ndata: {"n":2,"of":2,"at_ms":50,"http":"1.1"}\n\n'
    )
    assert response.headers["x-accel-buffering"] == "no"
