"""Why a Gemini candidate ended: by name, or by number where a server writes its enum so.

Numbers are seen on Vertex AI only, so they are those of its `Candidate.FinishReason`. The Gemini API's own enum numbers
differ from 6 on and are never sent.

Source: `Candidate.FinishReason` of google.cloud.aiplatform.v1beta1, whose published types number the reasons 0 to 16.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from rxstream.events import FinishReason
from rxstream.providers.finish import FINISH_REASONS, normalize_finish

__all__ = ("gemini_finish", "is_unspecified")

UNSPECIFIED: Final = "FINISH_REASON_UNSPECIFIED"

NUMBERS: Final = tuple(
    (
        f"{UNSPECIFIED} STOP MAX_TOKENS SAFETY RECITATION OTHER BLOCKLIST PROHIBITED_CONTENT SPII "
        "MALFORMED_FUNCTION_CALL MODEL_ARMOR IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION IMAGE_OTHER "
        "UNEXPECTED_TOOL_CALL NO_IMAGE"
    ).split()
)
"""The name of each number."""

REASONS: Final[Mapping[str, FinishReason]] = MappingProxyType({**FINISH_REASONS, "model_armor": "content_filter"})


def gemini_finish(raw: str | int | None) -> FinishReason | None:
    """What a finish reason means; None where there is none, `other` where nobody knows it."""
    if isinstance(raw, int):
        return normalize_finish(NUMBERS[raw], REASONS) if 0 <= raw < len(NUMBERS) else "other"
    return normalize_finish(raw, REASONS)


def is_unspecified(raw: str | int) -> bool:
    """Whether a finish reason is the enum's default: it takes no other's place."""
    return raw == 0 or raw == UNSPECIFIED
