"""What a message of Bedrock's event streams is: an event and what it says, or the error that it stands for.

An event is named in its headers; some put it into JSON instead, `{"messageStop": {...}}`, and that is understood as
well. An exception is one of those that the service's model declares, an error is anything else that went wrong; both
end the stream, and what they mean goes by their name.

Source: the shapes and statuses of botocore's `bedrock-runtime` model.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from rxstream.errors import ProviderError, RetryHint
from rxstream.framing.frames import EventStreamFrame, Payload
from rxstream.providers.error_tables import RETRYABLE, category_of_status, names_status
from rxstream.providers.fields import JsonObject, whole_number
from rxstream.providers.http_errors import error_from_object
from rxstream.providers.payloads import read_loosely, read_object

__all__ = ("NamedEvent", "named_events", "read_events")

STATUSES: Final[Mapping[str, int]] = {
    "accessdeniedexception": 403,
    "internalerror": 500,
    "internalfailure": 500,
    "internalserverexception": 500,
    "modelerrorexception": 424,
    "modelnotreadyexception": 429,
    "modelstreamerrorexception": 424,
    "modeltimeoutexception": 408,
    "resourcenotfoundexception": 404,
    "servicequotaexceededexception": 400,
    "serviceunavailableexception": 503,
    "throttlingexception": 429,
    "validationexception": 400,
}
"""The status that each exception has as a response, by its name in lower case; a stream's own status is 200."""

PADDING: Final = "p"
"""A string of random length beside what an event says, against guessing from sizes."""

NamedEvent = tuple[str, JsonObject]
"""An event's name, and what it says."""


def read_events(payload: Payload, max_depth: int) -> list[NamedEvent]:
    """Read a message: nearly always one event.

    Args:
        payload: the message; or its event as JSON, with the event's name as the key.
        max_depth: `Limits.max_json_depth`.

    Raises:
        ProviderError: it is an exception or an error.
        DecodeError: it is not what it says.
        LimitError: it nests deeper than `max_depth`.
    """
    if not isinstance(payload, EventStreamFrame):
        return named_events(read_object(payload, max_depth))
    kind = payload.message_type
    if kind == "error" or (kind is None and payload.error_code):
        raise _error_of(payload)
    if kind == "exception" or (kind is None and payload.exception_type):
        raise _exception_of(payload.exception_type or "", read_loosely(payload))
    event = read_object(payload, max_depth) if payload.payload else {}
    event.pop(PADDING, None)
    return [(payload.event_type or "", event)]


def named_events(source: JsonObject) -> list[NamedEvent]:
    """Read an object whose keys are the names of events.

    Raises:
        ProviderError: a key is the name of an exception.
    """
    source.pop(PADDING, None)
    events: list[NamedEvent] = []
    for name, value in source.items():
        if name.lower() in STATUSES:
            raise _exception_of(name, value)
        events.append((name, value if isinstance(value, dict) else {"value": value}))
    return events


def _exception_of(name: str, body: JsonValue) -> ProviderError:
    fields = {key: value for key, value in body.items() if key != PADDING} if isinstance(body, dict) else {"body": body}
    error = error_from_object({**fields, "type": name or None}, status=STATUSES.get(name.lower()))
    # The service passes on what the model's own server said: an error that comes again is not worth another attempt.
    original = names_status(whole_number(fields.get("originalStatusCode")))
    if original is not None and category_of_status(original) not in RETRYABLE:
        error.public = dataclasses.replace(error.public, retry=RetryHint())
    return error


def _error_of(frame: EventStreamFrame) -> ProviderError:
    code = frame.error_code
    said: JsonObject = {"code": code, "message": frame.error_message}
    if frame.payload:
        said["body"] = read_loosely(frame)
    return error_from_object(said, status=STATUSES.get((code or "").lower()))
