"""The agent's loop: ask, run the tools that the model calls, ask again with their results."""

from rxstream.turns.collect_turns import TurnsResult, collect_turns
from rxstream.turns.follow_up import turn_messages
from rxstream.turns.run_turns import run_turns

__all__ = ("TurnsResult", "collect_turns", "run_turns", "turn_messages")
