"""OpenAI Responses: tools that are not the client's functions are told apart, each once, with what they gave back."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from rxstream.events import Event, MediaDelta, ProviderEvent, ServerToolCall, ServerToolResult, ToolCall
from tests.providers.responses_wire import (
    JsonEvent,
    Part,
    Run,
    added,
    answer,
    call,
    created,
    delta,
    ended,
    event,
    item_done,
    message,
    run,
    whole,
)


def told(result: Run) -> list[Event]:
    return result.of(ServerToolCall, ServerToolResult, MediaDelta)


def test_a_search_is_told_with_what_was_asked() -> None:
    action = {"type": "search", "query": "bern"}
    item: JsonEvent = {"type": "web_search_call", "id": "ws_0", "status": "completed", "action": action}
    progress = [event(f"web_search_call.{word}", item_id="ws_0", output_index=0) for word in ("searching", "completed")]
    result = run(answer(whole(0, item, *progress), message(1, "a")))
    assert told(result) == [
        ServerToolCall("ws_0", "web_search_call", '{"type":"search","query":"bern"}', "ws_0", raw=item)
    ]
    assert [event.name for event in result.all_of(ProviderEvent)] == [one["type"] for one in progress]
    assert (result.finish.finish_reason, result.response.failed_checks) == ("stop", [])


def test_a_file_search_gives_its_results() -> None:
    found: list[JsonValue] = [{"file_id": "f", "text": "t", "score": 0.5}]
    item: JsonEvent = {"type": "file_search_call", "id": "fs_0", "queries": ["q"], "results": found}
    result = run(answer(whole(0, item)))
    assert told(result) == [
        ServerToolCall(
            "fs_0", "file_search_call", '["q"]', "fs_0", raw={k: item[k] for k in ("type", "id", "queries")}
        ),
        ServerToolResult("fs_0", "file_search_call", found, "fs_0"),
    ]


def test_code_comes_in_pieces_and_counts_once_and_its_images_are_media() -> None:
    outputs = [{"type": "image", "url": "data:image/png;base64,AAAA"}, {"type": "logs", "logs": "4"}]
    item: JsonEvent = {"type": "code_interpreter_call", "id": "ci_0", "code": "2+2", "outputs": outputs}
    pieces = [delta("code_interpreter_call_code", 0, "ci_0", piece) for piece in ("2", "+2")]
    done = event("code_interpreter_call_code.done", item_id="ci_0", output_index=0, code="2+2")
    result = run(answer(whole(0, item, *pieces, done)))
    raw = {"type": "code_interpreter_call", "id": "ci_0", "code": "2+2"}
    kept = [{"type": "image"}, {"type": "logs", "logs": "4"}]
    assert told(result) == [
        ServerToolCall("ci_0", "code_interpreter_call", "2+2", "ci_0", raw=raw),  # type: ignore[arg-type]  # invariance
        MediaDelta("image/png", "AAAA", "ci_0:0"),
        ServerToolResult("ci_0", "code_interpreter_call", kept, "ci_0"),  # type: ignore[arg-type]  # invariance
    ]
    assert result.final.raw["output"] == [{**raw, "outputs": kept}]  # type: ignore[index, call-overload]


def test_pieces_of_arguments_count_where_the_whole_has_none() -> None:
    item: JsonEvent = {"type": "mcp_call", "id": "mcp_0", "name": "ask", "server_label": "s", "arguments": ""}
    pieces = [delta("mcp_call_arguments", 0, "mcp_0", piece) for piece in ('{"q"', ":1}")]
    (made,) = run(answer(whole(0, item, *pieces))).all_of(ServerToolCall)
    assert (made.name, made.arguments) == ("mcp_call", '{"q":1}')
    assert made.raw == item
    done = event("mcp_call_arguments.done", item_id="mcp_0", output_index=0, arguments='{"q":2}')
    (made,) = run(answer(whole(0, item, done))).all_of(ServerToolCall)
    assert made.arguments == '{"q":2}'


@pytest.mark.parametrize(
    ("outcome", "output"),
    [({"output": "42", "error": None}, "42"), ({"output": None, "error": "no"}, {"error": "no"})],
)
def test_what_an_mcp_tool_gave_back_is_its_result(outcome: JsonEvent, output: object) -> None:
    item: JsonEvent = {"type": "mcp_call", "id": "mcp_0", "name": "ask", "arguments": "{}", **outcome}
    assert [event.output for event in run(answer(whole(0, item))).all_of(ServerToolResult)] == [output]


def test_a_list_of_tools_that_was_never_done_gives_its_result_from_the_final_response() -> None:
    item: JsonEvent = {"type": "mcp_list_tools", "id": "mcpl_0", "server_label": "s", "tools": [{"name": "ask"}]}
    open_part = Part([added(0, {**item, "tools": []}), event("mcp_list_tools.completed", output_index=0)], item)
    result = run(answer(open_part, message(1, "a")))
    assert told(result) == [ServerToolResult("mcpl_0", "mcp_list_tools", [{"name": "ask"}], "mcpl_0")]
    assert (result.violations, result.response.failed_checks) == ([], [])


def test_a_server_call_that_was_never_seen_is_told_from_the_final_response() -> None:
    item: JsonEvent = {"type": "mcp_list_tools", "id": "mcpl_0", "tools": []}
    assert [type(event) for event in told(run(answer(Part([], item))))] == [ServerToolCall, ServerToolResult]


def test_a_search_that_was_never_done_is_told_from_the_final_response() -> None:
    item: JsonEvent = {"type": "web_search_call", "id": "ws_0", "status": "completed", "action": {"query": "bern"}}
    result = run(answer(Part([added(0, {"type": "web_search_call", "id": "ws_0"})], item)))
    assert told(result) == [ServerToolCall("ws_0", "web_search_call", '{"query":"bern"}', "ws_0", raw=item)]
    assert result.violations == []


def test_an_image_is_shown_as_it_is_drawn_and_then_whole() -> None:
    item: JsonEvent = {
        "type": "image_generation_call",
        "id": "ig_0",
        "status": "completed",
        "output_format": "webp",
        "result": "CCCC",
        "revised_prompt": "a cat",
    }
    partial = [
        event("image_generation_call.partial_image", item_id="ig_0", output_index=0, **fields)
        for fields in (
            {"partial_image_index": 0, "partial_image_b64": "AAAA", "output_format": "webp"},
            {"partial_image_index": 1, "partial_image_b64": "BBBB"},
            {"partial_image_b64": ""},
        )
    ]
    result = run(answer(whole(0, item, *partial)))
    raw = {key: value for key, value in item.items() if key != "result"}
    assert told(result) == [
        MediaDelta("image/webp", "AAAA", "ig_0:partial0"),
        MediaDelta("image/png", "BBBB", "ig_0:partial1"),
        ServerToolCall("ig_0", "image_generation_call", None, "ig_0", raw=raw),
        MediaDelta("image/webp", "CCCC", "ig_0:0"),
    ]
    assert [part.data for part in result.response.media] == ["AAAA", "BBBB", "CCCC"]
    assert result.final.raw["output"] == [raw]  # type: ignore[index, call-overload]


def test_a_shell_call_and_its_output_belong_together() -> None:
    action = {"commands": ["ls"], "timeout_ms": None}
    asked: JsonEvent = {"type": "shell_call", "id": "sh_0", "call_id": "call_s", "action": action}
    gave: JsonEvent = {"type": "shell_call_output", "id": "sho_0", "call_id": "call_s", "output": [{"stdout": "a"}]}
    pieces = [
        event("shell_call_command.added", output_index=0, command_index=0, command=""),
        event("shell_call_command.delta", output_index=0, command_index=0, delta="ls"),
        event("shell_call_command.done", output_index=0, command_index=0, command="ls"),
    ]
    result = run(answer(whole(0, asked, *pieces), whole(1, gave)))
    assert told(result) == [
        ServerToolCall("call_s", "shell_call", '{"commands":["ls"],"timeout_ms":null}', "sh_0", raw=asked),
        ServerToolResult("call_s", "shell_call", [{"stdout": "a"}], "sho_0"),
    ]


def test_an_output_that_names_no_call_stands_for_itself() -> None:
    asked: JsonEvent = {"type": "tool_search_call", "id": "tsc_0", "call_id": None, "arguments": {"paths": ["a"]}}
    gave: JsonEvent = {"type": "tool_search_output", "id": "tso_0", "call_id": None, "tools": [{"name": "a"}]}
    result = run(answer(whole(0, asked), whole(1, gave)))
    assert told(result) == [
        ServerToolCall("tsc_0", "tool_search_call", '{"paths":["a"]}', "tsc_0", raw=asked),
        ServerToolCall(
            "tso_0", "tool_search_output", None, "tso_0", raw={k: gave[k] for k in ("type", "id", "call_id")}
        ),
        ServerToolResult("tso_0", "tool_search", [{"name": "a"}], "tso_0"),
    ]


def test_the_output_of_a_function_that_the_server_ran_has_the_functions_name() -> None:
    gave: JsonEvent = {"type": "function_call_output", "call_id": "call_a", "output": "12"}
    result = run(answer(call(0, "call_a", "{}", name="calc"), Part([item_done(1, gave)], gave)))
    assert result.all_of(ServerToolResult) == [ServerToolResult("call_a", "calc", "12", "item1")]
    assert len(result.all_of(ToolCall)) == 1
    assert result.response.failed_checks == []


def test_a_screenshot_is_media() -> None:
    output = {"type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA"}
    gave: JsonEvent = {"type": "computer_call_output", "id": "cco", "call_id": "call_c", "output": output}
    assert told(run(answer(whole(0, gave)))) == [
        MediaDelta("image/png", "AAAA", "cco:0"),
        ServerToolResult("call_c", "computer_call", {"type": "computer_screenshot"}, "cco"),
    ]


@pytest.mark.parametrize(
    ("kind", "fields", "arguments"),
    [
        ("apply_patch_call", {"operation": {"type": "delete_file", "path": "a"}}, '{"type":"delete_file","path":"a"}'),
        ("local_shell_call", {"action": {"command": ["ls"]}}, '{"command":["ls"]}'),
        ("computer_call", {"action": {"type": "click"}}, '{"type":"click"}'),
        ("mcp_approval_request", {"name": "ask", "arguments": "{}"}, "{}"),
        ("program", {"code": "1+1"}, "1+1"),
        ("brand_new_call", {"input": "x"}, "x"),
        ("brand_new_call", {}, None),
    ],
)
def test_other_calls_are_known_by_their_type(kind: str, fields: JsonEvent, arguments: str | None) -> None:
    item: JsonEvent = {"type": kind, "id": "x_0", "call_id": "call_x", **fields}
    result = run([created(), item_done(0, item), ended(output=[item])])
    assert told(result) == [ServerToolCall("call_x", kind, arguments, "x_0", raw=item)]
    assert result.response.failed_checks == []


def test_the_diff_of_a_patch_counts_once() -> None:
    operation = {"type": "create_file", "path": "a", "diff": "+x"}
    item: JsonEvent = {"type": "apply_patch_call", "id": "ap_0", "call_id": "call_p", "operation": operation}
    pieces = [
        delta("apply_patch_call_operation_diff", 0, "ap_0", "+x"),
        event("apply_patch_call_operation_diff.done", item_id="ap_0", output_index=0, diff="+x"),
    ]
    (made,) = run(answer(whole(0, item, *pieces))).all_of(ServerToolCall)
    assert made.arguments == '{"type":"create_file","path":"a","diff":"+x"}'


def test_a_server_call_that_never_ended_is_kept_as_far_as_it_came() -> None:
    item: JsonEvent = {"type": "code_interpreter_call", "id": "ci_0", "code": ""}
    result = run([created(), added(0, item), delta("code_interpreter_call_code", 0, "ci_0", "2+")])
    assert told(result) == []
    assert result.all_of(ProviderEvent) == [ProviderEvent("code_interpreter_call", {**item, "partial": "2+"}, "ci_0")]
    assert result.response.outcome == "indeterminate"


def test_images_after_their_item_are_kept_raw() -> None:
    item: JsonEvent = {"type": "image_generation_call", "id": "ig_0", "result": "AAAA"}
    late = event("image_generation_call.partial_image", item_id="ig_0", output_index=0, partial_image_b64="BBBB")
    result = run([created(), *whole(0, item).events, late, ended(output=[item])])
    assert [event.data for event in result.all_of(MediaDelta)] == ["AAAA"]
    assert result.violations == ["delta_after_done"]
