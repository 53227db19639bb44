"""Text that grows by pieces: joined once, folded while it comes, bounded to the byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxstream.errors import LimitError
from rxstream.response import pieces as pieces_module
from rxstream.response.pieces import Budget, Pieces, utf8_length

any_text = st.text(st.characters(exclude_categories=()), max_size=9)
steps = st.lists(st.tuples(st.integers(0, 2), any_text, st.booleans()), max_size=60)


@pytest.mark.parametrize(("text", "size"), [("", 0), ("abc", 3), ("é", 2), ("日", 3), ("🎉", 4), ("\ud83d", 3)])
def test_length_is_that_of_utf8(text: str, size: int) -> None:
    assert utf8_length(text) == size


@given(steps=steps, limit=st.integers(1, 120))
def test_texts_that_share_a_budget_hold_what_fitted_whoever_looks_meanwhile(
    steps: list[tuple[int, str, bool]], limit: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces_module, "ROOM_CHARS", 8)
        patch.setattr(pieces_module, "FOLD_PIECES", 3)
        check_against_plain_strings(steps, limit)


def check_against_plain_strings(steps: list[tuple[int, str, bool]], limit: int) -> None:
    budget = Budget("text", limit, "max_text_bytes")
    grown = [Pieces() for _ in range(3)]
    plain = ["", "", ""]
    for place, text, is_looked_at in steps:
        fits = sum(map(utf8_length, plain)) + utf8_length(text) <= limit
        if fits:
            budget.add(grown[place], text)
            plain[place] += text
        else:
            with pytest.raises(LimitError, match=f"max_text_bytes={limit}"):
                budget.add(grown[place], text)
        if is_looked_at:
            assert grown[place].text == plain[place]
    assert [one.text for one in grown] == plain


@given(st.lists(any_text.filter(bool), max_size=20), any_text)
def test_pieces_match_their_joined_text_and_nothing_else(given_pieces: list[str], other: str) -> None:
    grown = Pieces()
    grown.items.extend(given_pieces)
    joined = "".join(given_pieces)
    assert grown.matches(joined)
    assert grown.matches(other) is (other == joined)
    assert not grown.matches(joined + "x")
    assert len(grown.items) == len(given_pieces)  # nothing was joined for it


def test_the_joined_text_is_kept() -> None:
    grown = Pieces()
    grown.items.extend(["ab", "cd"])
    assert grown.text is grown.text


def test_small_pieces_are_folded_while_they_come() -> None:
    budget, grown = Budget("text", 1 << 20, "max_text_bytes"), Pieces()
    for _ in range(50_000):
        budget.add(grown, "eight by")
    assert len(grown.items) < 2_000
    assert grown.added == 50_000


def test_large_pieces_are_not_copied() -> None:
    budget, grown = Budget("text", 1 << 24, "max_text_bytes"), Pieces()
    sent = [chr(97 + number % 26) * 1024 for number in range(2_000)]
    for piece in sent:
        budget.add(grown, piece)
    assert all(held is piece for held, piece in zip(grown.items, sent, strict=True))


def test_a_prefix_is_what_the_text_was() -> None:
    grown = Pieces()
    grown.items.extend(["ab", "cd", "ef"])
    assert [grown.prefix(chars) for chars in (0, 2, 4, 6)] == ["", "ab", "abcd", "abcdef"]


def test_what_is_spent_elsewhere_counts() -> None:
    budget, grown = Budget("reasoning", 10, "max_text_bytes"), Pieces()
    budget.add(grown, "1234")
    budget.charge(6)
    with pytest.raises(LimitError):
        budget.add(grown, "x")
    assert grown.text == "1234"
