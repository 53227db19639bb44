"""Errors as providers say them: an HTTP response that is no stream, or an error object inside one.

What may be shown is made here from a category's fixed sentence, the status, and the provider's type and code where they
look like identifiers. The provider's own message may repeat the prompt or a key: with headers and body it is *detail*,
which only `Diagnostics` keeps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Final

from pydantic import JsonValue
from pydantic_core import from_json, to_json

from rxstream.errors import Category, Phase, ProviderError, RetryHint, StreamError, TransportError
from rxstream.providers.error_tables import (
    NEVER_RETRY,
    RETRYABLE,
    SENTENCES,
    category_of_status,
    category_of_word,
    comparable,
    names_status,
)
from rxstream.providers.fields import JsonObject, whole_number

__all__ = ("error_from_object", "error_from_response", "is_error_object", "retry_hint")

REQUEST_ID_HEADERS: Final = (
    *("x-request-id", "request-id", "x-amzn-requestid"),
    *("apim-request-id", "x-ms-request-id", "x-goog-request-id", "cf-ray"),
)

MAX_WAIT_SECONDS: Final = 30 * 24 * 3600.0
"""A longer wait is no hint but a mistake."""

GENERAL: Final = ("invalid_request", "provider")
"""What types say of nearly everything: OpenAI's answer to a missing key is an `invalid_request_error` with a 401."""

MAX_CODE: Final = 10**9

IDENTIFIER: Final = re.compile(r"[A-Za-z0-9_.:/-]{1,64}")

SECRET_SHAPE: Final = re.compile(
    r"(?i)^(?:sk|pk|rk|key|api|token|bearer|ghp|gho|xox[a-z]|akia|aiza|dapi|hf|gsk|xai|eyj)[-_]?[\w.-]{12,}$"
    r"|[0-9a-f]{24,}|(?=[\w/+-]*[0-9])(?=[\w/+-]*[A-Z])(?=[\w/+-]*[a-z])[\w/+-]{24,}"
)
"""Keys by their beginnings, long hexadecimal, long runs of mixed case with digits."""


@dataclass(slots=True)
class _Said:
    """What a provider said of its error, whatever the shape."""

    code: str | int | None = None
    kind: str | None = None
    status: int | None = None
    after_seconds: float | None = None


def error_from_response(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    content_type: str | None = None,
    truncated: bool = False,
    now: datetime | None = None,
) -> StreamError:
    """The error that a response stands for: a status of 400 or more, or one that is no stream.

    Args:
        status: its HTTP status.
        headers: its headers.
        body: what was read of its body.
        content_type: its media type, where `headers` do not say it.
        truncated: whether `body` is only the beginning.
        now: what a date in `Retry-After` is measured against, where the response has no `Date`.

    Returns:
        A `ProviderError` where the provider said that it failed, a `TransportError` where something answered that is no
        stream. Its phase is `before_stream`; its detail is a JSON text with the status, the headers, the request id and
        the body.
    """
    headers = {name.lower(): value for name, value in headers.items()}
    value = _read_body(body, truncated)
    detail = _detail(status, headers, body, truncated)
    if status < 400 and not _is_error(value):
        media_type = _media_type(headers.get("content-type") or content_type or "")
        message = f"what answered is not a stream (status {status}{media_type})"
        return TransportError(message, status=status, phase="before_stream", detail=detail, retry=RetryHint())
    said = _read_error(value)
    return _provider_error(said, status if status >= 400 else None, headers, detail, "before_stream", now)


def error_from_object(
    obj: JsonValue, *, status: int | None = None, phase: Phase | None = None, detail: object = None
) -> ProviderError:
    """The error that an object inside a stream stands for.

    Args:
        obj: the frame, or its error: any of `{"error": {...}}`, `{"error": "text"}`,
            `{"type": "error", "error": {...}}`, `{"message", "code"}`, `{"error_code", "message"}`, `{"detail"}`,
            or a text.
        status: the status it stands for, where something else than the object says so.
        phase: how far the answer had come; None where the caller does not know.
        detail: what is protected; by default the object as JSON.
    """
    protected = to_json(obj).decode() if detail is None else detail
    return _provider_error(_read_error(obj), status, {}, protected, phase, None)


def is_error_object(obj: JsonObject) -> bool:
    """Whether an object that is no chunk of an answer says that something failed.

    An `error` that is null, empty or false says nothing. Without that key, only shapes that no answer has are errors.
    """
    if obj.get("error"):
        return True
    if obj.get("type") in ("error", "exception") or obj.get("object") == "error" or obj.get("error_code"):
        return True
    if "choices" in obj or "usage" in obj:
        return False
    has_message = isinstance(obj.get("message"), str)
    return (has_message and bool(obj.get("code") or obj.get("status"))) or (bool(obj.get("detail")) and "id" not in obj)


def retry_hint(
    headers: Mapping[str, str], *, retryable: bool, after_seconds: float | None = None, now: datetime | None = None
) -> RetryHint:
    """Whether and when to try again, by a response's headers.

    Args:
        headers: with names in lower case. `x-should-retry` decides; `retry-after-ms` counts before `retry-after`, which
            is seconds or a date.
        retryable: what is true where the headers do not say.
        after_seconds: the wait that the body asks for, where the headers ask for none.
        now: what a date is measured against, where the response has no `Date`.
    """
    should = headers.get("x-should-retry", "").strip().lower()
    if should in ("true", "false"):
        retryable = should == "true"
    wait = next(_waits(headers, now), after_seconds)
    return RetryHint(retryable, wait)


def _waits(headers: Mapping[str, str], now: datetime | None) -> Iterator[float]:
    milliseconds = _seconds(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        yield milliseconds / 1000
    asked = headers.get("retry-after", "")
    seconds = _seconds(asked)
    if seconds is None and (until := _date(asked)) is not None:
        start = _date(headers.get("date", "")) or now or datetime.now(UTC)
        seconds = _sane((until - start).total_seconds())
    if seconds is not None:
        yield seconds


def _seconds(text: str) -> float | None:
    try:
        return _sane(float(text))
    except ValueError:
        return None


def _sane(seconds: float) -> float | None:
    return max(0.0, seconds) if isfinite(seconds) and seconds <= MAX_WAIT_SECONDS else None


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def _read_body(body: bytes, truncated: bool) -> JsonValue:
    try:
        # Of a body that was cut, what came is read; this is an error to be shown, not a result to be used.
        value: JsonValue = from_json(body, allow_partial=truncated)
    except ValueError:
        return None
    if isinstance(value, list):  # Gemini's array form has its error as the only element
        return value[0] if len(value) == 1 else None
    return value


def _is_error(value: JsonValue) -> bool:
    return isinstance(value, dict) and is_error_object(value)


def _read_error(obj: JsonValue) -> _Said:
    """Merge the levels of an error object, outermost last: what is nearest to the error says more."""
    levels = list(_levels(obj))
    said = _Said()
    for level in levels:
        said.code = said.code if said.code is not None else _code(level)
        said.kind = said.kind or _kind(level)
        said.status = said.status or _status(level)
        said.after_seconds = said.after_seconds if said.after_seconds is not None else _retry_delay(level)
    return said


def _levels(obj: JsonValue) -> Iterator[JsonObject]:
    if isinstance(obj, list):
        obj = obj[0] if obj else None
    if not isinstance(obj, dict):
        return
    for key in ("error", "detail", "response"):
        if isinstance(obj.get(key), (dict, list)):
            yield from _levels(obj[key])
    yield obj


def _code(level: JsonObject) -> str | int | None:
    for key in ("code", "error_code"):
        value = level.get(key)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MAX_CODE:
            return value
        if isinstance(value, str) and value:
            return value
    return None


def _kind(level: JsonObject) -> str | None:
    for key in ("type", "status", "__type"):
        value = level.get(key)
        if isinstance(value, str) and value not in ("", "error", "exception", "failed"):
            return value
    return None


def _status(level: JsonObject) -> int | None:
    for key in ("status_code", "status", "code", "error_code", "http_status"):
        value = level.get(key)
        status = names_status(value if isinstance(value, str) else whole_number(value))
        if status is not None:
            return status
    return None


def _retry_delay(level: JsonObject) -> float | None:
    """Google puts it in the error's details, as seconds with an `s`."""
    details = level.get("details")
    for entry in details if isinstance(details, list) else ():
        delay = entry.get("retryDelay") if isinstance(entry, dict) else None
        if isinstance(delay, str) and delay.endswith("s"):
            return _seconds(delay[:-1])
    return None


def _provider_error(
    said: _Said,
    status: int | None,
    headers: Mapping[str, str],
    detail: object,
    phase: Phase | None,
    now: datetime | None,
) -> ProviderError:
    status = status or said.status
    category = _category(said, status)
    retryable = category in RETRYABLE and not any(
        comparable(str(word)) in NEVER_RETRY for word in (said.code, said.kind)
    )
    code, kind = _shown(said.code), _shown(said.kind)
    return ProviderError(
        _sentence(category, status, kind, code),
        status=status,
        code=code,
        provider_type=None if kind is None else str(kind),
        category=category,
        retry=retry_hint(headers, retryable=retryable, after_seconds=said.after_seconds, now=now),
        phase=phase,
        detail=detail,
    )


def _category(said: _Said, status: int | None) -> Category:
    """By the code; else by the type, but where that is general and the status is not, by the status."""
    by_status = category_of_status(status) if status else None
    by_word = category_of_word(said.code) or category_of_word(said.kind)
    if by_word in GENERAL and by_status is not None and by_status not in GENERAL:
        return by_status
    return by_word or by_status or "provider"


def _shown(word: str | int | None) -> str | int | None:
    """A code or a type, where it may be shown: an identifier, and not what a key looks like."""
    if not isinstance(word, str):
        return word
    return word if IDENTIFIER.fullmatch(word) and not SECRET_SHAPE.search(word) and "://" not in word else None


def _sentence(category: Category, status: int | None, kind: str | int | None, code: str | int | None) -> str:
    facts = (("status", status), ("type", kind), ("code", code if code != status else None))
    told = ", ".join(f"{name} {value}" for name, value in facts if value is not None)
    return SENTENCES[category] + (f" ({told})" if told else "")


def _media_type(content_type: str) -> str:
    media_type = content_type.partition(";")[0].strip().lower()
    return f", {media_type}" if re.fullmatch(r"[a-z0-9.+-]{1,40}/[a-z0-9.+-]{1,60}", media_type) else ""


def _detail(status: int, headers: Mapping[str, str], body: bytes, truncated: bool) -> str:
    request_id = next((headers[name] for name in REQUEST_ID_HEADERS if name in headers), None)
    facts: dict[str, JsonValue] = {
        "status": status,
        "request_id": request_id,
        "headers": dict(headers),
        "body": body.decode("utf-8", "replace"),
        "truncated": truncated,
    }
    return to_json(facts).decode()
