"""What a policy keeps of texts, values and errors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rxstream.diagnostics import RedactionPolicy

POLICY = RedactionPolicy()


def test_prompts_and_arguments_are_left_out_of_texts_that_are_kept() -> None:
    body = json.dumps({"error": {"message": "bad"}, "messages": [{"content": 'a "}" b'}], "arguments": "{}", "n": 1})
    kept = json.loads(POLICY(body))
    assert kept == {"error": {"message": "bad"}, "messages": "[left out]", "arguments": "[left out]", "n": 1}


def test_a_policy_may_keep_both() -> None:
    body = '{"messages": ["m"], "arguments": "{}"}'
    assert RedactionPolicy(prompts=True, arguments=True)(body) == body
    assert RedactionPolicy(prompts=True)(body) == '{"messages": ["m"], "arguments": "[left out]"}'


@pytest.mark.parametrize("end", range(12, 60))
def test_a_body_that_was_cut_shows_nothing_of_a_prompt(end: int) -> None:
    body = '{"prompt": ["PLANTED", {"a": "PLANTED"}], "n": "PLANTED-NOT"}'[:end]
    assert "PLANTED" not in POLICY(body).replace("PLANTED-NOT", "").partition('"n"')[0]


def test_json_within_a_json_string_is_read_too() -> None:
    body = json.dumps({"error": json.dumps({"prompt": 'say "hi"', "password": "p", "code": 4})})
    assert json.loads(json.loads(POLICY(body))["error"]) == {
        "prompt": "[left out]",
        "password": "[redacted]",
        "code": 4,
    }


def test_a_list_in_json_within_a_json_string_has_the_rest_of_it() -> None:
    body = json.dumps({"error": json.dumps({"messages": ["a ] PLANTED", "PLANTED"]}), "n": 1})
    kept = json.loads(POLICY(body))
    assert kept == {"error": '{"messages": "[left out]"', "n": 1}


def test_a_value_is_redacted_by_names_and_by_shapes() -> None:
    value: Any = {
        "headers": [["Authorization", "Bearer q"], ["accept", "x"]],
        "client_secret": 42,
        "secret": None,
        "deep": [{"url": "http://h?key=abc"}],
        "input": "what was asked",
    }
    assert POLICY.redact_value(value) == {
        "headers": [["Authorization", "[redacted]"], ["accept", "x"]],
        "client_secret": "[redacted]",
        "secret": None,
        "deep": [{"url": "http://h?key=[redacted]"}],
        "input": "what was asked",
    }
    assert POLICY.redact_value(value, keep_fields=False)["input"] == "[left out]"


def test_a_value_without_secrets_is_the_same_object() -> None:
    value: Any = {"a": [1, "b", None, True], "input": {"c": 1.5}}
    assert POLICY.redact_value(value) is value


def test_a_value_too_deep_to_read_is_left_out() -> None:
    value: Any = "sk-abcdefgh12"
    for _ in range(3000):
        value = [value]
    shown = POLICY.redact_value(value)
    while isinstance(shown, list):
        (shown,) = shown
    assert shown == "[left out]"


def test_a_secret_is_seen_in_an_error_and_in_all_it_came_from() -> None:
    error = ValueError("nothing here")
    assert not POLICY.shows_secret(error)
    error.__context__ = KeyError("sk-abcdefgh12")
    assert POLICY.shows_secret(error)
    group = ExceptionGroup("some", [ValueError("fine"), ValueError(b"sk-abcdefgh12")])
    assert POLICY.shows_secret(group)
    noted = ValueError("fine")
    noted.add_note("api_key=q")
    assert POLICY.shows_secret(noted)


def test_only_values_are_looked_for_where_shapes_are_off() -> None:
    policy = RedactionPolicy(values=["my-own-key"], secrets=False)
    assert policy.redact_text("sk-abcdefgh12 my-own-key") == "sk-abcdefgh12 [redacted]"
    assert policy.redact_value({"password": "x"}) == {"password": "x"}


def test_a_policy_does_not_show_what_it_looks_for() -> None:
    assert "my-own-key" not in repr(RedactionPolicy(values=["my-own-key"]))


@pytest.mark.parametrize("wrong", [{"values": ["short"]}, {"names": [""]}, {"prefixes": [""]}])
def test_what_would_match_everywhere_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        RedactionPolicy(**wrong)
