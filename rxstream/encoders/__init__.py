"""Events to wire bytes: what a client of some API expects to read, whatever provider the events came from.

`encoder(name)` makes the encoder of one stream, `encode_body(name, response)` the answer to a request that did not ask
for a stream. Nothing here reads a clock, a socket or an observable; `ops.encode` and the sinks drive it.
"""

from rxstream.encoders.encoder import Encoder, EncoderEnd, End
from rxstream.encoders.registry import body_failure, encode_body, encoder, encoder_names

__all__ = ("Encoder", "EncoderEnd", "End", "body_failure", "encode_body", "encoder", "encoder_names")
