"""A scripted provider of every wire at once, whose answers are asked for by name.

The first part of a request's path says the wire, and the prompt says the scene: `scene:text:4f1c0a...` is the scene
`text`, played for the test that has that key. So one provider, one gateway and one set of models serve every test.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rxstream.testing import Reply, Request, RequestRecord, ScriptedProvider, Wait
from rxstream.testing.threaded import ThreadedProvider
from tests.clients.scenes import Scene, first_piece, play

__all__ = ("Stage", "run_stage")

QUIET_SECONDS = 0.3

_TAG = re.compile(rb"scene:([a-z_0-9]+):([0-9a-f]{12})")


class Stage:
    """The provider, seen from a test. Its methods may be called from any thread but the provider's own.

    Args:
        provider: plays the scenes.
        director: chooses them.
    """

    def __init__(self, provider: ThreadedProvider, director: _Director) -> None:
        self._provider = provider
        self._director = director

    def base_url(self, wire: str) -> str:
        """Where the wire is served."""
        return f"{self._provider.base_url}/{wire}"

    def records(self, scene: Scene) -> list[RequestRecord]:
        """The requests for a scene, so far."""
        return self._provider.call(lambda: _of(scene, self._provider.requests))

    def record(self, scene: Scene, timeout_seconds: float = 20.0) -> RequestRecord:
        """The one request for a scene; waits for it."""
        self._provider.wait_until(lambda provider: bool(_of(scene, provider.requests)), timeout_seconds)
        found = self.records(scene)
        assert len(found) == 1, f"the provider was asked {len(found)} times"
        return found[0]

    def release(self, scene: Scene) -> None:
        """Let a held scene go on."""
        self._provider.call(self._director.gate(scene.key).event.set)

    def is_held(self, scene: Scene, wire: str) -> bool:
        """Whether the provider has said its first piece and no more: the second was not made yet."""
        record = self.record(scene)
        return self._provider.call(lambda: record.steps_done == first_piece(wire))

    def wait_left(self, scene: Scene, timeout_seconds: float = 10.0) -> None:
        """Wait until the provider sees that nobody reads its answer any more."""
        record = self.record(scene)
        self._provider.wait_until(lambda _: record.disconnected.is_set(), timeout_seconds)
        assert not record.finished.is_set()

    def wait_blocked(self, scene: Scene, timeout_seconds: float = 30.0) -> int:
        """Wait until the kernel takes no more of the answer; returns the bytes that it took till then."""
        record = self.record(scene)
        deadline = time.monotonic() + timeout_seconds
        while True:
            self._provider.wait_until(lambda _: record.is_blocked, deadline - time.monotonic())
            taken = record.bytes_sent
            time.sleep(QUIET_SECONDS)  # a kernel goes on moving bytes into the client's window for some 50 ms
            if record.is_blocked and record.bytes_sent == taken:
                return taken

    def wait_more(self, scene: Scene, than: int, timeout_seconds: float = 20.0) -> None:
        """Wait until more bytes of the answer were taken than these."""
        record = self.record(scene)
        self._provider.wait_until(lambda _: record.bytes_sent > than, timeout_seconds)


class _Director:
    """Chooses what is played, and keeps the gates."""

    def __init__(self) -> None:
        self._gates: dict[str, Wait] = {}

    def gate(self, key: str) -> Wait:
        return self._gates.setdefault(key, Wait(asyncio.Event()))

    def reply(self, request: Request) -> Reply:
        found = _TAG.search(request.body)
        assert found is not None, "a request without a scene"
        scene, key = found[1].decode(), found[2].decode()
        return play(request.path.split("/")[1], scene, self.gate(key))


def _of(scene: Scene, records: object) -> list[RequestRecord]:
    assert isinstance(records, tuple)
    return [each for each in records if scene.key.encode() in each.body]


@contextmanager
def run_stage() -> Iterator[Stage]:
    """A provider in a thread of its own, for the length of the block."""
    director = _Director()
    with ScriptedProvider.run_in_thread(director.reply) as provider:
        yield Stage(provider, director)
