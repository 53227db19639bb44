"""What must not be kept or shown, as one object: secrets, and what was asked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from rxstream.diagnostics.secret_filter import REDACTED, SecretFilter, SecretPatterns
from rxstream.diagnostics.secret_rules import NAMES, make_rules, name_pattern
from rxstream.framing.json_scan import ValueScanner

__all__ = ("DEFAULT_POLICY", "RedactionPolicy", "redact_secrets")

LEFT_OUT: Final = "[left out]"

PROMPT_FIELDS: Final = frozenset(
    [
        "chat_history",
        "contents",
        "documents",
        "input",
        "inputs",
        "instructions",
        "message_history",
        "messages",
        "preamble",
        "prompt",
        "prompts",
        "system",
        "systemInstruction",
        "system_instruction",
    ]
)
"""The fields of the wires, and of what servers say about requests, that hold what was asked."""

ARGUMENT_FIELDS: Final = frozenset(["args", "arguments", "input_json", "partial_json", "tool_input"])
"""The fields that hold the arguments of calls."""

MAX_DEPTH: Final = 200
"""Deeper values are left out: nothing that a wire may send nests so deep."""

MAX_CAUSES: Final = 64

MIN_VALUE_CHARS: Final = 6


class RedactionPolicy:
    """What is replaced in a text, a JSON value or an error: a function from text to text, and more.

    Secrets are found by their shape (`sk-...`, `AIza...`, web tokens, bearer tokens), by the name before them
    (`api_key=`, `"authorization":`, `?key=`), and by their own value where it is given. A bare word without shape, name
    or value cannot be known.

    Args:
        names: more names whose values are secret, in any case, such as `"x-tenant-key"`; `-` stands for `_` too.
        prefixes: more beginnings of keys, such as `"acme_"`; eight letters, digits, `-` or `_` behind one make a key.
        values: secrets themselves, such as the key of the application; each has six characters or more.
        secrets: False looks for `values` only.
        prompts: True keeps what was asked. By default the values of fields such as `messages` and `input` are left out
            of texts that are kept (`policy(text)`) and of the provider's raw objects.
        arguments: True keeps the arguments of calls there too.

    Raises:
        ValueError: a name or prefix is empty, or a value too short to be told from other text.
    """

    __slots__ = ("_field_start", "_fields", "_names", "_patterns", "_shown")

    def __init__(
        self,
        *,
        names: Iterable[str] = (),
        prefixes: Iterable[str] = (),
        values: Iterable[str] = (),
        secrets: bool = True,
        prompts: bool = False,
        arguments: bool = False,
    ) -> None:
        names, prefixes, values = tuple(names), tuple(prefixes), tuple(values)
        if not all((*names, *prefixes)) or any(len(value) < MIN_VALUE_CHARS for value in values):
            raise ValueError(f"names and prefixes must not be empty, values have {MIN_VALUE_CHARS} characters or more")
        rules = make_rules(names, prefixes, values, by_shape=secrets)
        self._patterns = SecretPatterns(rules, max(map(len, values), default=0))
        lowered = [name.lower().replace("_", "-") for name in names]
        self._names = re.compile(name_pattern((*NAMES, *lowered)) + r"\Z" if secrets else r"(?!)")
        self._fields = (frozenset() if prompts else PROMPT_FIELDS) | (frozenset() if arguments else ARGUMENT_FIELDS)
        fields = "|".join(sorted(map(re.escape, self._fields), key=len, reverse=True)).encode()
        self._field_start = re.compile(rb'\\?"(?:' + fields + rb')\\?"\s*:\s*') if self._fields else None
        self._shown = f"{len(rules)} rules, prompts={prompts}, arguments={arguments}"

    def __repr__(self) -> str:
        return f"RedactionPolicy({self._shown})"  # what it looks for may be a secret itself

    def __call__(self, text: str) -> str:
        """What may be kept of `text`: no secrets, and none of the fields that are left out."""
        return self.redact_text(self._leave_out(text))

    def redact_text(self, text: str) -> str:
        """`text` without secrets."""
        return self._patterns.redact(text)

    def text_filter(self) -> SecretFilter:
        """The same for one text that comes in pieces."""
        return SecretFilter(self._patterns)

    def redact_value(self, value: Any, *, keep_fields: bool = True) -> Any:
        """A JSON value without secrets; the value itself where it has none.

        Args:
            value: what JSON can say.
            keep_fields: False leaves the fields out that `prompts` and `arguments` are about.
        """
        return self._redact(value, keep_fields, MAX_DEPTH)

    def shows_secret(self, error: BaseException) -> bool:
        """Whether a secret stands in an error, in its notes, or in one of those that it came from."""
        return any(self.redact_text(text) != text for each in _chain(error) for text in _texts(each))

    # Values ----------------------------------------------------------------------------------------------------------

    def _redact(self, value: Any, keep_fields: bool, depth: int) -> Any:
        if isinstance(value, str):
            return self.redact_text(value)
        if isinstance(value, dict):
            return self._redact_object(value, keep_fields, depth) if depth else LEFT_OUT
        if isinstance(value, list | tuple):
            return self._redact_list(value, keep_fields, depth) if depth else LEFT_OUT
        return value

    def _redact_object(self, value: dict[Any, Any], keep_fields: bool, depth: int) -> dict[Any, Any]:
        made = {}
        for key, item in value.items():
            shown = self.redact_text(key) if isinstance(key, str) else key
            if not keep_fields and key in self._fields and item is not None:
                made[shown] = LEFT_OUT
            elif self._is_secret_name(key) and isinstance(item, str | int | float) and not isinstance(item, bool):
                made[shown] = REDACTED
            else:
                made[shown] = self._redact(item, keep_fields, depth - 1)
        is_same = len(made) == len(value) and all(
            made_key is key and made_item is item
            for (made_key, made_item), (key, item) in zip(made.items(), value.items(), strict=True)
        )
        return value if is_same else made

    def _redact_list(self, value: Any, keep_fields: bool, depth: int) -> Any:
        made = [self._redact(item, keep_fields, depth - 1) for item in value]
        if len(made) == 2 and isinstance(value[1], str) and self._is_secret_name(value[0]):
            made[1] = REDACTED  # a header as a pair
        is_same = all(new is old for new, old in zip(made, value, strict=True))
        return value if is_same else made

    def _is_secret_name(self, key: object) -> bool:
        return isinstance(key, str) and self._names.search(key) is not None

    # Fields in a text that is JSON, or its beginning, or has some in it -----------------------------------------------

    def _leave_out(self, text: str) -> str:
        if self._field_start is None or '"' not in text:
            return text
        data = text.encode("utf-8", "surrogatepass")
        out: list[bytes] = []
        place = 0
        while (found := self._field_start.search(data, place)) is not None:
            is_escaped = found[0].startswith(b"\\")
            quote = b'\\"' if is_escaped else b'"'
            out += (data[place : found.end()], quote, LEFT_OUT.encode(), quote)
            place = (_escaped_value_end if is_escaped else _value_end)(data, found.end())
        out.append(data[place:])
        return b"".join(out).decode("utf-8", "surrogatepass")


_ESCAPED_STRING: Final = re.compile(rb'\\"(?:[^"\\]++|\\\\(?:\\.|[^"\\])|\\[^"\\])*+\\"', re.DOTALL)
_REST_OF_STRING: Final = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)


def _escaped_value_end(data: bytes, place: int) -> int:
    """The same in a JSON text that is a string of another one. What is no string there has the rest of it."""
    found = _ESCAPED_STRING.match(data, place) or _REST_OF_STRING.match(data, place)
    return place if found is None else found.end()


def _value_end(data: bytes, place: int) -> int:
    """The place behind the JSON value that begins at `place`; the end of `data` where it is not whole."""
    if place == len(data):
        return place
    scanner = ValueScanner(max_depth=len(data))
    scanner.begin(data[place])
    end = scanner.advance(data, place, len(data) - place)
    return len(data) if end == -1 else end


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and every one that it came from, each once."""
    waiting, seen = [error], set[int]()
    while waiting and len(seen) < MAX_CAUSES:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        waiting += [cause for cause in (each.__cause__, each.__context__) if cause is not None]
        waiting += getattr(each, "exceptions", ())


def _texts(error: BaseException) -> Iterator[str]:
    yield str(error)
    yield repr(error)
    yield from map(str, getattr(error, "__notes__", ()))
    for argument in error.args:
        yield argument if isinstance(argument, str) else repr(argument)


DEFAULT_POLICY: Final = RedactionPolicy()


def redact_secrets(text: str) -> str:
    """Replace what has the name or the shape of a key or token by `[redacted]`; the rest stays readable."""
    return DEFAULT_POLICY.redact_text(text)
