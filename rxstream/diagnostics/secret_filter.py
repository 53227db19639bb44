"""Find secrets in a text, also in one that comes in pieces and is cut anywhere.

What leaves for a text in pieces is what leaves for it as a whole. What may become a secret is held back; the rules
bound how long that can be (`SecretPatterns.max_held_chars`). Once it is one, `[redacted]` leaves, and all that belongs
to it is dropped as it comes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from rxstream.diagnostics.secret_rules import MAX_TOKEN_HEADER, NEVER, Rule

__all__ = ("REDACTED", "SecretFilter", "SecretPatterns")

REDACTED: Final = "[redacted]"

REST_OF_WORD: Final = r"[^\s\"']*+"
"""What is dropped behind a part of a value that was taken for the value."""

MAX_BEGINNING: Final = MAX_TOKEN_HEADER + 16
"""The longest beginning of any rule but for values, in characters: a web token without its second part."""


class SecretPatterns:
    """The rules as patterns. They are compiled when first used.

    Args:
        rules: what is secret.
        max_held_chars: the longest beginning of a secret that is not one yet.
    """

    __slots__ = ("_beginning", "_tails", "_whole", "max_held_chars", "rules")

    def __init__(self, rules: Sequence[Rule], longest_value: int = 0) -> None:
        self.rules = rules
        self.max_held_chars = max(MAX_BEGINNING, longest_value)
        self._whole: re.Pattern[str] | None = None
        self._beginning: re.Pattern[str] | None = None
        self._tails: dict[str, re.Pattern[str]] = {}

    @property
    def whole(self) -> re.Pattern[str]:
        """A secret; the number of its last group, less one, is its rule's."""
        if self._whole is None:
            self._whole = self._compiled(Rule.whole)
        return self._whole

    @property
    def beginning(self) -> re.Pattern[str]:
        """What may become one; it has a group where a part of the secret is there."""
        if self._beginning is None:
            self._beginning = self._compiled(Rule.beginning)
        return self._beginning

    def _compiled(self, pattern_of: Callable[[Rule], str]) -> re.Pattern[str]:
        """One pattern of all rules; a boundary that several in a row share is asked for once."""
        runs = groupby(self.rules, key=lambda rule: rule.boundary)
        parts = [f"{boundary}(?:{'|'.join(map(pattern_of, run))})" for boundary, run in runs]
        return re.compile("|".join(parts) or NEVER, re.ASCII | re.DOTALL)

    def tail(self, rule: Rule) -> re.Pattern[str]:
        """How a secret of that rule goes on."""
        if rule.tail not in self._tails:
            self._tails[rule.tail] = re.compile(rule.tail, re.ASCII | re.DOTALL)
        return self._tails[rule.tail]

    def redact(self, text: str) -> str:
        """`text` without its secrets; the same object where it has none."""
        if self.whole.search(text) is None:
            return text
        return self.whole.sub(lambda found: found[found.lastindex or 0] + REDACTED, text)


class SecretFilter:
    """One text that comes in pieces.

    Args:
        patterns: what is secret.
    """

    __slots__ = ("_from", "_held", "_open", "_patterns", "_seen")

    def __init__(self, patterns: SecretPatterns) -> None:
        self._patterns = patterns
        self._seen = ""  # what has left and still counts: the character before, and a beginning that tells nothing
        self._from = 0  # where in it that beginning is; its end where there is none
        self._held = ""
        self._open: Rule | None = None  # the secret whose tail is being dropped

    @property
    def is_holding(self) -> bool:
        """Whether something waits for what follows."""
        return bool(self._held) and self._open is None

    @property
    def held(self) -> str:
        """What waits."""
        return self._held if self.is_holding else ""

    @property
    def holds_part(self) -> bool:
        """Whether a part of a secret may be in what waits, so that `pause` would take it for one."""
        found = self._held_beginning() if self.is_holding else None
        return found is not None and bool(found.lastindex and found[found.lastindex])

    def _held_beginning(self) -> re.Match[str]:
        found = self._patterns.beginning.search(self._seen + self._held, self._from)
        assert found is not None  # it is why something is held
        return found

    def feed(self, piece: str) -> str:
        """Take a piece in; what may leave by now."""
        return self._read(piece, is_last=False)

    def close(self) -> str:
        """The text has ended: what was held is no secret."""
        return self._read("", is_last=True)

    def pause(self) -> str:
        """Something else is about to leave, and nobody knows whether this text goes on.

        What was held leaves, unless some of it may be a part of a secret: then it is taken for one.
        """
        if not self.is_holding:
            return ""
        text, sent = self._seen + self._held, len(self._seen)
        found = self._held_beginning()
        if found.lastindex is None or not found[found.lastindex]:
            held = self._held
            self._remember(text, found.start(), len(text))
            return held
        rule = self._patterns.rules[found.lastindex - 1]
        kept = text[sent : found.start(found.lastindex)] if rule.keeps else ""
        self._drop_from(rule if rule.tail else replace(rule, tail=REST_OF_WORD), text, len(text))
        return kept + REDACTED

    def _read(self, piece: str, *, is_last: bool) -> str:
        if self._open is not None:
            text = self._held + piece
            end = self._tail_end(self._open, text)
            if self._goes_on(self._open, text, end) and not is_last:
                self._drop_from(self._open, self._seen + text, len(self._seen) + end)
                return ""
            self._open, piece = None, ""
            self._remember(self._seen + text, len(self._seen) + end, len(self._seen) + end)
        return self._scan(self._seen + self._held + piece, is_last=is_last)

    def _scan(self, text: str, *, is_last: bool) -> str:
        out: list[str] = []
        patterns, start, sent = self._patterns, self._from, len(self._seen)
        while True:
            whole = patterns.whole.search(text, start)
            begun = None
            if not is_last:
                begun = patterns.beginning.search(text, max(start, len(text) - patterns.max_held_chars))
            if begun is not None and (whole is None or begun.start() <= whole.start()):
                held_from = max(begun.start(), sent)
                out.append(text[sent:held_from])
                self._remember(text, begun.start(), held_from)
                return "".join(out)
            if whole is None:
                out.append(text[sent:])
                self._remember(text, len(text), len(text))
                return "".join(out)
            group = whole.lastindex or 0
            rule, start = patterns.rules[group - 1], whole.end()
            kept_to = whole.end(group) if rule.keeps else whole.start()
            out += (text[sent : max(sent, kept_to)], REDACTED)
            sent = start
            if not is_last and self._goes_on(rule, text, start):
                self._drop_from(rule, text, start)
                return "".join(out)

    def _remember(self, text: str, begun: int, sent: int) -> None:
        """All of `text` before `sent` has left; the rest is held. What may become a secret starts at `begun`."""
        before = max(min(begun, sent) - 1, 0)
        self._seen, self._from, self._held = text[before:sent], min(begun, sent) - before, text[sent:]

    def _drop_from(self, rule: Rule, text: str, end: int) -> None:
        """The secret goes on behind `end`."""
        self._remember(text, end, end)
        self._open = rule

    def _tail_end(self, rule: Rule, text: str) -> int:
        tail = self._patterns.tail(rule).match(text)
        return 0 if tail is None else tail.end()

    @staticmethod
    def _goes_on(rule: Rule, text: str, end: int) -> bool:
        return bool(rule.tail) and (end == len(text) or (rule.escapes and text[end:] == "\\"))
