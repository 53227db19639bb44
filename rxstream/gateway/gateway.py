"""What the routes of one gateway share."""

from __future__ import annotations

from typing import Any

from rxstream.cancellation import Cancellation
from rxstream.diagnostics import Diagnostics, FileDiagnostics
from rxstream.gateway.body_budget import BodyBudget
from rxstream.gateway.catalogue import Catalogue
from rxstream.gateway.config import Config, LogConfig, SettingError, SettingProblem
from rxstream.gateway.log import GatewayLog
from rxstream.gateway.metrics import Metrics
from rxstream.gateway.slots import StreamSlots

__all__ = ("Gateway", "open_diagnostics")


def open_diagnostics(log: LogConfig) -> Diagnostics:
    """Where protected detail of errors goes.

    Raises:
        SettingError: the file that is named cannot be made or written.
    """
    if log.diagnostics_file is None:
        return Diagnostics()
    problem: str | None
    try:
        return FileDiagnostics(log.diagnostics_file)
    except OSError as error:
        problem = error.strerror or str(error)
    sentence = f"log.diagnostics_file: {log.diagnostics_file!r} cannot be written: {problem}"
    raise SettingError(SettingProblem(("log", "diagnostics_file"), sentence))


class Gateway:
    """Settings, models, slots and counters; and the one switch that ends everything.

    Args:
        config: the settings.
        client: sends the requests to providers; None makes one of its own.

    Raises:
        CatalogueError: a model cannot be offered.
        SettingError: the file for errors cannot be written.
    """

    def __init__(self, config: Config, client: Any = None) -> None:
        self.config = config
        self.diagnostics = open_diagnostics(config.log)
        self.catalogue = Catalogue(config, client, diagnostics=self.diagnostics)
        self.slots = StreamSlots(config.server.max_concurrent_streams)
        self.bodies = BodyBudget(config.server.max_held_body_bytes)
        self.metrics = Metrics(self.slots)
        self.log = GatewayLog(access=config.log.access)
        self.stop = Cancellation()
        """Cancelled when running answers must end; streams stand under it."""

    @property
    def is_ready(self) -> bool:
        """Whether a request to a model would be taken now."""
        return self.slots.has_room and bool(self.catalogue.names())

    def drain(self) -> None:
        """Take no more requests; those that run go on."""
        self.slots.is_closed = True

    def end_streams(self) -> None:
        """End every answer that still runs: the client is told, the provider is left."""
        self.stop.cancel("operator", "the gateway is shutting down")

    async def aclose(self) -> None:
        """Let the providers go."""
        self.drain()
        self.end_streams()
        await self.catalogue.aclose()
