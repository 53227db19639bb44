"""A secret is found wherever the text was cut, and what is none leaves unchanged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxstream.diagnostics import RedactionPolicy, redact_secrets

POLICY = RedactionPolicy(values=["hunter2-is-it", "two words!"], prefixes=["acme_"], names=["x-tenant"])

TEXTS = {
    "key sk-abcdefgh123 end": "key [redacted] end",
    "AIzaabcdefgh, ghp_0123456789abcdef.": "[redacted], [redacted].",
    "acme_abcdefgh": "[redacted]",
    "it is hunter2-is-it; and two words!!": "it is [redacted]; and [redacted]!",
    "authorization: Bearer abc ok": "authorization: Bearer [redacted] ok",
    "Authorization: Bearer": "Authorization: [redacted]",
    'bearer abcdefghijklmnopqrstuvwxyz" ok': 'bearer [redacted]" ok',
    '{"api_key": "x y\\"z", "n": 1}': '{"api_key": "[redacted]", "n": 1}',
    '{"x-tenant": "t"}': '{"x-tenant": "[redacted]"}',
    '"{\\"password\\": \\"p q\\"}"': '"{\\"password\\": \\"[redacted]\\"}"',
    "password='a b' x": "password='[redacted]' x",
    "https://h/v1?alt=sse&key=abc&x=1": "https://h/v1?alt=sse&key=[redacted]&x=1",
    "OPENAI_API_KEY=zzz\n": "OPENAI_API_KEY=[redacted]\n",
    "xApiKey: q": "xApiKey: [redacted]",
    "('authorization', 'Bearer q')": "('authorization', 'Bearer [redacted]')",
    "jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOjF9.abc-_d!": "jwt [redacted]!",
}

PLAIN = (
    "",
    "The secret of tea is time. The bearer of news, a token: sk-8, sk-, AIza.",
    "is a basket risk-averse-people-everywhere? Really? max_tokens=5 author: me",
    '{"cursor": "eyJsYXN0IjoxfQ", "password": "", "tokens": ["a"]}',
    "ſk-abcdefghijkl, пароль: 123456, \ud83d half",
)


@pytest.mark.parametrize(("text", "expected"), TEXTS.items())
def test_a_secret_is_replaced_and_what_stands_around_it_stays(text: str, expected: str) -> None:
    assert POLICY.redact_text(text) == expected


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_no_secret_stays(text: str) -> None:
    assert POLICY.redact_text(text) is text


def filtered(pieces: list[str], policy: RedactionPolicy = POLICY) -> str:
    text = policy.text_filter()
    return "".join([*map(text.feed, pieces), text.close()])


@pytest.mark.parametrize("text", [*TEXTS, *PLAIN])
def test_every_cut_gives_what_the_whole_text_gives(text: str) -> None:
    expected = POLICY.redact_text(text)
    assert filtered(list(text)) == expected
    for size in (2, 3, 7):
        assert filtered([text[place : place + size] for place in range(0, len(text), size)]) == expected
    for cut in range(len(text)):
        assert filtered([text[:cut], text[cut:]]) == expected


WORDS = """sk-|abcdefgh|AIza|api_key|secret|authorization|bearer|eyJabcdefgh|.|"|'|\\|=|:|,|?key=|&|hunter2-is-it|
hunter2|two words|!|-|é|x|{|B| |Bearer """
words = st.sampled_from(WORDS.split("|"))


@given(st.lists(words, max_size=14).map("".join), st.data())
def test_any_text_in_any_pieces_leaves_as_it_leaves_whole(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert filtered(pieces) == POLICY.redact_text(text)


@given(st.lists(words, max_size=14).map("".join), st.data())
def test_a_pause_anywhere_lets_no_secret_through(text: str, data: st.DataObject) -> None:
    secret = data.draw(st.sampled_from(["sk-PLANTEDPLANTED", "hunter2-is-it", "api_key=PLANTEDPLANTED"]))
    whole = f"{text} {secret} {text}"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    filter_, out = POLICY.text_filter(), ""
    for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        out += filter_.feed(whole[start:end]) + filter_.pause()
    out += filter_.close()
    assert "PLANT" not in out
    assert "hunter2-is" not in out.replace(text, "")


def test_a_pause_lets_a_beginning_that_tells_nothing_go_and_remembers_it() -> None:
    text = POLICY.text_filter()
    assert text.feed("the sk") == "the "
    assert text.pause() == "sk"
    assert text.feed("-abcdefgh12") == "[redacted]"
    assert text.feed("34 ok") == " ok"


def test_a_pause_takes_a_part_of_a_secret_for_one() -> None:
    text = POLICY.text_filter()
    assert text.feed("the sk-abc") == "the "
    assert text.pause() == "[redacted]"
    assert text.feed("defgh and") == " and"


def test_a_long_secret_is_dropped_as_it_comes_and_nothing_is_held() -> None:
    text = POLICY.text_filter()
    assert text.feed("sk-abcdefgh") == "[redacted]"
    for _ in range(1000):
        assert text.feed("x" * 100) == ""
        assert not text.is_holding
    assert text.feed(". end") == ". end"


def test_what_is_held_is_bounded() -> None:
    text = POLICY.text_filter()
    out = text.feed("eyJ" + "a" * 5000)
    assert out + text.close() == "eyJ" + "a" * 5000
    assert len(out) >= 5003 - 2000


def test_redact_secrets_is_the_default_policy_for_texts() -> None:
    assert redact_secrets('{"messages":["m"],"api-key":"k"}') == '{"messages":["m"],"api-key":"[redacted]"}'
