"""What OpenTelemetry is told of a stream; `pip install "rxstream[otel]"`.

    from rxstream import otel

    events = endpoint.stream(request).pipe(otel.observe(provider="openai", model="gpt-4o"), ops.bounded_buffer())

    endpoint = rxs.connect("openai/gpt-4o", observe=otel.observing())     # each request of it, by itself

Spans and measurements by the conventions for generative AI, whose names stand in `rxstream.otel.names`. Nothing of what
was asked or answered is told unless somebody asks for it. Importing `rxstream` does not import OpenTelemetry.
"""

try:
    import opentelemetry.trace as _
except ModuleNotFoundError:
    _ = None  # type: ignore[assignment]
if _ is None:
    raise ModuleNotFoundError('rxstream.otel needs the OpenTelemetry API: pip install "rxstream[otel]"')

from rxstream.otel.names import NAMES, Names
from rxstream.otel.observe import observe
from rxstream.otel.observing import observing

__all__ = ("NAMES", "Names", "observe", "observing")
