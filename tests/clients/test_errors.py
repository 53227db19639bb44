"""A failure is a failure for every client: its own typed error before the answer, and never a finished answer after."""

from __future__ import annotations

import pytest

from tests.clients.clients import ask, every_client
from tests.clients.gateways import Served
from tests.clients.report import Client, Report
from tests.clients.scenes import ANSWERS, SECRET, SERVED_WIRES, Scene
from tests.clients.stage import Stage
from tests.clients.wire_errors import ERROR_WIRES

FIRST = ANSWERS["text"].text[0]

TOLD = {400: 400, 401: 502, 403: 502, 404: 404, 429: 429, 500: 502, 503: 503, 529: 503}
"""What a client is told for each status of the provider. A key that is refused is the gateway's, not the client's."""

every_wire = pytest.mark.parametrize("wire", sorted(SERVED_WIRES))


def check_broken(report: Report) -> None:
    """A report of an answer that broke off: what came before is there, and no end."""
    assert report.failure is not None
    assert report.finish in (None, "error", "failed")
    assert SECRET not in report.failure.message
    assert "Traceback" not in report.failure.message


def ways(client: Client) -> tuple[bool, ...]:
    """Streamed, and whole where the client asks for that."""
    return (True, False) if "whole" in client.shows else (True,)


@every_client()
@every_wire
def test_an_answer_that_breaks_off_is_an_error(ready: Client, gateway: Served, wire: str) -> None:
    for stream in ways(ready):
        report = ask(ready, gateway, wire, Scene("cut"), stream=stream)
        check_broken(report)
        assert report.text == (FIRST if stream else "")


@every_client()
@pytest.mark.parametrize("wire", sorted(ERROR_WIRES))
def test_an_error_inside_an_answer_is_an_error(ready: Client, gateway: Served, stage: Stage, wire: str) -> None:
    for stream in ways(ready):
        scene = Scene("error")
        report = ask(ready, gateway, wire, scene, stream=stream)
        check_broken(report)
        assert report.text == (FIRST if stream else "")
        stage.wait_left(scene)  # it was told all there is, and does not wait for more


@every_client()
@pytest.mark.parametrize(("status", "told"), sorted(TOLD.items()))
def test_a_refusal_is_the_clients_own_error(ready: Client, gateway: Served, status: int, told: int) -> None:
    if told == 503 and "anthropic" in ready.name:
        told = 529  # its clients have a status of their own for it
    for stream in ways(ready):
        report = ask(ready, gateway, "openai-chat", Scene(f"status_{status}"), stream=stream)
        check_broken(report)
        assert report.text == ""
        assert report.failure is not None
        assert report.failure.kind == ready.errors[told]
        assert report.failure.status in (told, None)
        assert f"status {status}" in report.failure.message or "the gateway's own key" in report.failure.message


@every_client()
@every_wire
def test_too_many_requests_come_with_the_time_to_wait(ready: Client, gateway: Served, wire: str) -> None:
    for stream in ways(ready):
        failure = ask(ready, gateway, wire, Scene("status_429"), stream=stream).failure
        assert failure is not None
        assert failure.kind == ready.errors[429]
        assert SECRET not in failure.message
        if failure.kind != "Error":  # the UI transport keeps nothing but the message
            assert (failure.status, failure.retry_after) == (429, "3")


@every_client()
@every_wire
def test_a_provider_that_hangs_up_at_once_is_an_error(ready: Client, gateway: Served, wire: str) -> None:
    for stream in ways(ready):
        report = ask(ready, gateway, wire, Scene("gone"), stream=stream)
        check_broken(report)
        assert report.failure is not None
        assert report.failure.status in (502, None)
