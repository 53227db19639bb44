"""Async consumers that pull: each call is awaited, so what they write to paces the provider."""

from rxstream.sinks.terminal import TerminalSink
from rxstream.sinks.terminal_text import TerminalText

__all__ = ("TerminalSink", "TerminalText")
