"""OpenAI's text completions: text, log probabilities, usage, several choices, ends and errors."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxstream.errors import DecodeError, LimitError, ProviderError, StreamError, TruncatedStreamError
from rxstream.events import (
    Event,
    Finish,
    ProviderEvent,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    Usage,
    UsageUpdate,
    Violation,
)
from rxstream.limits import Limits
from rxstream.providers.openai_completions import OpenAICompletionsBodyDecoder, OpenAICompletionsDecoder
from rxstream.providers.registry import get_wire
from rxstream.testing import cut_at
from tests.providers.decoding import FIXTURES, Outcome, decode_sse, expected_of, sizes_of

DONE = b"data: [DONE]\n\n"
SAMPLES = sorted((FIXTURES / "openai-completions").glob("*.sse"))


def chunk(*choices: Any, **top: Any) -> bytes:
    """A chunk with these choices."""
    body = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m", "choices": list(choices), **top}
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"


def choice(text: Any, index: Any = 0, finish: Any = None, **more: Any) -> dict[str, Any]:
    return {"text": text, "index": index, "logprobs": None, "finish_reason": finish, **more}


def piece(text: str, index: int = 0, **more: Any) -> bytes:
    return chunk(choice(text, index, **more))


def finish(reason: Any = "stop", index: int = 0, **top: Any) -> bytes:
    return chunk(choice("", index, reason), **top)


def run(*frames: bytes, **options: Any) -> Outcome:
    return decode_sse(lambda: OpenAICompletionsDecoder(**options), frames)


def text_of(outcome: Outcome, index: int = 0) -> str:
    return "".join(event.text for event in outcome.events if isinstance(event, TextDelta) and event.choice == index)


def violations(outcome: Outcome) -> list[str]:
    return [event.code for event in outcome.events if isinstance(event, Violation)]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_a_sample_gives_its_events_and_its_error(path: Any) -> None:
    events, error = expected_of(path)
    for chunks in sizes_of(path.read_bytes()):
        outcome = decode_sse(OpenAICompletionsDecoder, chunks)
        assert outcome.events == events
        found = outcome.error
        assert (None if found is None else (type(found).__name__, found.public.category)) == error


def test_there_are_samples() -> None:
    assert len(SAMPLES) >= 4


def test_an_answer_is_a_start_its_text_and_its_finish() -> None:
    assert run(piece("Once"), piece(" upon"), finish("length"), DONE).events == [
        ResponseStart("cmpl-1", "m"),
        TextDelta("Once", "0.0"),
        TextDelta(" upon", "0.0"),
        Finish("length", "length"),
    ]


def test_choices_go_by_their_index() -> None:
    outcome = run(piece("b", 1), piece("a", 0), piece("B", 1), finish("stop", 1), finish("length", 0), DONE)
    assert (text_of(outcome, 0), text_of(outcome, 1)) == ("a", "bB")
    assert outcome.of(Finish) == [Finish("length", "length"), Finish("stop", "stop", 1)]


def test_several_choices_may_share_a_chunk_and_lack_an_index() -> None:
    outcome = run(
        chunk({"text": "a"}, {"text": "b"}), chunk({"finish_reason": "stop"}, {"finish_reason": "stop"}), DONE
    )
    assert (text_of(outcome, 0), text_of(outcome, 1), outcome.error) == ("a", "b", None)


def test_log_probabilities_become_one_entry_for_each_token() -> None:
    logprobs = {
        "tokens": ["a", "b"],
        "token_logprobs": [-0.1, None],
        "top_logprobs": [{"a": -0.1}, None],
        "text_offset": [0, 1],
    }
    (delta,) = run(piece("ab", logprobs=logprobs), finish(), DONE).of(TextDelta)
    assert delta == TextDelta(
        "ab",
        "0.0",
        logprobs=[
            {"token": "a", "logprob": -0.1, "top_logprobs": {"a": -0.1}},
            {"token": "b", "logprob": None, "top_logprobs": None},
        ],
    )


def test_lists_of_log_probabilities_may_differ_in_length_or_be_empty() -> None:
    outcome = run(
        piece("a", logprobs={"tokens": ["a"], "token_logprobs": []}),
        piece("b", logprobs={"tokens": []}),
        finish(),
        DONE,
    )
    assert [event.logprobs for event in outcome.events if isinstance(event, TextDelta)] == [[{"token": "a"}], None]


def test_usage_comes_on_its_own_chunk_or_on_the_last() -> None:
    counts = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    for frames in ((finish(), chunk(usage=counts)), (finish(usage=counts),)):
        (update,) = run(piece("a"), *frames, DONE).of(UsageUpdate)
        assert update == UsageUpdate(Usage(3, 2, 5, raw=counts))  # type: ignore[arg-type]  # invariance


def test_usage_on_every_chunk_is_replaced_and_never_added() -> None:
    frames = [piece_with_usage("x", count) for count in (1, 2, 3)]
    outcome = run(*frames, finish(), DONE)
    updates = [event.usage.output_tokens for event in outcome.events if isinstance(event, UsageUpdate)]
    assert (updates, text_of(outcome)) == ([1, 2, 3], "xxx")


def piece_with_usage(text: str, count: int) -> bytes:
    return chunk(choice(text), usage={"prompt_tokens": 1, "completion_tokens": count, "total_tokens": count + 1})


def test_zeros_count_where_nothing_else_ever_came() -> None:
    zeros = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    counts = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    (only,) = run(chunk(choice("a"), usage=zeros), finish(), DONE).of(UsageUpdate)
    assert isinstance(only, UsageUpdate)
    assert only.usage.total_tokens == 0
    both = run(chunk(choice("a"), usage=zeros), finish(usage=counts), DONE).of(UsageUpdate)
    assert [update.usage.total_tokens for update in both if isinstance(update, UsageUpdate)] == [2]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [("stop", "stop"), ("LENGTH", "length"), ("abort", "other"), ("brand_new", "other"), (7, "other")],
)
def test_a_finish_reason_is_normalized_and_kept_raw(raw: Any, reason: str) -> None:
    (found,) = run(piece("a"), finish(raw), DONE).of(Finish)
    assert isinstance(found, Finish)
    assert (found.finish_reason, found.finish_reason_raw) == (reason, raw)


def test_what_it_stopped_at_is_kept() -> None:
    (found,) = run(chunk(choice("a", finish="stop", stop_reason="\n")), DONE).of(Finish)
    assert found == Finish("stop", "stop", detail={"stop_reason": "\n"})


@pytest.mark.parametrize("unfinished", ["", None, False])
def test_an_empty_reason_is_no_finish(unfinished: Any) -> None:
    outcome = run(chunk(choice("a", finish=unfinished)), DONE)
    assert isinstance(outcome.error, TruncatedStreamError)
    assert outcome.of(Finish) == []


def test_a_missing_end_marker_is_a_violation_before_the_finish() -> None:
    outcome = run(piece("a"), finish())
    assert outcome.error is None
    assert [type(event).__name__ for event in outcome.events[-2:]] == ["Violation", "Finish"]
    assert violations(outcome) == ["missing_done"]


def test_bytes_that_end_without_a_finish_are_truncated() -> None:
    for frames in ([piece("a")], [piece("a"), piece("b", 1), finish(index=1)], [piece("a"), DONE]):
        assert isinstance(run(*frames).error, TruncatedStreamError)
    kept = run(piece("a"), piece("b", 1), finish(index=1))
    assert kept.of(Finish) == [Finish("stop", "stop", 1)]


@pytest.mark.parametrize("frames", [[], [DONE], [b": ping\n\n"], [chunk(), DONE]])
def test_a_stream_that_says_nothing_was_empty(frames: list[bytes]) -> None:
    error = run(*frames).error
    assert isinstance(error, TruncatedStreamError)
    assert "empty" in str(error)


def test_text_behind_a_finish_is_kept_and_told_of() -> None:
    outcome = run(piece("a"), finish(), piece("b"), finish("length"), DONE)
    assert (text_of(outcome), violations(outcome)) == ("ab", ["content_after_finish"])
    assert outcome.of(Finish) == [Finish("length", "length")]


def test_nothing_counts_behind_the_end_marker() -> None:
    assert text_of(run(piece("a"), finish(), DONE, piece("b"))) == "a"


@pytest.mark.parametrize("key", ["reasoning", "reasoning_content"])
def test_reasoning_is_a_part_of_its_own(key: str) -> None:
    outcome = run(chunk(choice("", **{key: "why"})), piece("a"), finish(), DONE)
    assert outcome.events[1:3] == [ReasoningDelta("why", "0.0"), TextDelta("a", "0.1")]


def test_what_has_no_member_is_kept_once() -> None:
    filters = {"hate": {"filtered": True}}
    outcome = run(
        *(chunk(choice(text, content_filter_results=filters), system_fingerprint="fp", kv="x") for text in "ab"),
        finish(),
        DONE,
    )
    told = [(event.name, event.data) for event in outcome.events if isinstance(event, ProviderEvent)]
    assert told == [("content_filter_results", filters), ("kv", "x")]


@pytest.mark.parametrize(
    "frame",
    [
        b'data: {"error":{"message":"m","code":429}}\n\n',
        b'event: error\ndata: {"message":"m","code":429}\n\n',
        chunk({"index": 0, "text": "", "error": {"code": 429, "message": "m"}}),
        b'data: {"object":"error","message":"m","code":429}\n\n',
    ],
)
def test_an_error_comes_behind_what_was_seen(frame: bytes) -> None:
    outcome = run(piece("a"), piece("b", 1), finish("length", 1), frame)
    assert isinstance(outcome.error, ProviderError)
    assert (outcome.error.public.category, text_of(outcome)) == ("rate_limited", "a")
    assert outcome.of(Finish) == [Finish("length", "length", 1)]


def test_garbage_is_a_decode_error() -> None:
    for frame in (b"data: {oops\n\n", b"data: oops\n\n", b"data: 3\n\n", chunk(3), chunk(choice("a", finish=[1]))):
        outcome = run(piece("a"), frame)
        assert isinstance(outcome.error, DecodeError)
        assert text_of(outcome).startswith("a")


def test_bounds_are_kept() -> None:
    deep: Any = "x"
    for _ in range(9):
        deep = [deep]
    assert isinstance(run(piece("a"), chunk(deep=deep), limits=Limits(max_json_depth=8)).error, LimitError)
    for index in (-1, "one", 1.5):
        assert isinstance(run(chunk(choice("a", index))).error, DecodeError)
    assert isinstance(run(*(piece("a", index) for index in range(1025))).error, DecodeError)


def test_the_short_way_and_the_long_way_read_the_same() -> None:
    short = [piece(text, index) for index in (0, 1) for text in "abc"]
    long = [chunk(choice(text, index), odd=[index, text]) for index in (0, 1) for text in "abc"]
    ends = [finish(), finish(index=1), DONE]
    first, second = run(*short, *ends), run(*long, *ends)
    assert first.events == [event for event in second.events if not isinstance(event, ProviderEvent)]


def test_a_body_is_read_as_the_stream_that_would_have_brought_it() -> None:
    body = chunk(choice("all", finish="stop"), usage={"prompt_tokens": 1}).removeprefix(b"data: ").strip()
    decoder, events = OpenAICompletionsBodyDecoder(), list[Event]()
    decoder.decode(body, events)
    decoder.close(events)
    assert events[1] == TextDelta("all", "0.0")
    assert events[-1] == Finish("stop", "stop")
    assert violations(Outcome(events)) == []


def test_the_registry_knows_the_wire() -> None:
    wire = get_wire("openai-completions")
    assert (wire.framing, type(wire.make_decoder())) == ("sse", OpenAICompletionsDecoder)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@st.composite
def streams(draw: st.DrawFn) -> list[bytes]:
    """The frames of a whole stream of a few choices."""
    count = draw(st.integers(1, 3))
    frames = [piece(draw(TEXTS), draw(st.integers(0, count - 1))) for _ in range(draw(st.integers(0, 6)))]
    # A choice that has not begun is not missed: so all of them begin with the first chunk.
    return [
        chunk(*(choice("", index) for index in range(count))),
        *frames,
        *(finish(draw(st.sampled_from(["stop", "length"])), index) for index in range(count)),
        DONE,
    ]


@given(streams(), st.data())
def test_the_events_do_not_depend_on_where_the_chunks_are_cut(frames: list[bytes], data: st.DataObject) -> None:
    wire = b"".join(frames)
    places = data.draw(st.sets(st.integers(1, len(wire)), max_size=20))
    assert run(*cut_at(wire, places)).facts == run(wire).facts


@given(streams(), st.data())
def test_a_stream_that_is_cut_before_its_last_reason_never_ends_well(frames: list[bytes], data: st.DataObject) -> None:
    wire = b"".join(frames[:-1])
    assert isinstance(run(wire[: data.draw(st.integers(0, wire.rindex(b'"finish_reason"')))]).error, StreamError)


@given(streams(), st.data())
def test_a_corrupted_byte_is_at_worst_a_stream_error(frames: list[bytes], data: st.DataObject) -> None:
    wire = bytearray(b"".join(frames))
    wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(st.integers(0, 255))
    run(bytes(wire))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["text", "index", "tokens"]), inner),
    max_leaves=6,
)


@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                **dict.fromkeys(("id", "model", "usage", "error"), JSON),
                "choices": JSON
                | st.lists(st.dictionaries(st.sampled_from(["text", "index", "finish_reason", "logprobs"]), JSON)),
            },
        ),
        max_size=5,
    )
)
def test_fields_of_any_type_are_at_worst_a_stream_error(bodies: list[dict[str, Any]]) -> None:
    run(piece("a"), *(b"data: " + json.dumps(body).encode() + b"\n\n" for body in bodies), DONE)


@given(streams(), st.data())
def test_signs_of_life_change_nothing_wherever_they_stand(frames: list[bytes], data: st.DataObject) -> None:
    padded = list(frames)
    for _ in range(data.draw(st.integers(1, 6))):
        sign = data.draw(st.sampled_from([b": ping\n\n", b"data:\n\n", b"data: : keepalive\n\n"]))
        padded.insert(data.draw(st.integers(0, len(padded))), sign)
    assert run(*padded).facts == run(*frames).facts


def test_a_finish_that_was_seen_is_told_where_the_stream_breaks_off() -> None:
    outcome = run(piece("a"), finish(), b"data: {broken off")
    assert outcome.of(Finish) == [Finish("stop", "stop")]
    assert isinstance(outcome.error, StreamError)
