"""Whether what stands before a gateway passes its streams on as they come.

`observe` asks the gateway for its self-test through the proxy and notes when each frame arrived; `diagnose` says what
that means, and what to change. Each frame says when it was sent, on the gateway's clock: how much longer one took than
the quickest is how long it was held back, whatever the two clocks say and however far it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import httpx
from pydantic import BaseModel, Field, ValidationError

from rxstream.errors import StreamError
from rxstream.framing.sse import SSEParser
from rxstream.gateway.doctor.self_test import SELF_TEST_PATH

__all__ = ("Arrival", "DoctorError", "Observation", "observe", "self_test_url")

ROOM_SECONDS: Final = 30.0
"""How much longer than it should take a frame is waited for: a proxy may hold all of them to the end."""

MAX_PORT: Final = 65_535

LONGEST_MS: Final = 3_600_000

MAX_BYTES: Final = 64 * 1024
"""More than the longest self-test: what sends more is something else."""

APIS: Final = ("/v1", "/v1/chat/completions", "/v1/responses", "/v1/messages", "/api/chat")
"""What users have behind the address in the settings of their clients."""


class DoctorError(ValueError):
    """The address cannot be asked at all: it is no address, or a token is needed."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """One frame.

    Args:
        sent_seconds: when the gateway sent it, after its first.
        arrived_seconds: when it was here, after the request.
    """

    sent_seconds: float
    arrived_seconds: float


@dataclass(frozen=True, slots=True)
class Observation:
    """What was seen.

    Args:
        url: what was asked.
        asked: how many frames.
        interval_seconds: how far apart.
        status: the HTTP status; None where nothing answered.
        headers: those of the answer, in lower case.
        http_version: what was spoken here, such as `HTTP/1.1`.
        gateway_http_version: what the last proxy spoke to the gateway, such as `1.0`; None where no frame came.
        head_seconds: when the head of the answer was here.
        first_byte_seconds: when the first byte of its body was; None where none came.
        arrivals: the frames, in their order.
        problem: what broke off the connection, in words; None where nothing did.
    """

    url: str
    asked: int
    interval_seconds: float
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    http_version: str = ""
    gateway_http_version: str | None = None
    head_seconds: float | None = None
    first_byte_seconds: float | None = None
    arrivals: tuple[Arrival, ...] = ()
    problem: str | None = None

    @property
    def held_seconds(self) -> float:
        """The longest that a frame was held back."""
        delays = [arrival.arrived_seconds - arrival.sent_seconds for arrival in self.arrivals]
        return max(delays) - min(delays) if delays else 0.0


def self_test_url(url: str) -> str:
    """Where the self-test is, for the address of a gateway or of one of its APIs.

    Raises:
        DoctorError: it is no address.
    """
    problem: str | None = None
    try:
        parsed = httpx.URL(url if "://" in url else f"http://{url}")
        if parsed.port is not None and parsed.port > MAX_PORT:
            problem = "it is no address"
        elif parsed.scheme not in ("http", "https") or not parsed.host:
            problem = "it must be an http or https address"
    except (httpx.InvalidURL, ValueError):
        problem = "it is no address"
    if problem is not None:
        raise DoctorError(f"{problem}, such as https://models.example")
    path = parsed.path.rstrip("/")
    for api in (SELF_TEST_PATH, *sorted(APIS, key=len, reverse=True)):
        path = path.removesuffix(api)
    return str(parsed.copy_with(path=f"{path}{SELF_TEST_PATH}", query=None, fragment=None))


async def observe(
    client: Any, url: str, *, token: str | None = None, frames: int = 10, interval_seconds: float = 0.2
) -> Observation:
    """Ask for the self-test, and note when its frames arrive.

    Args:
        client: an `httpx.AsyncClient`, or one with its interface.
        url: of the self-test; see `self_test_url`.
        token: for a gateway that asks for one.
        frames: how many.
        interval_seconds: how far apart.
    """
    seen = _Seen(url, frames, interval_seconds)
    params = {"n": frames, "interval_ms": round(interval_seconds * 1000)}
    # As browsers say it, so that a proxy that compresses does so here as well.
    headers = {"accept": "text/event-stream", "accept-encoding": "gzip, deflate", "cache-control": "no-cache"}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    try:
        async with asyncio.timeout(frames * interval_seconds + ROOM_SECONDS):
            async with client.stream("GET", url, params=params, headers=headers) as response:
                await seen.read(response)
    except TimeoutError:
        seen.problem = f"no end after {frames * interval_seconds + ROOM_SECONDS:g} s"
    except httpx.HTTPError as error:
        seen.problem = _said(error)
    return seen.observation()


class _Frame(BaseModel):
    n: int
    of: int
    at_ms: float = Field(ge=0, lt=LONGEST_MS)
    http: str = Field(pattern=r"^[0-9][0-9.]{0,3}$")  # it is shown, and somebody else may have written it


class _Seen:
    """Gathers one observation."""

    def __init__(self, url: str, frames: int, interval_seconds: float) -> None:
        self.problem: str | None = None
        self._about: dict[str, Any] = {"url": url, "asked": frames, "interval_seconds": interval_seconds}
        self._arrivals: list[Arrival] = []  # bounded: MAX_BYTES of them
        self._clock = asyncio.get_running_loop().time
        self._begun = self._clock()

    async def read(self, response: Any) -> None:
        """Read an answer to its end."""
        self._about.update(
            status=response.status_code,
            headers={name.lower(): value for name, value in response.headers.items()},
            http_version=response.http_version,
            head_seconds=self._clock() - self._begun,
        )
        parser, size = SSEParser(), 0
        async for chunk in response.aiter_bytes():
            now = self._clock() - self._begun
            self._about.setdefault("first_byte_seconds", now)
            size += len(chunk)
            if size > MAX_BYTES:
                self.problem = "it sends more than a self-test"
                return
            self._take(parser, chunk, now)

    def _take(self, parser: SSEParser, chunk: bytes, now: float) -> None:
        try:
            for frame in parser.feed(chunk):
                said = _Frame.model_validate_json(frame.data)
                if said.n != len(self._arrivals) + 1:
                    self.problem = "the frames do not come in their order"
                    return
                self._arrivals.append(Arrival(said.at_ms / 1000, now))
                self._about["gateway_http_version"] = said.http[:8]
        except (StreamError, ValidationError):
            self.problem = "what came is not the self-test's frames"

    def observation(self) -> Observation:
        """What was seen so far."""
        return Observation(**self._about, arrivals=tuple(self._arrivals), problem=self.problem)


def _said(error: httpx.HTTPError) -> str:
    """What kind of error it was; its own text may hold the address, with a password in it."""
    kinds = {
        httpx.ConnectError: "nothing answers there",
        httpx.ConnectTimeout: "nothing answers there",
        httpx.RemoteProtocolError: "the connection broke off",
        httpx.ReadError: "the connection broke off",
        httpx.ReadTimeout: "no more came",
        httpx.DecodingError: "what came cannot be decompressed",
        httpx.TooManyRedirects: "it redirects without end",
    }
    return next((said for kind, said in kinds.items() if isinstance(error, kind)), "the request failed")
