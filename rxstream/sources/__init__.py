"""Where streams begin: cold observables that read only while demand is open."""

from rxstream.sources.aiter import from_aiter
from rxstream.sources.chunks import from_chunks
from rxstream.sources.http import http_stream
from rxstream.sources.iterable import from_iterable
from rxstream.sources.replay import replay

__all__ = ("from_aiter", "from_chunks", "from_iterable", "http_stream", "replay")
