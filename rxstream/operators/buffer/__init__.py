"""The parts of a bounded buffer, which branches and the WebSocket sink have too.

`waiting` is what waits, with what `join` makes one and `loss` tells of; `queue` holds it within its bounds and asks the
policy; `subscription` is the way out, pushed or pulled; `stats` shows it while it runs.
"""
