"""A provider and a client: requests in, events or a response out."""

from rxstream.endpoint.connect import connect
from rxstream.endpoint.endpoint import Asking, Endpoint, Observe

__all__ = ("Asking", "Endpoint", "Observe", "connect")
