"""How many values a body holds, told before it is read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxstream.gateway import body_values
from rxstream.gateway.body_values import MAX_VALUES, holds_too_many
from rxstream.testing import answer, run

from .kit import CHAT, asking

VALUES = st.recursive(
    st.none() | st.integers() | st.text(alphabet='a",[{\\'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(alphabet='a",[{\\'), inner),
)


def marked(value: Any) -> int:
    """Values behind a comma, arrays and objects: what is counted without a look at texts."""
    if isinstance(value, list | dict):
        inside = list(value.values()) if isinstance(value, dict) else value
        return 1 + max(0, len(inside) - 1) + sum(map(marked, inside))
    return 0


@given(value=VALUES, limit=st.integers(0, 12))
def test_marks_in_texts_count_for_nothing(value: Any, limit: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(body_values, "MAX_VALUES", limit)
        said = holds_too_many(json.dumps(value).encode())
        texts = json.dumps(value).count('"') // 2
        assert said == (marked(value) > limit) or (said and texts >= 2 * limit)


def test_a_long_text_is_one_value_whatever_is_in_it() -> None:
    assert not holds_too_many(json.dumps({"a": ',[{"\\' * MAX_VALUES}).encode())


@pytest.mark.parametrize("value", [b"[],", b"{},", b"1,", b'"",'])
def test_more_values_than_the_loop_has_time_for_are_not_read(value: bytes) -> None:
    body = b'{"model":"m","messages":[' + value * (2 * MAX_VALUES) + b"0]}"

    async def main() -> None:
        async with asking(answer("hi")) as (client, provider):
            said = await client.post(CHAT, content=body, headers={"content-type": "application/json"})
            assert said.status_code == 400
            assert said.json()["error"]["message"] == "the body holds more than 500000 values"
            assert not provider.requests

    run(main())
