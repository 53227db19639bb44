"""Events to wire bytes: what a client of some API expects to read, whatever provider the events came from.

`encoder(name)` makes the encoder of one stream, `encode_body(name, response)` the answer to a request that did not ask
for a stream. Nothing here reads a clock, a socket or an observable; `ops.encode` and the sinks drive it.

A format is the file of its name in `registry`, with `_body` for the answer that is not streamed; what else begins with
that name is a part of it. `openai_errors`, `openai_finish` and `openai_usage` are what both of OpenAI's say alike. All
stand on `encoder`, `encoding`, `ending`, `frames`, `outgoing_call` and `media_pieces`.
"""

from rxstream.encoders.encoder import Encoder, EncoderEnd, End
from rxstream.encoders.registry import body_failure, encode_body, encoder, encoder_names

__all__ = ("Encoder", "EncoderEnd", "End", "body_failure", "encode_body", "encoder", "encoder_names")
