"""Moving from a litellm proxy: its configuration written as ours, with a note of what could not be carried."""

from rxstream.gateway.litellm.config import Imported, LitellmError, import_litellm

__all__ = ("Imported", "LitellmError", "import_litellm")
