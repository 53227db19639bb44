"""Keys that nobody knows: where they are kept, and the one place where they are not looked at (decision 002, 15)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import Event, ProviderEvent, TextDelta
from rxstream.testing import run_virtual

Frame = Callable[..., dict[str, Any]]


def chat(text: str, *, last: bool = False, beside: Any = None, inside: Any = None) -> dict[str, Any]:
    delta = {"content": text} if text else {}
    delta |= {} if inside is None else {"odd": inside}
    choice = {"index": 0, "delta": delta, "finish_reason": "stop" if last else None}
    return {"id": "c", "choices": [choice]} | ({} if beside is None else {"odd": beside})


def gemini(text: str, *, last: bool = False, beside: Any = None, inside: Any = None) -> dict[str, Any]:
    part = {"text": text} | ({} if inside is None else {"odd": inside})
    candidate = {"index": 0, "content": {"role": "model", "parts": [part] if text else []}}
    candidate |= {"finishReason": "STOP"} if last else {}
    return {"candidates": [candidate]} | ({} if beside is None else {"odd": beside})


def ollama(text: str, *, last: bool = False, beside: Any = None, inside: Any = None) -> dict[str, Any]:
    message = {"role": "assistant", "content": text} | ({} if inside is None else {"odd": inside})
    line = {"model": "m", "message": message, "done": last} | ({"done_reason": "stop"} if last else {})
    return line | ({} if beside is None else {"odd": beside})


WIRES: dict[str, tuple[Frame, Callable[[Any], bytes]]] = {
    "openai-chat": (chat, lambda frame: b"data: " + json.dumps(frame).encode() + b"\n\n"),
    "gemini": (gemini, lambda frame: b"data: " + json.dumps(frame).encode() + b"\n\n"),
    "ollama": (ollama, lambda frame: json.dumps(frame).encode() + b"\n"),
}
every_wire = pytest.mark.parametrize("wire", WIRES)


def read(wire: str, *marked: tuple[int, str]) -> list[Event]:
    """A stream of forty pieces and a finish; `marked` says which frames have an odd key, `beside` or `inside`."""
    make, write = WIRES[wire]
    frames = [
        make(f"{number} ", **{where: f"odd{number}" for at, where in marked if at == number}) for number in range(40)
    ]
    frames.append(make("", last=True, **{where: "odd40" for at, where in marked if at == 40}))

    async def main() -> list[Event]:
        source = rxs.from_chunks([write(frame) for frame in frames])
        return [event async for event in rxs.iterate(source.pipe(ops.parse(wire)))]

    return run_virtual(main())


def odd_of(events: list[Event]) -> list[str]:
    kept = [json.dumps(event.data) for event in events if isinstance(event, ProviderEvent)]
    return [f"odd{number}" for number in range(41) if any(f'odd{number}"' in text for text in kept)]


@every_wire
@pytest.mark.parametrize("place", [0, 40])
@pytest.mark.parametrize("where", ["beside", "inside"])
def test_they_are_kept_at_the_beginning_and_at_the_end(wire: str, place: int, where: str) -> None:
    if (place, where) == (40, "inside") and wire == "gemini":
        return  # its last frame has no part for the key to stand in
    assert odd_of(read(wire, (place, where))) == [f"odd{place}"]


@every_wire
def test_inside_a_piece_of_text_they_are_kept_anywhere(wire: str) -> None:
    assert odd_of(read(wire, (30, "inside"), (31, "inside"))) == ["odd30", "odd31"]


@every_wire
def test_beside_a_piece_of_a_text_that_flows_they_are_not_looked_at_and_the_text_is_whole(wire: str) -> None:
    events = read(wire, (30, "beside"))
    assert odd_of(events) == []
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "".join(
        f"{n} " for n in range(40)
    )
