"""What a scripted reply does, one step after the other.

A step is any object with ``async def play(self, reply)``: it sends through the `ReplyWriter` it is given, waits for
what it likes, and returns. A test's own step is a class of its own; nothing has to be registered. The server cancels a
step when the client is gone, so a step needs no way out of its own.

The end of a script is a clean end of the body, and the connection stays open for the next request. The four other
endings are steps: `Close` (clean, then FIN), `Cut` (FIN inside the body), `Reset` (RST) and `Stall` (never).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

__all__ = (
    "BodyStep",
    "Close",
    "Cut",
    "Drip",
    "Pause",
    "Raw",
    "Repeat",
    "ReplyWriter",
    "Reset",
    "Send",
    "Stall",
    "Step",
    "Wait",
)


class ReplyWriter(Protocol):
    """What a step may do to the connection. A call that sends returns when the kernel has taken all its bytes."""

    async def send(self, data: bytes) -> None:
        """Send `data` as a piece of the body: one HTTP chunk where the reply is chunked, compressed where it is."""
        ...

    async def raw(self, data: bytes) -> None:
        """Send `data` as it is, past framing and compression."""
        ...

    async def finish(self) -> None:
        """End the body as its framing asks."""
        ...

    def close(self) -> None:
        """Close the connection with a FIN."""
        ...

    def reset(self) -> None:
        """Close the connection with an RST; bytes the kernel has not passed on yet are lost."""
        ...


class Step(Protocol):
    """One thing a reply does."""

    async def play(self, reply: ReplyWriter) -> None:
        """Do it; return when the next step may begin."""
        ...


@runtime_checkable
class BodyStep(Protocol):
    """A step whose bytes are known beforehand, so that a reply can state its length."""

    def pieces(self) -> Iterable[bytes]:
        """The pieces it sends, in order."""
        ...


@dataclass(frozen=True, slots=True)
class Send:
    """Send `data` as one piece of the body."""

    data: bytes

    def pieces(self) -> Iterable[bytes]:
        """The one piece."""
        return (self.data,)

    async def play(self, reply: ReplyWriter) -> None:
        """Send it."""
        await reply.send(self.data)


@dataclass(frozen=True, slots=True)
class Raw:
    """Send `data` past the framing: a broken chunk header, bytes after the end, another protocol altogether."""

    data: bytes

    async def play(self, reply: ReplyWriter) -> None:
        """Send it."""
        await reply.raw(self.data)


@dataclass(frozen=True, slots=True)
class Drip:
    """Send `data` slowly.

    Args:
        data: what to send.
        size: bytes in a piece; the last may be shorter.
        every_seconds: pause after each piece, in seconds of the loop's clock.
    """

    data: bytes
    size: int = 1
    every_seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"a piece has at least one byte, not {self.size}")

    def pieces(self) -> Iterator[bytes]:
        """`size` bytes each."""
        return (self.data[start : start + self.size] for start in range(0, len(self.data), self.size))

    async def play(self, reply: ReplyWriter) -> None:
        """Send the pieces, with the pause after each."""
        for piece in self.pieces():
            await reply.send(piece)
            if self.every_seconds:
                await asyncio.sleep(self.every_seconds)


@dataclass(frozen=True, slots=True)
class Repeat:
    """Send what `make_bytes(n)` returns, for n = 0, 1, 2 and so on.

    Args:
        make_bytes: gets the number of the piece; what it raises ends the reply and is raised when the server closes.
        times: how many pieces; None sends until the client is gone.
        every_seconds: pause after each piece, in seconds of the loop's clock.
    """

    make_bytes: Callable[[int], bytes]
    times: int | None = None
    every_seconds: float = 0.0

    def pieces(self) -> Iterator[bytes]:
        """What is sent, where it has an end.

        Raises:
            ValueError: it has none.
        """
        if self.times is None:
            raise ValueError("an endless body has no length: give content_length, or times")
        return map(self.make_bytes, range(self.times))

    async def play(self, reply: ReplyWriter) -> None:
        """Send the pieces, with the pause after each."""
        sent = 0
        while self.times is None or sent < self.times:
            await reply.send(self.make_bytes(sent))
            sent += 1
            if self.every_seconds:
                await asyncio.sleep(self.every_seconds)


@dataclass(frozen=True, slots=True)
class Pause:
    """Send nothing for `seconds` of the loop's clock."""

    seconds: float

    async def play(self, reply: ReplyWriter) -> None:
        """Sleep."""
        await asyncio.sleep(self.seconds)


@dataclass(frozen=True, slots=True)
class Wait:
    """Send nothing until the test sets `event`, on the server's loop."""

    event: asyncio.Event

    async def play(self, reply: ReplyWriter) -> None:
        """Wait for it."""
        await self.event.wait()


@dataclass(frozen=True, slots=True)
class Stall:
    """Send nothing ever again, and keep the connection open."""

    async def play(self, reply: ReplyWriter) -> None:
        """Wait until the client is gone or the server closes, which cancel this."""
        await asyncio.get_running_loop().create_future()


@dataclass(frozen=True, slots=True)
class Close:
    """End the body cleanly, then close the connection."""

    async def play(self, reply: ReplyWriter) -> None:
        """Finish, then FIN."""
        await reply.finish()
        reply.close()


@dataclass(frozen=True, slots=True)
class Cut:
    """Close the connection inside the body: FIN without the last chunk, or before the stated length."""

    async def play(self, reply: ReplyWriter) -> None:
        """FIN."""
        reply.close()


@dataclass(frozen=True, slots=True)
class Reset:
    """Reset the connection: the client's next read fails."""

    async def play(self, reply: ReplyWriter) -> None:
        """RST."""
        reply.reset()
