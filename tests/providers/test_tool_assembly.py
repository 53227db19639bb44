"""One open call: what it holds, and its one verdict."""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from rxstream.errors import LimitError
from rxstream.events import Event, ToolCall, ToolCallDelta, ToolCallInvalid
from rxstream.limits import DEFAULT_LIMITS, Limits
from rxstream.operators.framings import framing_factory
from rxstream.providers.registry import get_wire
from rxstream.providers.tool_assembly import FOLD_PIECES, CallIds, OpenCall, arguments_fault
from rxstream.testing import Answer
from rxstream.testing.wires import WIRES
from tests.providers.decoding import decode


def opened(limits: Limits = DEFAULT_LIMITS) -> OpenCall:
    call = OpenCall(CallIds(), limits, part_id="p")
    call.call_id, call.name = "c", "f"
    return call


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=30))
def test_what_is_decided_is_what_came(pieces: list[str]) -> None:
    call, out = opened(), list[Event]()
    call.start(out)
    for piece in pieces:
        call.append(piece, out)
    call.decide(out)
    whole = "".join(pieces)
    (verdict,) = (event for event in out if isinstance(event, ToolCall | ToolCallInvalid))
    assert verdict.arguments == whole
    assert "".join(event.arguments for event in out if isinstance(event, ToolCallDelta)) == whole


def test_a_verdict_is_given_once() -> None:
    call, out = opened(), list[Event]()
    assert call.decide(out, cut="cut off") == "cut off"
    assert call.decide(out) is None
    assert len([event for event in out if isinstance(event, ToolCall | ToolCallInvalid)]) == 1


def test_many_small_pieces_are_folded_and_each_is_copied_once() -> None:
    call = opened()
    seen: list[list[str]] = []
    for _ in range(5 * FOLD_PIECES):
        call.append("x", [])
        if len(call._pieces) <= call._folded:
            seen.append(list(call._pieces))
    assert len(call._pieces) <= FOLD_PIECES + 5
    for earlier, later in pairwise(seen):
        assert all(old is new for old, new in zip(earlier, later, strict=False))
    assert call.text == "x" * 5 * FOLD_PIECES


@pytest.mark.parametrize("wire", sorted(WIRES.keys() - {"openai-completions"}))
def test_arguments_in_many_pieces_are_parsed_once(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By all that its decoder reads: with each piece anew it would be a hundred times as much."""
    arguments = json.dumps({"lines": ["a line of a file"] * 400})
    frames, spec, parsed = WIRES[wire].stream(Answer(tool_calls=[ToolCall("c", "f", arguments)])), get_wire(wire), []

    def counted(text: str | bytes, **options: Any) -> Any:
        parsed.append(len(text))
        return from_json(text, **options)

    spec.make_decoder()  # what is imported at first use is imported now
    for name, module in sys.modules.items():
        if name.startswith("rxstream.providers") and getattr(module, "from_json", None) is from_json:
            monkeypatch.setattr(module, "from_json", counted)
    outcome = decode(framing_factory(spec.framing)(None), spec.make_decoder(), frames)
    (call,) = outcome.of(ToolCall)
    assert isinstance(call, ToolCall)
    assert json.loads(call.arguments) == json.loads(arguments)
    assert 0 < sum(parsed) <= 3 * len(b"".join(frames))


def test_the_limit_counts_bytes_and_keeps_what_fitted() -> None:
    call, out = opened(Limits(max_arguments_bytes=4)), list[Event]()
    call.append("éé", out)
    with pytest.raises(LimitError, match="max_arguments_bytes=4"):
        call.append("x", out)
    assert call.text == "éé"


def test_ids_hang_on_the_response_and_are_random_without_one() -> None:
    def ids(seed: str) -> list[str]:
        source = CallIds()
        source.seed = seed
        return [source.new(), source.new()]

    assert ids("r1") == ids("r1")
    assert len({*ids("r1"), *ids("r2"), *ids(""), *ids("")}) == 8


@pytest.mark.parametrize("arguments", ["", " \n", "null", "{}", "[1]", '"text"', "1e5", '{"a":"\\u00e9"}'])
def test_json_and_nothing_have_no_fault(arguments: str) -> None:
    assert arguments_fault(arguments, 8) is None


@pytest.mark.parametrize("arguments", ["{", "tru", "{'a':1}", "NaN", "-Infinity", "{}{}", "\ud800", "[" * 999])
def test_a_fault_names_a_place_and_no_content(arguments: str) -> None:
    fault = arguments_fault(arguments, 128)
    assert fault is not None
    assert fault.startswith("the arguments are not JSON: ")
    assert "'a'" not in fault


@pytest.mark.parametrize("arguments", ["[" * 9 + "]" * 9, '{"a":' * 9 + "1" + "}" * 9, "[" * 8 + "{}" + "]" * 8])
def test_nesting_is_counted_exactly(arguments: str) -> None:
    assert arguments_fault(arguments, 9) is None
    assert arguments_fault(arguments, 8) == "the arguments nest deeper than max_json_depth=8"
