"""Events to a response: what was said, how it ended, and whether it agrees with itself."""

from rxstream.response.accumulator import Accumulator
from rxstream.response.consistency import check
from rxstream.response.error_json import error_json_object
from rxstream.response.parts import (
    MediaPart,
    ReasoningPart,
    RefusalPart,
    ResponsePart,
    ResponseToolCall,
    TextPart,
)
from rxstream.response.projection import OnUnfinished, ProjectedCall, Projection, Projector
from rxstream.response.report import StreamReport
from rxstream.response.response import Outcome, Response, ResponseChoice
from rxstream.response.tracker import Tracker

__all__ = (
    "Accumulator",
    "MediaPart",
    "OnUnfinished",
    "Outcome",
    "ProjectedCall",
    "Projection",
    "Projector",
    "ReasoningPart",
    "RefusalPart",
    "Response",
    "ResponseChoice",
    "ResponsePart",
    "ResponseToolCall",
    "StreamReport",
    "TextPart",
    "Tracker",
    "check",
    "error_json_object",
)
