"""Requests of clients, in the words of four APIs, read into one vocabulary: the inverse of what writes to providers.

`read_request(format, body)` gives what is asked for, or a `RequestError` that names the parameter that is in the way,
never what it holds. Nothing is left out in silence: a parameter is read, or it is in its format's list of those that
change nothing of the answer (`IGNORED`), or it is refused by name. Bodies come from anybody, so that nothing is taken
for granted: not the type of a value, not how deep it nests, not that an id is there once.

Nothing here knows sockets, asyncio or Rx.
"""

from rxstream.gateway.readers.client_request import ClientRequest
from rxstream.gateway.readers.registry import read_request, request_formats

__all__ = ("ClientRequest", "read_request", "request_formats")
