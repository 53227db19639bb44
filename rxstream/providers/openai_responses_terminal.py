"""How a Responses stream ends: what its terminal event and the response inside it say.

`response.status` decides, the event's own name where the status is missing; `incomplete_details.reason` tells why an
answer is incomplete. The response repeats the whole answer: it becomes `ResponseFinal`, against which what was streamed
is checked. Codex's endpoint leaves its `output` empty: that says nothing of the answer.

Rules: docs/decisions/002, 5 and 13.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pydantic import JsonValue

from rxstream.events import Event, Finish, FinishReason, ResponseFinal, ToolCall, UsageUpdate, Violation
from rxstream.providers.fields import JsonObject
from rxstream.providers.finish import normalize_finish, reconcile_finish
from rxstream.providers.openai_responses_items import CallItem, ItemContext, arguments_of, objects_in
from rxstream.providers.openai_responses_server import without_media
from rxstream.providers.openai_responses_speech import REFUSAL, TEXT, Speech, spoken_text
from rxstream.providers.openai_responses_table import Settled
from rxstream.providers.usage import chat_usage

__all__ = ("TERMINALS", "final_of", "finish_of", "status_of", "take_usage")

TERMINALS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "response.completed": "completed",
        "response.done": "completed",  # what some gateways call it
        "response.incomplete": "incomplete",
        "response.failed": "failed",
        "response.cancelled": "cancelled",
        "response.canceled": "cancelled",
    }
)
"""The events that end a response, and the status that each stands for."""

SPELLINGS: Final[Mapping[str, str]] = MappingProxyType(
    {**{status: status for status in TERMINALS.values()}, "canceled": "cancelled"}
)
"""The statuses of a response that has ended, as servers write them."""

REASONS: Final[Mapping[str, FinishReason]] = MappingProxyType(
    {"completed": "stop", "failed": "error", "cancelled": "other"}
)

CUT_REASONS: Final = ("length", "content_filter")
"""What an incomplete answer can be cut by. Any other reason, known elsewhere or not, is `other`."""


def take_usage(response: JsonObject, out: list[Event]) -> None:
    """Read the token counts; only the terminal event has them."""
    usage = response.get("usage")
    if isinstance(usage, dict) and usage:
        out.append(UsageUpdate(chat_usage(usage)))
    elif usage:
        out.append(Violation("usage_type", f"usage is a {type(usage).__name__}"))


def status_of(kind: str, response: JsonObject) -> str:
    """How the response ended: one of the statuses of `TERMINALS`, by its terminal event of the wire type `kind`."""
    said = response.get("status")
    status = SPELLINGS.get(said.lower()) if isinstance(said, str) else None
    implied = TERMINALS[kind]
    return implied if status is None or implied == "failed" else status


def finish_of(kind: str, response: JsonObject, context: ItemContext) -> Finish:
    """Why the response ended, by its terminal event of the wire type `kind`."""
    status, said, details = status_of(kind, response), response.get("status"), response.get("incomplete_details")
    reason = _cut_reason(details) if status == "incomplete" else REASONS[status]
    has_only_refusal = REFUSAL.name in context.said and TEXT.name not in context.said
    reason = reconcile_finish(reason, has_calls=context.message_calls > 0, has_refusal=has_only_refusal)
    # Where the status is missing, the event's name may be all that says that the answer is not whole.
    raw = said if isinstance(said, str) else None if status == "completed" else status
    return Finish(reason, raw, detail=details or None)


def final_of(response: JsonObject, settled: Settled, *, is_whole: bool) -> ResponseFinal | None:
    """The authoritative object; None where the response has no list of items.

    Args:
        response: the response inside the terminal event.
        settled: its items, each with the one that was streamed.
        is_whole: whether all of the answer was read in this stream.
    """
    output = response.get("output")
    if not isinstance(output, list):
        return None
    raw: JsonObject = {**response, "output": [_raw_item(item) for item in output]}
    if not is_whole:
        return ResponseFinal(raw)
    return ResponseFinal(raw, _said(settled, TEXT), _said(settled, REFUSAL), _calls(settled))


def _cut_reason(details: JsonValue) -> FinishReason:
    said = details.get("reason") if isinstance(details, dict) else details
    reason = normalize_finish(said) if isinstance(said, str) else None
    return reason if reason in CUT_REASONS else "other"


def _raw_item(item: JsonValue) -> JsonValue:
    # Its base64 was sent as media, and is the one thing that can be larger than a buffer.
    return without_media(item)[0] if isinstance(item, dict) else item


def _said(settled: Settled, speech: Speech) -> str:
    parts = [part for item, _ in settled for part in objects_in(item.get("content"))]
    return "".join([text for kind, text in filter(None, map(spoken_text, parts)) if kind is speech])


def _calls(settled: Settled) -> list[ToolCall]:
    """The client's calls. Where an id was made here, it is ours."""
    calls = [(item, streamed) for item, streamed in settled if isinstance(streamed, CallItem)]
    return [
        ToolCall(streamed.call.call_id, streamed.call.name, arguments_of(item), streamed.call.kind)
        for item, streamed in calls
    ]
