"""`rxstream doctor`: what it says of a proxy, and its exit codes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from .conftest import CommandLine

HEADERS = {
    "content-type": "text/event-stream",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
    "x-rxstream-self-test": "1",
}

FRAME = 'data: {"n":%d,"of":2,"at_ms":%d,"http":"1.1"}\n\n'
AT_ONCE = (FRAME % (1, 0) + FRAME % (2, 0)).encode()
HELD = (FRAME % (1, 0) + FRAME % (2, 900)).encode()


@contextmanager
def answering(status: int, body: bytes = b"") -> Iterator[str]:
    """A server that answers everything at once; its address. Frames that say they were sent apart were held back."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(status)
            for name, value in {**HEADERS, "content-length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_frames_that_pass_as_they_are_sent_are_good(rxstream: CommandLine) -> None:
    with answering(200, AT_ONCE) as url:
        done = rxstream("doctor", f"{url}/v1", "--frames", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{url}/healthz/stream: 2 frames, 0.2 s apart\n")
    assert done.stdout.endswith("good: frames pass as they are sent\n")


def test_frames_that_are_held_back_are_a_problem_with_what_to_change(rxstream: CommandLine) -> None:
    with answering(200, HELD) as url:
        done = rxstream("doctor", url, "--frames", "2")
    assert done.returncode == 3
    assert "problem: frames are held back, up to 0.90 s: 2 came all at once\n" in done.stdout
    assert "  - nginx: `proxy_buffering off; proxy_http_version 1.1;`" in done.stdout
    assert "good" not in done.stdout


def test_an_address_where_nothing_answers_is_bad(rxstream: CommandLine) -> None:
    with answering(200) as url:
        gone = url
    done = rxstream("doctor", gone.replace("http://", "http://user:secret@"))
    assert done.returncode == 3
    assert "problem: nothing answers there" in done.stdout
    assert "secret" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["ftp://h.example"], "it must be an http or https address"),
        (["http://h.example", "--token-env", "NOT_SET"], "the variable NOT_SET is not set"),
        (["http://h.example", "--frames", "1"], "frames"),
        ([], "url"),
    ],
)
def test_wrong_use_is_said(rxstream: CommandLine, arguments: list[str], why: str) -> None:
    done = rxstream("doctor", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert why in done.stderr


def test_a_gateway_that_asks_for_a_token_is_wrong_use(rxstream: CommandLine) -> None:
    with answering(401) as url:
        done = rxstream("doctor", url)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--token-env" in done.stderr


def test_a_token_that_the_gateway_does_not_know_is_not_asked_for_again(rxstream: CommandLine) -> None:
    with answering(401) as url:
        done = rxstream("doctor", url, "--token-env", "MINE", env={"MINE": "wrong"})
    assert (done.returncode, done.stdout) == (2, "")
    assert "does not know the token in MINE" in done.stderr
    assert "--token-env" not in done.stderr
