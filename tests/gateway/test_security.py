"""Who may use the gateway."""

from __future__ import annotations

import hmac
import logging
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from rxstream.gateway.app import create_app
from rxstream.gateway.config import ServerConfig, SettingError
from rxstream.gateway.security import Security, configured_tokens, is_loopback_host
from rxstream.gateway.serve import check_exposure
from rxstream.testing import answer, run

from .kit import ASK, CHAT, MESSAGES, asking, client_of, config_for

TOKEN = "rx-planted-token-1"
TOKENS = {"tokens": [TOKEN, "rx-other"]}


def statuses(requests: list[tuple[str, dict[str, str]]], **server: Any) -> list[int]:
    """The status of each request; a chat or messages path is asked, any other fetched."""

    async def main() -> list[int]:
        async with asking(answer("hi"), server=server) as (client, _):
            return [await status(client, path, headers) for path, headers in requests]

    return run(main())


async def status(client: httpx.AsyncClient, path: str, headers: dict[str, str]) -> int:
    asked = ASK.get(path)
    said = await (
        client.get(path, headers=headers) if asked is None else client.post(path, json=asked, headers=headers)
    )
    return said.status_code


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": f"Bearer {TOKEN}"},
        {"authorization": f"bearer  {TOKEN} "},
        {"authorization": "Bearer rx-other"},
        {"x-api-key": TOKEN},
        {"api-key": TOKEN},
        {"authorization": "Bearer wrong", "x-api-key": TOKEN},
    ],
)
def test_a_token_opens_in_each_of_the_ways_that_clients_have(headers: dict[str, str]) -> None:
    assert statuses(
        [(CHAT, headers), (MESSAGES, headers), ("/v1/models", headers), ("/metrics", headers)], **TOKENS
    ) == [
        200,
        200,
        200,
        200,
    ]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": TOKEN},
        {"authorization": f"Basic {TOKEN}"},
        {"authorization": "Bearer "},
        {"authorization": f"Bearer {TOKEN[:-1]}"},
        {"authorization": f"Bearer {TOKEN}x"},
        {"x-api-key": "wrong"},
        {"cookie": f"token={TOKEN}"},
    ],
)
def test_nothing_else_opens(headers: dict[str, str]) -> None:
    paths = [CHAT, MESSAGES, "/v1/models", "/metrics", "/v1/nothing", "/openapi.json", "/staticx", "/healthz/"]
    assert statuses([(path, headers) for path in paths], **TOKENS) == [401] * len(paths)


def test_the_time_of_a_refusal_tells_nothing_of_the_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    class Said(bytes):
        """What a client sent, which nobody may compare in any other way."""

        def __eq__(self, other: object) -> bool:
            raise AssertionError("a comparison that ends at the first byte that differs")

        __hash__ = None  # type: ignore[assignment]

    compared: list[tuple[bytes, bytes]] = []

    def compare(said: bytes, known: bytes) -> bool:
        compared.append((bytes(said), bytes(known)))
        return equal(said, known)

    async def main(said: bytes) -> int:
        app = Security(PlainTextResponse("in"), ServerConfig(), ("first", "second"))
        scope = {"type": "http", "path": "/v1/models", "headers": [(b"host", b"x"), (b"x-api-key", Said(said))]}
        statuses: list[int] = []

        async def receive() -> Any:
            return {"type": "http.request"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        await app(scope, receive, send)
        return statuses[0]

    equal = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", compare)
    for said, status in ((b"first", 200), (b"second", 200), (b"third", 401)):
        compared.clear()
        assert run(main(said)) == status
        assert compared == [(said, b"first"), (said, b"second")]  # also behind one that is equal


def test_a_gateway_inside_another_application_is_the_same() -> None:
    async def main() -> None:
        gateway = create_app(config_for("http://127.0.0.1:9", server=TOKENS))
        outer = Starlette(routes=[Mount("/models", gateway)])
        async with client_of(outer) as client:
            assert (await client.get("/models/healthz")).status_code == 200
            assert (await client.get("/models/v1/models")).status_code == 401
            said = await client.post(f"/models{MESSAGES}", json=ASK[MESSAGES])
            assert (said.status_code, said.json()["type"]) == (401, "error")
            listed = await client.get("/models/v1/models", headers={"x-api-key": TOKEN})
            assert listed.json()["data"][0]["id"] == "m"
        await gateway.state.gateway.aclose()

    run(main())


def test_probes_need_no_token() -> None:
    assert statuses([("/healthz", {}), ("/readyz", {})], **TOKENS) == [200, 200]


def test_a_refusal_is_in_the_clients_words_and_tells_nothing() -> None:
    async def main() -> None:
        async with asking(answer("hi"), server=TOKENS) as (client, _):
            said = await client.post(MESSAGES, json=ASK[MESSAGES], headers={"x-api-key": "wrong-secret"})
            assert said.status_code == 401
            assert said.headers["www-authenticate"] == "Bearer"
            assert said.json()["error"]["type"] == "authentication_error"
            assert "wrong-secret" not in said.text
            assert TOKEN not in said.text

    run(main())


def test_tokens_come_from_the_variable_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKENS", " a,b ,")
    assert configured_tokens(ServerConfig.model_validate({"tokens": ["c"], "tokens_env": "SOME_TOKENS"})) == (
        "c",
        "a",
        "b",
    )
    monkeypatch.setenv("SOME_TOKENS", " ,")
    with pytest.raises(ValueError, match="the variable SOME_TOKENS is not set"):
        configured_tokens(ServerConfig(tokens_env="SOME_TOKENS"))


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1:8787", 200),
        ("localhost:8787", 200),
        ("LOCALHOST", 200),
        ("app.localhost", 200),
        ("[::1]:80", 200),
        ("127.1.2.3", 200),
        ("evil.example", 403),
        ("evil.example:8787", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost.evil.example", 403),
        ("10.0.0.1", 403),
        ("0.0.0.0", 403),
        ("[::]", 403),
        ("mine.example:1", 200),
    ],
)
def test_without_tokens_the_host_must_be_this_machine(host: str, expected: int) -> None:
    requests = [(path, {"host": host}) for path in (CHAT, "/v1/models", "/healthz")]
    assert statuses(requests, allowed_hosts=["mine.example"]) == [expected] * 3


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("http://127.0.0.1", 200),
        ("http://127.0.0.1:9", 403),
        ("https://evil.example", 403),
        ("null", 403),
        ("http://[", 403),
        ("http://]127.0.0.1", 403),
        ("http://dev.example:3000", 200),
        ("HTTP://DEV.example:3000", 200),
    ],
)
def test_without_tokens_a_page_must_be_ours_or_allowed(origin: str, expected: int) -> None:
    requests = [(path, {"origin": origin}) for path in (CHAT, "/v1/models")]
    assert statuses(requests, allowed_origins=["http://dev.example:3000/"]) == [expected] * 2


def test_with_tokens_host_and_origin_are_free() -> None:
    headers = {"host": "gateway.example", "origin": "https://app.example", "x-api-key": TOKEN}
    assert statuses([(CHAT, headers)], **TOKENS) == [200]


def test_a_page_that_is_allowed_may_read_the_answer() -> None:
    async def main() -> None:
        origin = "http://dev.example:3000"
        async with asking(answer("hi"), server={"allowed_origins": [origin]}) as (client, _):
            asks = {"origin": origin, "access-control-request-method": "POST"}
            before = await client.options(CHAT, headers={**asks, "access-control-request-headers": "content-type"})
            assert before.headers["access-control-allow-origin"] == origin
            said = await client.post(CHAT, json=ASK[CHAT], headers={"origin": origin})
            assert said.headers["access-control-allow-origin"] == origin
            assert "x-request-id" in said.headers["access-control-expose-headers"]
            other = await client.options(CHAT, headers={**asks, "origin": "http://evil.example"})
            assert "access-control-allow-origin" not in other.headers

    run(main())


def test_a_websocket_of_another_page_is_refused() -> None:
    socket = TestClient(create_app(config_for("http://127.0.0.1:9")), base_url="http://127.0.0.1")
    with pytest.raises(WebSocketDisconnect) as caught:
        with socket.websocket_connect("/page/socket", headers={"origin": "https://evil.example"}):
            pass
    assert caught.value.code == 1008


def test_a_websocket_says_its_token_as_a_subprotocol() -> None:
    app = create_app(config_for("http://127.0.0.1:9", server=TOKENS))
    page = TestClient(app)
    for protocols in ([], ["rxstream.token.zz"], ["rxstream.token." + b"wrong".hex()]):
        with pytest.raises(WebSocketDisconnect) as caught:
            with page.websocket_connect("/page/socket", subprotocols=protocols):
                pass
        assert caught.value.code == 1008
    good = ["rxstream.token." + TOKEN.encode().hex()]
    with page.websocket_connect("/page/socket", subprotocols=good, headers={"origin": "http://testserver"}) as open_:
        assert open_.receive_json()["type"] == "ready"
    with pytest.raises(WebSocketDisconnect):
        with page.websocket_connect("/page/socket", subprotocols=good, headers={"origin": "http://evil.example"}):
            pass


@pytest.mark.parametrize(
    ("server", "problem"),
    [
        ({"host": "0.0.0.0"}, "needs tokens: set RXSTREAM_TOKENS"),
        ({"host": "::"}, "needs tokens"),
        ({"host": "gateway.example"}, "needs tokens"),
        ({"allowed_origins": ["*"]}, "lets every web page use the gateway"),
        ({"host": "0.0.0.0", **TOKENS}, None),
        ({"allowed_origins": ["*"], **TOKENS}, None),
        ({"host": "localhost"}, None),
        ({"host": "::1"}, None),
    ],
)
def test_where_others_reach_it_a_gateway_without_tokens_does_not_start(
    server: dict[str, Any], problem: str | None
) -> None:
    if problem is None:
        check_exposure(ServerConfig.model_validate(server))
        return
    with pytest.raises(SettingError, match=problem):
        check_exposure(ServerConfig.model_validate(server))


def test_loopback_is_told_from_names_that_look_like_it() -> None:
    assert [is_loopback_host(host) for host in ("127.0.0.1", "::1", "localhost")] == [True] * 3
    assert [is_loopback_host(host) for host in ("localhost.x", "127.0.0.1.x", "", "0.0.0.0", "128.0.0.1")] == [
        False
    ] * 5


def test_nothing_secret_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    headers = {"authorization": "Bearer sk-planted-wrong"}

    async def main() -> None:
        async with asking(answer("planted answer"), server=TOKENS) as (client, _):
            await client.post(CHAT, json=ASK[CHAT], headers=headers)
            question = {
                **ASK[CHAT],
                "messages": [{"role": "user", "content": "planted question"}],
                "model": "planted-name",
            }
            await client.post(CHAT, json=question, headers={"x-api-key": TOKEN})
            await client.post(CHAT, json={**question, "model": "m"}, headers={"x-api-key": TOKEN})

    run(main())
    ours = [record for record in caplog.records if record.name.startswith("rxstream")]
    assert len([record for record in ours if record.getMessage() == "request"]) == 2
    assert "planted" not in "".join(str(vars(record)) for record in ours)
