"""What a scripted provider sends is what a real HTTP client reads, for every way of telling a body's end."""

from __future__ import annotations

import asyncio
import gzip
import socket
import zlib
from types import ModuleType

import pytest

from rxstream.testing import (
    Close,
    Drip,
    Pause,
    Raw,
    Repeat,
    Reply,
    RequestRecord,
    Script,
    ScriptedProvider,
    Send,
    Wait,
    assert_no_leaks,
    error_reply,
    json_reply,
    run,
    run_virtual,
)
from rxstream.testing.record import Request
from rxstream.testing.script import BodyFraming
from rxstream.testing.steps import ReplyWriter
from tests.testing.clients import HTTP_CLIENTS, bare_socket, make_client, read_to_end, read_until, send

BODY = [Send(b"data: one\n\n"), Send(b"data: two\n\n")]
WHOLE = b"data: one\n\ndata: two\n\n"

both_clients = pytest.mark.parametrize("http", HTTP_CLIENTS, ids=lambda module: str(module.__name__))


async def raw_answer(
    reply: Reply, request: bytes = b"GET / HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n"
) -> bytes:
    """Everything that a client which closes after one answer reads, head included."""
    async with ScriptedProvider(reply) as provider, bare_socket(provider.address) as connection:
        await send(connection, request)
        return await read_to_end(connection)


@both_clients
def test_each_send_is_one_http_chunk(http: ModuleType) -> None:
    async def main() -> None:
        async with ScriptedProvider(Reply(BODY)) as provider, make_client(http) as client:
            async with client.stream("GET", provider.base_url) as response:
                chunks = [chunk async for chunk in response.aiter_raw()]
            assert response.status_code == 200
            assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
            assert response.headers["transfer-encoding"] == "chunked"
            assert chunks == [b"data: one\n\n", b"data: two\n\n"]

    run(main())


@both_clients
@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
@pytest.mark.parametrize("encoding", [None, "gzip", "deflate"])
def test_a_body_arrives_whole_however_it_is_framed_and_compressed(
    http: ModuleType, framing: BodyFraming, encoding: str | None
) -> None:
    async def main() -> None:
        reply = Reply(BODY, framing=framing, encoding=encoding)  # type: ignore[arg-type]  # parametrized with its values
        async with ScriptedProvider(reply) as provider, make_client(http) as client:
            response = await client.get(provider.base_url)
            assert response.content == WHOLE
            assert response.headers.get("content-encoding") == encoding
            assert ("content-length" in response.headers) == (framing == "length")

    run(main())


@pytest.mark.parametrize(("encoding", "unpack"), [("gzip", gzip.decompress), ("deflate", zlib.decompress)])
def test_a_compressed_body_is_what_other_tools_unpack(encoding: str, unpack: type[bytes]) -> None:
    async def main() -> None:
        answer = await raw_answer(Reply(BODY, framing="length", encoding=encoding))  # type: ignore[arg-type]
        assert unpack(answer.partition(b"\r\n\r\n")[2]) == WHOLE

    run(main())


def test_each_compressed_piece_can_be_unpacked_before_the_next_is_sent() -> None:
    async def main() -> None:
        go_on = asyncio.Event()
        reply = Reply([Send(b"first"), Wait(go_on), Send(b"second")], encoding="gzip", framing="close")
        async with ScriptedProvider(reply) as provider, bare_socket(provider.address) as connection:
            await send(connection)
            # A flush ends with an empty stored block (RFC 1951, 3.2.4), so its last bytes are known.
            first = await read_until(connection, b"\x00\x00\xff\xff")
            unpack = zlib.decompressobj(wbits=31)
            assert unpack.decompress(first.partition(b"\r\n\r\n")[2]) == b"first"
            go_on.set()
            assert unpack.decompress(await read_to_end(connection)) == b"second"

    run(main())


def test_a_head_is_sent_before_the_body_exists() -> None:
    async def main() -> None:
        go_on = asyncio.Event()
        reply = Reply([Wait(go_on), Send(b"late")], status=201, headers={"X-Request-Id": "r1"}, content_type=None)
        async with ScriptedProvider(reply) as provider, bare_socket(provider.address) as connection:
            await send(connection)
            head = await read_until(connection, b"\r\n\r\n")
            assert head == b"HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\nx-request-id: r1\r\n\r\n"
            go_on.set()
            assert await read_until(connection, b"0\r\n\r\n") == b"4\r\nlate\r\n0\r\n\r\n"

    run(main())


def test_steps_before_the_head_hold_it_back() -> None:
    async def main() -> None:
        go_on = asyncio.Event()
        reply = Reply(BODY, before_head=[Wait(go_on)])
        async with ScriptedProvider(reply) as provider, bare_socket(provider.address) as connection:
            await send(connection)
            record = await provider.request()
            assert record.bytes_sent == 0
            go_on.set()
            assert (await read_until(connection, b"0\r\n\r\n")).startswith(b"HTTP/1.1 200 OK\r\n")

    run(main())


def test_a_header_of_the_script_replaces_the_servers_own() -> None:
    async def main() -> None:
        answer = await raw_answer(Reply(BODY, headers={"Content-Type": "text/html"}))
        assert answer.count(b"content-type") == 1
        assert b"content-type: text/html\r\n" in answer

    run(main())


def test_raw_bytes_pass_the_framing() -> None:
    async def main() -> None:
        answer = await raw_answer(Reply([Raw(b"zz\r\nno chunk"), Send(b"x")]))
        assert answer.endswith(b"\r\n\r\nzz\r\nno chunk1\r\nx\r\n0\r\n\r\n")

    run(main())


def test_a_head_request_gets_the_head_alone() -> None:
    async def main() -> None:
        answer = await raw_answer(Reply(BODY), b"HEAD / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert answer.endswith(b"\r\n\r\n")
        assert b"data: one" not in answer

    run(main())


def test_a_status_without_a_body_sends_none() -> None:
    async def main() -> None:
        assert await raw_answer(Reply(status=204, content_type=None)) == (
            b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n"
        )

    run(main())


@both_clients
def test_a_connection_is_used_again(http: ModuleType) -> None:
    async def main() -> None:
        async with ScriptedProvider([Reply(BODY), json_reply({"a": 1}), Reply(BODY)]) as provider:
            async with make_client(http) as client:
                for _ in range(3):
                    await client.get(provider.base_url)
                await provider.wait_until(lambda: provider.idle_connections == 1)
                assert provider.open_connections == 1
            assert [record.connection for record in provider.requests] == [1, 1, 1]
            await provider.wait_until(lambda: provider.open_connections == 0)

    run(main())


@pytest.mark.parametrize(
    "reply",
    [
        Reply(BODY, keep_alive=False),
        Reply(BODY, framing="close"),
        Reply(BODY, http_version="1.0"),
        Reply([*BODY, Close()]),
    ],
    ids=["says so", "body ends with it", "HTTP/1.0", "close step"],
)
def test_a_connection_is_not_used_again(reply: Reply) -> None:
    async def main() -> None:
        async with ScriptedProvider(reply) as provider, make_client(HTTP_CLIENTS[0]) as client:
            for _ in range(2):
                assert (await client.get(provider.base_url)).content == WHOLE
                await provider.wait_until(lambda: provider.open_connections == 0)
            assert [record.connection for record in provider.requests] == [1, 2]

    run(main())


def test_pipelined_requests_are_answered_in_order() -> None:
    async def main() -> None:
        def echo(request: Request) -> Reply:
            return Reply([Send(request.path.encode())], framing="length", content_type=None)

        async with ScriptedProvider(echo) as provider, bare_socket(provider.address) as connection:
            await send(
                connection, b"GET /1 HTTP/1.1\r\nhost: a\r\n\r\nGET /2 HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
            )
            answers = await read_to_end(connection)
            assert answers.index(b"/1") < answers.index(b"/2")

    run(main())


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
def test_a_client_of_http_1_0_gets_no_chunks(version: bytes) -> None:
    async def main() -> None:
        request = b"GET / HTTP/%b\r\nhost: a\r\nconnection: close\r\n\r\n" % version
        body = (await raw_answer(Reply(BODY), request)).partition(b"\r\n\r\n")[2]
        assert (body == WHOLE) == (version == b"1.0")

    run(main())


@both_clients
def test_replies_are_chosen_by_path_and_in_order(http: ModuleType) -> None:
    async def main() -> None:
        script: Script = {"/one": Reply([Send(b"1")]), "/many": [Reply([Send(b"first")]), error_reply(429)]}
        async with ScriptedProvider(script) as provider, make_client(http) as client:
            answers = [await client.get(provider.base_url + path) for path in ("/many", "/one?x=1", "/one", "/many")]
            assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
            assert [answer.content for answer in answers[:3]] == [b"first", b"1", b"1"]
            assert provider.requests[1].path == "/one"
            assert provider.requests[1].request.query == "x=1"
            assert (await client.get(provider.base_url + "/none")).status_code == 404
            assert (await client.get(provider.base_url + "/many")).status_code == 500

    run(main())


def test_an_error_reply_has_a_json_body_and_its_headers() -> None:
    async def main() -> None:
        reply = error_reply(429, {"error": {"code": "slow_down"}}, headers={"retry-after": "2"})
        async with ScriptedProvider(reply) as provider, make_client(HTTP_CLIENTS[0]) as client:
            response = await client.get(provider.base_url)
            assert response.json() == {"error": {"code": "slow_down"}}
            assert response.headers["retry-after"] == "2"
            assert response.headers["content-type"] == "application/json"
            assert response.headers["content-length"] == str(len(response.content))

    run(main())


@both_clients
def test_a_request_is_recorded_whole(http: ModuleType) -> None:
    async def main() -> None:
        async with ScriptedProvider(Reply(BODY)) as provider, make_client(http) as client:
            await client.post(f"{provider.base_url}/v1/chat?a=1", json={"model": "m"}, headers={"X-Key": "k"})
            record = provider.requests[0]
            assert (record.method, record.path, record.request.target) == ("POST", "/v1/chat", "/v1/chat?a=1")
            assert record.headers["x-key"] == "k"
            assert record.json() == {"model": "m"}
            assert "k" not in repr(record.request).split("'")  # keys stay out of a failed assertion's text

    run(main())


def test_a_chunked_request_body_is_recorded() -> None:
    async def main() -> None:
        async def pieces() -> object:
            yield b"ab"
            yield b"cd"

        async with ScriptedProvider(Reply(BODY)) as provider, make_client(HTTP_CLIENTS[0]) as client:
            await client.post(provider.base_url, content=pieces())
            assert provider.requests[0].body == b"abcd"

    run(main())


def test_a_body_over_the_bound_is_counted_and_cut() -> None:
    async def main() -> None:
        async with ScriptedProvider(Reply(BODY), max_body_bytes=10) as provider, make_client(HTTP_CLIENTS[0]) as client:
            await client.post(provider.base_url, content=b"x" * 300_000)
            assert provider.requests[0].body == b"x" * 10
            assert provider.requests[0].request.body_bytes == 300_000

    run(main())


def test_a_client_that_expects_100_continue_gets_it() -> None:
    async def main() -> None:
        async with ScriptedProvider(Reply(BODY)) as provider, bare_socket(provider.address) as connection:
            await send(connection, b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\nexpect: 100-continue\r\n\r\n")
            assert await read_until(connection, b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
            await send(connection, b"hi")
            await read_until(connection, b"0\r\n\r\n")
            assert provider.requests[0].body == b"hi"

    run(main())


@pytest.mark.parametrize("garbage", [b"\x16\x03\x01\x02\x00\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 20_000])
def test_what_is_no_request_is_refused(garbage: bytes) -> None:
    async def main() -> None:
        async with ScriptedProvider(Reply(BODY)) as provider, bare_socket(provider.address) as connection:
            await send(connection, garbage)
            assert (await read_until(connection, b"\r\n\r\n")).startswith(b"HTTP/1.1 400 ")
            assert provider.requests == ()

    run(main())


def test_old_records_are_forgotten() -> None:
    async def main() -> None:
        async with ScriptedProvider(Reply(BODY), max_records=2) as provider, make_client(HTTP_CLIENTS[0]) as client:
            for number in range(3):
                await client.get(f"{provider.base_url}/{number}")
            assert [record.path for record in provider.requests] == ["/1", "/2"]

    run(main())


def test_a_record_follows_its_answer() -> None:
    async def main() -> None:
        go_on = asyncio.Event()
        reply = Reply([Send(b"a"), Wait(go_on), Send(b"b")])
        async with ScriptedProvider(reply) as provider, bare_socket(provider.address) as connection:
            await send(connection)
            record: RequestRecord = await provider.request(0)
            await provider.wait_until(lambda: record.steps_done == 1)
            assert not record.finished.is_set()
            go_on.set()
            answer = await read_until(connection, b"0\r\n\r\n")
            await record.finished.wait()
            assert record.steps_done == 3
            assert record.bytes_sent == len(answer)
            assert record.arrived_at < (record.finished_at or 0)

    run(main())


def test_a_reply_is_finished_as_soon_as_its_last_byte_was_taken() -> None:
    async def main() -> None:
        reply = Reply([Send(b"a"), Send(b"last")], framing="length", content_type=None)
        async with ScriptedProvider(reply) as provider, bare_socket(provider.address) as connection:
            await send(connection)
            record = await provider.request()
            await provider.wait_until(
                lambda: record.bytes_sent == len(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nalast")
            )
            assert record.finished.is_set()
            await read_until(connection, b"alast")

    run(main())


def test_a_drip_and_a_pause_take_their_time_on_the_loops_clock() -> None:
    async def main() -> float:
        reply = Reply([Drip(b"abcde", size=2, every_seconds=10), Pause(3600)])
        async with ScriptedProvider(reply) as provider, make_client(HTTP_CLIENTS[0]) as client:
            async with client.stream("GET", provider.base_url) as response:
                assert [chunk async for chunk in response.aiter_raw()] == [b"ab", b"cd", b"e"]
        return asyncio.get_running_loop().time()

    assert run_virtual(main()) == 3630


def test_a_repeat_sends_so_many_numbered_pieces() -> None:
    async def main() -> None:
        reply = Reply([Repeat(lambda number: b"%d," % number, times=4)], framing="length")
        async with ScriptedProvider(reply) as provider, make_client(HTTP_CLIENTS[0]) as client:
            assert (await client.get(provider.base_url)).content == b"0,1,2,3,"

    run(main())


def test_a_step_of_ones_own_is_any_object_that_plays() -> None:
    class Twice:
        async def play(self, reply: ReplyWriter) -> None:
            await reply.send(b"x")
            await reply.send(b"x")

    async def main() -> None:
        async with ScriptedProvider(Reply([Twice()])) as provider, make_client(HTTP_CLIENTS[0]) as client:
            assert (await client.get(provider.base_url)).content == b"xx"

    run(main())


def test_what_a_script_raises_is_raised_at_the_end_of_the_block() -> None:
    def broken(request: Request) -> Reply:
        raise LookupError("no reply for this")

    async def main() -> None:
        async with ScriptedProvider(broken) as provider, bare_socket(provider.address) as connection:
            await send(connection)
            assert await read_to_end(connection) == b""

    with pytest.raises(LookupError, match="no reply for this"):
        run(main())


def test_what_a_step_raises_is_raised_at_the_end_of_the_block() -> None:
    async def main() -> None:
        reply = Reply([Repeat(lambda number: [b"only one"][number])])
        async with ScriptedProvider(reply) as provider, bare_socket(provider.address) as connection:
            await send(connection)
            assert (await read_to_end(connection)).endswith(b"\r\nonly one\r\n")

    with pytest.raises(IndexError):
        run(main())


def test_the_blocks_own_exception_wins_over_the_scripts() -> None:
    def broken(request: Request) -> Reply:
        raise LookupError

    async def main() -> None:
        async with ScriptedProvider(broken) as provider, bare_socket(provider.address) as connection:
            await send(connection)
            await read_to_end(connection)
            raise KeyError("the test's own")

    with pytest.raises(KeyError, match="the test's own"):
        run(main())


def test_a_condition_that_raises_fails_the_one_who_waits() -> None:
    async def main() -> None:
        async with ScriptedProvider(Reply(BODY)) as provider, make_client(HTTP_CLIENTS[0]) as client:

            def is_there() -> bool:
                return bool(provider.requests) and [True][len(provider.requests)]

            waiting = asyncio.create_task(provider.wait_until(is_there))
            await asyncio.sleep(0)
            assert (await client.get(provider.base_url)).content == WHOLE
            with pytest.raises(IndexError):
                await waiting

    run(main())


def test_nothing_is_left_when_the_block_ends_with_clients_connected() -> None:
    async def main() -> None:
        async with assert_no_leaks():
            async with ScriptedProvider(Reply([Send(b"x"), Pause(60)])) as provider:
                async with bare_socket(provider.address) as active, bare_socket(provider.address):
                    await send(active)
                    await provider.request()
                    await provider.wait_until(lambda: provider.open_connections == 2)

    run(main())


@pytest.mark.parametrize("turns", range(4))
def test_nothing_is_left_of_a_connection_that_was_just_accepted(turns: int) -> None:
    async def main() -> None:
        async with assert_no_leaks():
            async with ScriptedProvider(Reply(BODY)) as provider:
                # Connected without the loop, so that the first turn accepts and the second would begin to serve.
                with socket.create_connection(provider.address):
                    for _ in range(turns):
                        await asyncio.sleep(0)

    run(main())


def test_the_address_is_known_inside_the_block_only() -> None:
    with pytest.raises(RuntimeError, match="async with"):
        _ = ScriptedProvider(Reply()).base_url


@pytest.mark.parametrize(
    "options",
    [
        {"framing": "chunked", "http_version": "1.0"},
        {"framing": "chunked", "content_length": 3},
        {"framing": "length", "steps": [Repeat(lambda number: b"x")]},
    ],
    ids=["chunks in HTTP/1.0", "chunks and a length", "endless and a length"],
)
def test_a_reply_that_cannot_be_is_refused_where_it_is_made(options: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        Reply(**options)  # type: ignore[arg-type]  # wrong on purpose
