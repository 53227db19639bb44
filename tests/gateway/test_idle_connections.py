"""Connections without a request, which hold no slot."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from rxstream.gateway.idle_connections import IdleConnections
from rxstream.testing import assert_no_leaks, run

from .kit import RawClient, config_for, running

HEAD_SECONDS = 10.0
WRITE_SECONDS = 5.0


@dataclass
class Transport:
    """A connection's: how much waits in it, and whether it was cut."""

    untaken: int = 0
    is_aborted: bool = False

    def get_write_buffer_size(self) -> int:
        return self.untaken

    def abort(self) -> None:
        self.is_aborted = True


@dataclass
class Watched:
    """One connection under a clock that a test moves."""

    transport: Transport = field(default_factory=Transport)
    now: float = 0.0

    def __post_init__(self) -> None:
        self.connections: set[Any] = set()
        self.idle = IdleConnections(
            self.connections, head_seconds=HEAD_SECONDS, write_seconds=WRITE_SECONDS, clock=lambda: self.now
        )

    def look(self, now: float) -> bool:
        """Whether it is cut now."""
        self.now = now
        self.idle.look()
        return self.transport.is_aborted


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    class Connection:
        cycle: Any = None

    monkeypatch.setattr("rxstream.gateway.idle_connections.H11Protocol", Connection)
    made = Watched()
    connection = Connection()
    connection.transport = made.transport  # type: ignore[attr-defined]
    made.connections.add(connection)
    return made


@dataclass
class Cycle:
    """A request and its answer."""

    response_complete: bool


def the_cycle(watched: Watched, cycle: Cycle) -> None:
    (connection,) = watched.connections
    connection.cycle = cycle


def test_a_head_that_does_not_come_is_not_waited_for(watched: Watched) -> None:
    assert [watched.look(now) for now in (0, 10, 10.5)] == [False, False, True]


def test_while_a_request_runs_its_connection_is_not_idle(watched: Watched) -> None:
    the_cycle(watched, Cycle(False))
    watched.transport.untaken = 100
    assert not any(watched.look(now) for now in range(0, 10_000, 100))


def test_behind_an_answer_the_next_request_has_its_time_and_the_head_its_own(watched: Watched) -> None:
    watched.look(0)
    the_cycle(watched, Cycle(True))
    watched.look(1)
    assert [watched.look(now) for now in (76, 85, 86)] == [False, False, True]


def test_what_a_client_takes_nothing_of_any_more_is_dropped(watched: Watched) -> None:
    the_cycle(watched, Cycle(True))
    watched.transport.untaken = 100
    assert not watched.look(0)
    watched.transport.untaken = 99
    assert [watched.look(now) for now in (5, 10, 10.5)] == [False, False, True]


def test_a_client_that_has_taken_all_has_the_time_of_an_empty_connection(watched: Watched) -> None:
    the_cycle(watched, Cycle(True))
    watched.transport.untaken = 100
    watched.look(0)
    watched.transport.untaken = 0
    assert [watched.look(now) for now in (5, 20, 90, 91)] == [False, False, False, True]


def test_an_answer_under_way_begins_the_time_anew(watched: Watched) -> None:
    watched.look(0)
    the_cycle(watched, Cycle(False))
    watched.look(9)
    the_cycle(watched, Cycle(True))
    assert [watched.look(now) for now in (20, 105, 106)] == [False, False, True]


def test_a_websocket_is_none_of_it(watched: Watched) -> None:
    watched.connections.clear()
    watched.connections.add(object())
    assert not watched.look(1000)


@pytest.mark.parametrize("sent", [b"", b"POST /v1/messages HTTP/1.1\r\nhost: 127"])
def test_a_client_that_never_sends_the_head_of_a_request_is_cut_off(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rxstream.gateway.serve.TICKS_A_LOOK", 1)

    async def main() -> None:
        config = config_for("http://127.0.0.1:9", server={"body_timeout": 0.1})
        async with assert_no_leaks(), running(config) as gateway:
            with RawClient(gateway.address) as client:
                await asyncio.get_running_loop().sock_connect(client.socket, gateway.address)
                await client.send(sent)
                try:
                    assert await client.read_until(b"no such mark") == b""
                except ConnectionResetError:
                    pass  # which is how a cut reads where something was sent

    run(main())
