"""What a secret looks like: by its shape (`sk-...`), by the name before it (`api_key=...`), or by its own value.

A rule is a sequence of small patterns, so that two patterns can be made of it: one that finds a secret, and one that
finds what may yet become one where a text is cut. No rule lets its beginning grow without a bound; only the `tail`
does, and at that point the secret is known to be one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ("NAMES", "NEVER", "PREFIXES", "Rule", "make_rules", "name_pattern")

NAMES: Final = (
    "authorization",
    "api-key",
    "access-key",
    "access-token",
    "refresh-token",
    "session-token",
    "security-token",
    "auth-token",
    "id-token",
    "secret",
    "client-secret",
    "password",
    "passwd",
    "private-key",
    "amz-signature",
    "set-cookie",
)
"""The ends of names whose values are secret, in any case; a hyphen stands for `-`, `_` and nothing."""

PREFIXES: Final = (
    ("sk-", r"[\w-]", 8),  # OpenAI, Anthropic, OpenRouter, ...
    ("AIza", r"[\w-]", 8),  # Google
    ("ghp_", r"\w", 16),
    ("gho_", r"\w", 16),
    ("ghs_", r"\w", 16),
    ("github_pat_", r"\w", 16),
    ("glpat-", r"[\w-]", 16),
    ("xoxa-", r"[\w-]", 8),
    ("xoxb-", r"[\w-]", 8),
    ("xoxp-", r"[\w-]", 8),
    ("AKIA", r"[0-9A-Z]", 12),  # AWS
    ("ASIA", r"[0-9A-Z]", 12),
    ("dapi", r"[0-9a-f]", 16),  # Databricks
    ("gsk_", r"\w", 16),  # Groq
    ("hf_", r"\w", 16),
    ("xai-", r"[\w-]", 16),
    ("nvapi-", r"[\w-]", 16),
    ("pplx-", r"\w", 16),
    ("sk_live_", r"\w", 8),  # Stripe
    ("rk_live_", r"\w", 8),
)
"""How keys begin, the characters they go on with, and how many of them make one."""

MAX_TOKEN_HEADER: Final = 1024
"""The longest first part of a JSON web token that is looked for, in characters."""

MIN_BEARER: Final = 20
"""A shorter word behind "bearer" is one of the language."""

SPACE: Final = (r"\s{0,4}", r"\s{0,4}")
SCHEME: Final = (
    r"(?:(?:[Bb]earer|BEARER|[Bb]asic|[Tt]oken|[Aa]pi[Kk]ey)\s{1,4})?",
    r"(?:[Bb](?:e(?:a(?:r(?:er?)?)?)?|a(?:s(?:ic?)?)?)?|B(?:E(?:A(?:R(?:ER?)?)?)?)?|[Tt](?:o(?:k(?:en?)?)?)?"
    r"|[Aa](?:p(?:i(?:[Kk](?:ey?)?)?)?)?)|(?:[Bb]earer|BEARER|[Bb]asic|[Tt]oken|[Aa]pi[Kk]ey)\s{1,4}",
)
QUOTED: Final = (  # the opening quote, and the characters inside
    (r'"', r'(?:[^"\\\r\n]|\\.)', True),
    (r"'", r"(?:[^'\\\r\n]|\\.)", True),
    (r'\\"', r'[^"\\\r\n]', False),  # a string within a JSON string
)
WORD: Final = r"(?:(?<![A-Za-z])|(?<![A-Z])(?=[A-Z]))"
"""Where a word of a name begins: `api_key`, `xApiKey`."""

NEVER: Final = r"(?!)"

BARE: Final = r"[^\s\"'&,;{}\[\]\\<>()]"

Atom = tuple[str, str]
"""A pattern, and one of its beginnings; the second is empty where it is one character or none."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of secret.

    Args:
        kept: what stands before it and stays, such as its name.
        opening: the beginning that says what it is; it is replaced, but tells nothing by itself.
        secret: the least that makes it one.
        tail: what it goes on with, of any length; empty where nothing follows.
        escapes: whether a backslash in the tail takes the next character along.
        boundary: what must be true before its first character.
    """

    kept: Sequence[Atom]
    opening: Sequence[Atom]
    secret: Sequence[Atom]
    tail: str
    escapes: bool = False
    boundary: str = ""

    @property
    def keeps(self) -> bool:
        """Whether something before the secret stays."""
        return bool(self.kept)

    def whole(self) -> str:
        """The pattern of a secret behind its boundary; its one group is what stays, and stands last where nothing does.

        For the regex engine looks at the first character of an alternative before it enters it, and at no group's.
        """
        rest = _joined((*self.opening, *self.secret)) + self.tail
        return f"({_joined(self.kept)}){rest}" if self.keeps else f"{rest}()"

    def beginning(self) -> str:
        """The same of what ends with the text and may become one; its one group is what of the secret is there."""
        return _nested((*self.kept, *self.opening), f"({_nested(self.secret, NEVER)})")


def _joined(atoms: Sequence[Atom]) -> str:
    return "".join(whole for whole, _ in atoms)


def _nested(atoms: Sequence[Atom], inner: str) -> str:
    """Every beginning of the sequence up to the text's end; behind all of it, the text's end or `inner`."""
    is_last = inner == NEVER
    for whole, part in reversed(atoms):
        goes_on = inner if is_last else rf"(?:\Z|{inner})"
        is_last = False
        inner = rf"(?:{whole}{goes_on}" + (rf"|(?:{part})\Z)" if part else ")")
    return inner


def _spelled(word: str) -> list[Atom]:
    return [(re.escape(letter), "") for letter in word]


def _any_case(word: str) -> str:
    """A name's letters in either case; its hyphens as they are written anywhere."""
    return "".join("[-_]?" if letter == "-" else f"[{letter.lower()}{letter.upper()}]" for letter in word)


def _name_beginning(names: Iterable[str]) -> str:
    """Every proper beginning of a name, longest first."""
    heads = {name[:end] for name in names for end in range(1, len(name))}
    return "|".join(_any_case(head) for head in sorted(heads, key=len, reverse=True))


def name_pattern(names: Iterable[str]) -> str:
    """The pattern of any of the names."""
    return "(?:" + "|".join(map(_any_case, sorted(names, key=len, reverse=True))) + ")"


def make_rules(
    names: Sequence[str] = (), prefixes: Sequence[str] = (), values: Sequence[str] = (), *, by_shape: bool = True
) -> list[Rule]:
    """All rules, those that are looked for first in front.

    Args:
        names: more names, beside `NAMES`.
        prefixes: more beginnings of keys, beside `PREFIXES`.
        values: secrets themselves.
        by_shape: False looks for `values` only.
    """
    rules = [_value_rule(value) for value in sorted(values, key=len, reverse=True)]
    if not by_shape:
        return rules
    lowered = [name.lower().replace("_", "-") for name in names]
    rules += _name_rules((*NAMES, *lowered))
    shapes = [*PREFIXES, *((prefix, r"[\w-]", 8) for prefix in prefixes)]
    return [*rules, _web_token_rule(), _bearer_rule(), *(_shape_rule(*shape) for shape in shapes)]


def _value_rule(value: str) -> Rule:
    head = min(3, len(value) // 2)
    return Rule((), _spelled(value[:head]), _spelled(value[head:]), "")


def _shape_rule(prefix: str, letters: str, least: int) -> Rule:
    secret = (f"{letters}{{{least}}}", f"{letters}{{1,{least - 1}}}")
    return Rule((), _spelled(prefix), (secret,), f"{letters}*+", boundary=r"\b")


def _web_token_rule() -> Rule:
    header = rf"[\w-]{{8,{MAX_TOKEN_HEADER}}}"
    atoms = ((header, rf"[\w-]{{1,{MAX_TOKEN_HEADER}}}"), (r"\.", ""), (r"[\w-]{4}", r"[\w-]{1,3}"))
    return Rule((), _spelled("eyJ"), atoms, r"[\w.-]*+", boundary=r"\b")


def _bearer_rule() -> Rule:
    letters = r"[\w.~+/=-]"
    word = [(f"[{letter}{letter.upper()}]", "") for letter in "bearer"]
    secret = (f"{letters}{{{MIN_BEARER}}}", f"{letters}{{1,{MIN_BEARER - 1}}}")
    return Rule((*word, (r"\s{1,4}", "")), (), (secret,), f"{letters}*+", boundary=r"\b")


def _name_rules(names: Sequence[str]) -> list[Rule]:
    """`"name": "value"` with quotes of each kind, and `name=value` without; `?key=` is one only in a URL."""
    name = (name_pattern(names), _name_beginning(names))
    closing = (r"(?:\\?[\"'])?", r"\\")
    rules = []
    for quote, inside, escapes in QUOTED:
        opening = (quote, r"\\") if quote.startswith("\\") else (quote, "")
        kept = (name, closing, SPACE, (r"[:=,]", ""), SPACE, (r"b?", ""), opening, SCHEME)
        least = (inside, r"\\" if escapes else "")
        rules.append(Rule(kept, (), (least,), f"{inside}*+", escapes, boundary=WORD))
    bare = (BARE, "")
    rules.append(Rule((name, SPACE, (r"[:=]", ""), SPACE, SCHEME), (), (bare,), f"{BARE}*+", boundary=WORD))
    rules.append(Rule(((r"[?&]", ""), *_spelled("key"), ("=", "")), (), (bare,), f"{BARE}*+"))
    return rules
