"""The vocabulary: one closed union that survives JSON."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any, assert_never, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from rxstream import events
from rxstream.events import CONTENT_EVENTS, DROPPABLE_EVENTS, EVENT_ADAPTER, LIFECYCLE_EVENTS, Event, ToolCall
from tests.event_strategies import EVENT_TYPES, any_of

NAMES = [kind.__name__ for kind in EVENT_TYPES]


def wire_name(kind: type[Any]) -> str:
    return str(next(field.default for field in fields(kind) if field.name == "type"))


@pytest.mark.parametrize("kind", EVENT_TYPES, ids=NAMES)
@given(data=st.data())
@settings(max_examples=40)
def test_every_event_survives_json(kind: type[Any], data: st.DataObject) -> None:
    event = data.draw(any_of(kind))
    assert EVENT_ADAPTER.validate_json(EVENT_ADAPTER.dump_json(event)) == event


def test_the_wire_names_are_those_of_the_classes() -> None:
    snake = ["".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_") for name in NAMES]
    assert [wire_name(kind) for kind in EVENT_TYPES] == snake


def test_the_schema_tells_each_member_by_a_constant_type() -> None:
    schema = events.event_json_schema()
    members = [schema["$defs"][ref["$ref"].rpartition("/")[2]] for ref in schema["oneOf"]]
    assert sorted(member["properties"]["type"]["const"] for member in members) == sorted(map(wire_name, EVENT_TYPES))


def test_the_schema_describes_what_is_written() -> None:
    schema = events.event_json_schema()
    assert set(schema["$defs"]["TextDelta"]["properties"]) == {"text", "part_id", "choice", "logprobs", "type"}
    assert schema["discriminator"]["propertyName"] == "type"


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(ValidationError, match="union_tag_invalid"):
        EVENT_ADAPTER.validate_json('{"type": "text_deltas", "text": "a"}')


def place_of(event: Event) -> str:
    """Every member has its branch: the type checker refuses this function when one is missing."""
    match event:
        case events.ResponseStart() | events.Finish() | events.ResponseFinal() | events.Cancelled():
            return "lifecycle"
        case events.TextDelta() | events.ReasoningDelta() | events.ReasoningSignature() | events.RefusalDelta():
            return "text"
        case events.ToolCallStart() | events.ToolCallDelta() | events.ToolCall() | events.ToolCallInvalid():
            return "call"
        case events.ToolResult() | events.ServerToolCall() | events.ServerToolResult():
            return "tool"
        case events.Annotation() | events.MediaDelta() | events.UsageUpdate():
            return "extra"
        case events.Violation() | events.ProviderEvent():
            return "note"
        case _ as unreachable:
            assert_never(unreachable)


@pytest.mark.parametrize("kind", EVENT_TYPES, ids=NAMES)
@given(data=st.data())
@settings(max_examples=3)
def test_the_union_is_closed(kind: type[Any], data: st.DataObject) -> None:
    assert place_of(data.draw(any_of(kind)))


def test_every_content_event_says_its_choice_and_its_part() -> None:
    for kind in CONTENT_EVENTS:
        assert {"choice", "part_id"} <= {field.name for field in fields(kind)}


def test_nothing_that_a_tool_a_bill_or_an_outcome_hangs_on_may_be_dropped() -> None:
    dropped = set(DROPPABLE_EVENTS)
    kept = {"ToolCallStart", "ToolCallDelta", "ToolCall", "ToolCallInvalid", "ToolResult", "ServerToolCall"}
    kept |= {"UsageUpdate", "Finish", "ResponseStart", "ResponseFinal", "Cancelled", "Violation", "ReasoningSignature"}
    assert not {kind.__name__ for kind in dropped} & kept
    assert not dropped - set(CONTENT_EVENTS) - set(LIFECYCLE_EVENTS)


@pytest.mark.parametrize("arguments", ["", " ", "null", "{}"])
def test_a_call_without_arguments_gives_its_tool_an_empty_object(arguments: str) -> None:
    call = ToolCall("c", "now", arguments)
    assert (call.parsed, call.arguments) == ({}, arguments)


def test_the_input_of_a_custom_call_is_its_text() -> None:
    assert ToolCall("c", "shell", "{not json", kind="custom").parsed == "{not json"


@pytest.mark.parametrize("arguments", ['{"a": ', '{"a": NaN}', "{'a': 1}"])
def test_arguments_that_are_not_json_are_never_parsed(arguments: str) -> None:
    with pytest.raises(ValueError):
        _ = ToolCall("c", "f", arguments).parsed


def test_events_take_no_attribute_that_they_do_not_have() -> None:
    with pytest.raises(AttributeError):
        setattr(events.TextDelta("a"), "note", "b")  # noqa: B010 - the type checker refuses the plain assignment


PAGE = (Path(__file__).parents[1] / "docs" / "events.md").read_text(encoding="utf-8")


def test_the_page_has_every_event_with_its_fields() -> None:
    rows = re.findall(r"^\| `([A-Z]\w+)` \| (.*?) \|", PAGE, re.MULTILINE)
    shared = {"choice", "part_id", "type"}
    assert {name: set(re.findall(r"`(\w+)`", said)) for name, said in rows} == {
        kind.__name__: {field.name for field in fields(kind)} - shared for kind in get_args(Event)
    }


@pytest.mark.parametrize(
    ("heading", "words"),
    [
        ("Finish reasons", get_args(events.FinishReason)),
        ("Causes of a cancel", get_args(events.CancelCause)),
        ("Never dropped by a policy", [kind.__name__ for kind in DROPPABLE_EVENTS]),
    ],
)
def test_the_page_lists_each_vocabulary_whole(heading: str, words: list[str]) -> None:
    said = re.search(rf"^- \*\*{heading}\*\*: (.*?)(?=^- |^$)", PAGE, re.MULTILINE | re.DOTALL)
    assert said is not None
    assert set(re.findall(r"`(\w+)`", said[1])) == set(words)
