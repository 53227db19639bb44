"""What a client reports of an answer is what the provider meant, on every wire and for every client."""

from __future__ import annotations

import json

import pytest

from tests.clients.clients import ask, every_client
from tests.clients.gateways import Served
from tests.clients.report import Call, Client, Report, structured_ways
from tests.clients.scenes import ANSWERS, CALL_WIRES, REASONING_WIRES, SERVED_WIRES, STRUCTURED_WIRES, Scene
from tests.clients.stage import Stage

every_wire = pytest.mark.parametrize("wire", sorted(SERVED_WIRES))
both_ways = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


def check(report: Report, client: Client, scene: str) -> None:
    """The report against the answer of a scene."""
    meant = ANSWERS[scene]
    finish = meant.finish or ("tool_calls" if meant.tool_calls else "stop")
    assert report.failure is None
    assert report.text == "".join(meant.text)
    assert report.calls == [Call(call.name, json.loads(call.arguments)) for call in meant.tool_calls]
    assert report.finish == client.finishes[finish]
    if "reasoning" in client.shows:
        assert report.reasoning == "".join(meant.reasoning)
    if "usage" in client.shows:
        assert (report.input_tokens, report.output_tokens) == (11, 7)


@every_client()
@every_wire
def test_text_arrives_as_it_is_made(ready: Client, gateway: Served, stage: Stage, wire: str) -> None:
    scene = Scene("held")
    seen: list[str] = []

    def see(piece: str) -> None:
        if not seen:
            assert stage.is_held(scene, wire)  # the provider has not made the second piece
            assert piece == ANSWERS["text"].text[0]
            stage.release(scene)
        seen.append(piece)

    report = ask(ready, gateway, wire, scene, see)
    check(report, ready, "text")
    assert tuple(seen) == tuple(ANSWERS["text"].text)


@every_client("whole")
@every_wire
def test_text_arrives_whole(ready: Client, gateway: Served, wire: str) -> None:
    check(ask(ready, gateway, wire, Scene("text"), stream=False), ready, "text")


@every_client()
@every_wire
def test_an_answer_that_is_cut_short_by_its_length_says_so(ready: Client, gateway: Served, wire: str) -> None:
    for stream in (True, False) if "whole" in ready.shows else (True,):
        check(ask(ready, gateway, wire, Scene("length"), stream=stream), ready, "length")


@both_ways
@every_client("tool", "whole")
@pytest.mark.parametrize("wire", sorted(CALL_WIRES))
def test_tool_calls_arrive(ready: Client, gateway: Served, stage: Stage, wire: str, stream: bool) -> None:
    scene = Scene("tool")
    check(ask(ready, gateway, wire, scene, stream=stream, tools=True), ready, "tool")
    assert b"weather" in stage.record(scene).body


@both_ways
@every_client("reasoning", "whole")
@pytest.mark.parametrize("wire", sorted(REASONING_WIRES))
def test_reasoning_arrives_apart_from_text(ready: Client, gateway: Served, wire: str, stream: bool) -> None:
    check(ask(ready, gateway, wire, Scene("reasoning"), stream=stream), ready, "reasoning")


@both_ways
@every_client("tool", "whole")
@pytest.mark.parametrize("wire", sorted(CALL_WIRES))
def test_reasoning_text_and_a_call_arrive_together(ready: Client, gateway: Served, wire: str, stream: bool) -> None:
    check(ask(ready, gateway, wire, Scene("talkative"), stream=stream, tools=True), ready, "talkative")


@every_client("tool", "reasoning", without="whole")
@pytest.mark.parametrize("wire", sorted(CALL_WIRES))
def test_calls_and_reasoning_stream_into_clients_that_only_stream(ready: Client, gateway: Served, wire: str) -> None:
    for scene in ("tool", "reasoning", "talkative"):
        check(ask(ready, gateway, wire, Scene(scene), tools=True), ready, scene)


@every_client("structured")
@pytest.mark.parametrize("wire", sorted(STRUCTURED_WIRES))
def test_structured_output_is_asked_for_and_arrives(ready: Client, gateway: Served, stage: Stage, wire: str) -> None:
    for stream in structured_ways(ready):
        scene = Scene("structured")
        check_structured(ask(ready, gateway, wire, scene, structured=True, stream=stream), ready)
        assert b"degrees" in stage.record(scene).body


@every_client("structured")
@pytest.mark.parametrize("wire", sorted(SERVED_WIRES - STRUCTURED_WIRES))
def test_structured_output_that_a_provider_does_not_have_is_refused(
    ready: Client, gateway: Served, stage: Stage, wire: str
) -> None:
    scene = Scene("structured")
    failure = ask(ready, gateway, wire, scene, structured=True, stream=False).failure
    assert failure is not None
    assert failure.kind == ready.errors[400]
    assert stage.records(scene) == []


def check_structured(report: Report, client: Client) -> None:
    """A structured answer, read by the client."""
    check(report, client, "structured")
    assert report.parsed == {"city": "Oslo", "degrees": -3}
