"""A provider and a client: requests in, events or a response out."""

from rxstream.endpoint.connect import connect
from rxstream.endpoint.endpoint import Endpoint

__all__ = ("Endpoint", "connect")
