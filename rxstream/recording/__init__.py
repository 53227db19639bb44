"""Recordings: what a stream brought, when it did, and how it ended, as a file of JSON Lines.

    {"rxstream_recording":1,"kind":"bytes","wire":"openai-chat","status":200,"headers":{"content-type":"..."}}
    {"t":0.412,"bytes":"ZGF0YTog..."}                       a chunk as the transport cut it, base64
    {"t":0.431,"event":{"type":"text_delta","text":"..."}}  (where events were recorded)
    {"t":1.007,"end":"error","error":{"type":"TransportError","message":"..."}}

`t` is the time since the subscription, in seconds. Each line is written at once, so that a crash cuts the last one at
most; a recording without its last line is read up to there, and its end is told from one that was recorded.
"""

from rxstream.recording.endings import Ending, ending_of, error_of
from rxstream.recording.lines import Header, Item
from rxstream.recording.reading import Recording, RecordingReader, is_recording, read_recording
from rxstream.recording.store import MemoryStore, RecordingFile, RecordingStore, RecordingWriter

__all__ = (
    "Ending",
    "Header",
    "Item",
    "MemoryStore",
    "Recording",
    "RecordingFile",
    "RecordingReader",
    "RecordingStore",
    "RecordingWriter",
    "ending_of",
    "error_of",
    "is_recording",
    "read_recording",
)
