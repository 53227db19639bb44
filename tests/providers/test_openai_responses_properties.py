"""OpenAI Responses: what holds for every stream, wherever it is cut, broken or padded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxstream.errors import StreamError
from rxstream.events import (
    Finish,
    ProviderEvent,
    ServerToolCall,
    TextDelta,
    ToolCall,
    ToolCallInvalid,
    ToolCallStart,
)
from rxstream.testing import cut_at
from tests.providers.decoding import FIXTURES
from tests.providers.drawn import ARGUMENTS, TEXTS, pieces
from tests.providers.responses_wire import (
    DONE,
    JsonEvent,
    Part,
    Run,
    added,
    call,
    created,
    custom,
    delta,
    ended,
    event,
    message,
    read,
    reasoning,
    run,
    text_delta,
    whole,
    wire,
)


@st.composite
def parts(draw: st.DrawFn) -> list[Part]:
    """A few whole items."""
    found: list[Part] = []
    for index in range(draw(st.integers(0, 4))):
        match draw(st.sampled_from(["message", "reasoning", "call", "custom", "server", "new"])):
            case "message":
                found.append(message(index, *draw(st.lists(TEXTS, min_size=1, max_size=3))))
            case "reasoning":
                texts = draw(st.lists(TEXTS, max_size=2))
                found.append(reasoning(index, *texts, encrypted=draw(st.none() | TEXTS)))
            case "call":
                found.append(call(index, f"call_{index}", *draw(ARGUMENTS.flatmap(pieces))))
            case "custom":
                found.append(custom(index, f"call_{index}", *draw(TEXTS.flatmap(pieces))))
            case "server":
                code = draw(TEXTS)
                item = {"type": "code_interpreter_call", "id": f"ci_{index}", "code": code, "outputs": None}
                found.append(whole(index, item, delta("code_interpreter_call_code", index, f"ci_{index}", code)))
            case _:
                found.append(whole(index, {"type": "new_thing", "id": f"n_{index}", "say": draw(TEXTS)}))
    return found


@st.composite
def streams(draw: st.DrawFn, max_messages: int = 2) -> list[JsonEvent]:
    """The events of a whole stream of a few messages."""
    events: list[JsonEvent] = []
    for number in range(draw(st.integers(1, max_messages))):
        found = draw(parts())
        kind = draw(st.sampled_from(["completed", "incomplete"]))
        end = ended(kind, [part.item for part in found], incomplete_details={"reason": "max_output_tokens"})
        end["response"]["id"] = f"resp_{number}"
        events += [created(id=f"resp_{number}"), *(one for part in found for one in part.events), end]
    return events


def check_calls(result: Run) -> None:
    """Every call that was started has its one verdict."""
    started = [one.call_id for one in result.all_of(ToolCallStart)]
    decided = [one.call_id for one in result.events if isinstance(one, (ToolCall, ToolCallInvalid))]
    assert sorted(started) == sorted(decided)


def done_calls(data: bytes) -> set[str]:
    """The ids of calls whose end stands in `data`: their item is done, or the final response has them."""
    found: set[str] = set()
    for line in data.split(b"\n"):
        try:
            one = json.loads(line.removeprefix(b"data: "))
        except ValueError:
            continue
        items = (
            [one["item"]] if one["type"] == "response.output_item.done" else one.get("response", {}).get("output", [])
        )
        found.update(item["call_id"] for item in items if "call_id" in item)
    return found


@given(streams(), st.data())
def test_the_events_do_not_depend_on_where_the_chunks_are_cut(events: list[JsonEvent], data: st.DataObject) -> None:
    frames = b"".join(wire(events))
    plain = read(frames)
    assert plain.error is None
    places = data.draw(st.sets(st.integers(1, len(frames)), max_size=20))
    assert read(*cut_at(frames, places)).facts == plain.facts


@given(streams())
def test_a_whole_stream_agrees_with_its_final_response(events: list[JsonEvent]) -> None:
    result = run(events)
    check_calls(result)
    assert (result.error, result.violations) == (None, [])
    assert result.response.failed_checks == []
    assert result.response.outcome in ("completed", "incomplete")


@given(streams(max_messages=1), st.data())
def test_a_truncated_stream_never_ends_well_and_closes_no_call(events: list[JsonEvent], data: st.DataObject) -> None:
    frames = b"".join(wire(events))
    part = frames[: data.draw(st.integers(0, len(frames) - 3))]  # only blank lines stand behind that
    result = read(part)
    assert isinstance(result.error, StreamError)
    assert result.response.outcome in ("indeterminate", "failed")
    check_calls(result)
    assert {one.call_id for one in result.all_of(ToolCall)} <= done_calls(part)


@pytest.mark.parametrize("name", ["tools", "reasoning", "server_tools", "open_responses"])
def test_a_sample_cut_anywhere_is_truncated(name: str) -> None:
    sample = (FIXTURES / f"openai-responses/{name}.sse").read_bytes().removesuffix(DONE).rstrip(b"\n")
    for place in range(0, len(sample), 7):
        result = read(sample[:place])
        assert isinstance(result.error, StreamError), place
        assert {one.call_id for one in result.all_of(ToolCall)} <= done_calls(sample[:place]), place
        check_calls(result)


@given(streams(), st.data())
def test_a_corrupted_byte_is_at_worst_a_stream_error(events: list[JsonEvent], data: st.DataObject) -> None:
    frames = bytearray(b"".join(wire(events)))
    frames[data.draw(st.integers(0, len(frames) - 1))] = data.draw(st.integers(0, 255))
    check_calls(read(bytes(frames)))


@given(st.lists(st.sampled_from([*b'{}[]",:\\ 01anull\n']) | st.integers(0, 255), max_size=60).map(bytes))
def test_any_bytes_are_at_worst_a_stream_error(noise: bytes) -> None:
    read(*wire([created(), text_delta(0, "m", "a")]), b"data: " + noise + b"\n\n", *wire([ended()]))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "id", "content", "output", "call_id", "name"]), inner)
    ),
    max_leaves=6,
)
KINDS = st.sampled_from(
    [
        *("created", "in_progress", "completed", "incomplete", "failed"),
        *("output_item.added", "output_item.done", "output_text.delta", "output_text.done", "content_part.done"),
        *("function_call_arguments.delta", "function_call_arguments.done", "output_text.annotation.added"),
        *("reasoning_summary_text.delta", "image_generation_call.partial_image", "audio.delta"),
    ]
)
ITEMS = st.fixed_dictionaries(
    {"type": st.sampled_from(["message", "function_call", "reasoning", "mcp_call", "x_output", "new"])},
    optional=dict.fromkeys(("id", "content", "summary", "arguments", "call_id", "name", "status", "output"), JSON),
)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("item_id", "output_index", "content_index", "delta", "text", "part", "logprobs"), JSON),
        "item": ITEMS | JSON,
        "response": JSON | st.fixed_dictionaries({"output": st.lists(ITEMS, max_size=3), "status": JSON}),
    },
)


@given(st.lists(st.builds(lambda kind, fields: event(kind, **fields), KINDS, FIELDS), max_size=6))
def test_fields_of_any_type_are_at_worst_a_stream_error(events: list[JsonEvent]) -> None:
    item: dict[str, Any] = {"type": "function_call", "id": "fc", "call_id": "c", "name": "f"}
    check_calls(run([created(), added(0, item), *events]))


@given(streams(), st.data())
def test_signs_of_life_and_unknown_events_change_nothing_wherever_they_stand(
    events: list[JsonEvent], data: st.DataObject
) -> None:
    frames = padded = wire(events)
    strangers = [b": comment\n\n", b"data:\n\n", *wire([{"type": "stranger"}, {"type": "keepalive"}])]
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(padded)))
        padded = [*padded[:place], data.draw(st.sampled_from(strangers)), *padded[place:]]
    outcome = read(*padded)
    outcome.events = [one for one in outcome.events if not (isinstance(one, ProviderEvent) and one.name == "stranger")]
    assert outcome.facts == read(*frames).facts


@given(streams(), st.booleans(), st.booleans())
def test_the_servers_own_shape_and_any_other_give_the_same_events(
    events: list[JsonEvent], is_sorted: bool, has_marker: bool
) -> None:
    numbered = [{**one, "sequence_number": number} for number, one in enumerate(events)]
    dressed = [f"data: {json.dumps(one, sort_keys=is_sorted)}\n\n".encode() for one in numbered]
    assert read(*dressed, *([DONE] if has_marker else [])).facts == run(events).facts


@given(st.lists(TEXTS, min_size=1, max_size=5), st.data())
def test_the_final_response_gives_what_the_stream_left_out(texts: list[str], data: st.DataObject) -> None:
    found = [message(index, text) for index, text in enumerate(texts)]
    lost = data.draw(st.sets(st.integers(0, len(texts) - 1)))
    events = [one for index, part in enumerate(found) if index not in lost for one in part.events]
    result = run([created(), *events, ended(output=[part.item for part in found])])
    assert sorted(one.text for one in result.all_of(TextDelta)) == sorted(texts)
    assert [one.finish_reason for one in result.all_of(Finish)] == ["stop"]


def test_a_stream_of_many_small_items_is_whole() -> None:
    found = [part for index in range(0, 200, 2) for part in (message(index, "x"), call(index + 1, f"c{index}", "{}"))]
    result = run([created(), *(one for part in found for one in part.events), ended(output=[p.item for p in found])])
    assert (len(result.all_of(ToolCall)), result.text, result.error) == (100, "x" * 100, None)
    assert result.all_of(ServerToolCall) == []
    assert result.response.failed_checks == []
