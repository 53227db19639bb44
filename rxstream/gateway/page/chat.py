"""One question of the page and its answer: the pipeline, its sink, and what the picture is told meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import reactivex.operators as rx
from pydantic import ValidationError
from reactivex import Observable
from starlette.websockets import WebSocket

from rxstream import operators as ops
from rxstream.cancellation import Cancellation
from rxstream.consume.sink import StreamEnd
from rxstream.consume.subscribe import subscribe
from rxstream.errors import StreamError
from rxstream.events import Event
from rxstream.gateway.config import Config
from rxstream.gateway.exchange import Exchange
from rxstream.gateway.gateway import Gateway
from rxstream.gateway.page.events import for_page
from rxstream.gateway.page.telemetry import PageTelemetry
from rxstream.gateway.page.upstream_line import UpstreamLine
from rxstream.gateway.prepared_request import model_name
from rxstream.gateway.refusals import wrong_body
from rxstream.requests import Message, ModelRequest
from rxstream.response.report import StreamReport
from rxstream.sinks.websocket import WebSocketSink

__all__ = ("QUEUE", "PageChat")

MAX_EVENTS: Final = 32
MAX_BYTES: Final = 32 * 1024
LOW_WATER: Final = 0.5
QUEUE: Final = {"max_events": MAX_EVENTS, "max_bytes": MAX_BYTES, "low_water": int(MAX_EVENTS * LOW_WATER)}
"""The page's queue: small, so that one sees it fill. The gateway's API has the configured one."""

TELEMETRY_SECONDS: Final = 0.1

NO_LINE: Final = "There is no connection to cut: the provider has sent all of it, or none of it yet."

ROLES: Final = ("user", "assistant", "system")


class PageChat:
    """One question. `run` it in a task; the other methods are for what the page says meanwhile.

    Args:
        gateway: what it runs in.
        websocket: of the page; it is read elsewhere, and stays open.
        exchange: counts and logs it.
    """

    def __init__(self, gateway: Gateway, websocket: WebSocket, exchange: Exchange) -> None:
        self._gateway = gateway
        self._exchange = exchange
        self._stop = Cancellation()
        self._line = UpstreamLine()
        self._telemetry = PageTelemetry(exchange.meter, exchange.stats, self._line)
        self._sink = _PageSink(websocket, self._telemetry, gateway.config)

    @property
    def is_ending(self) -> bool:
        """Whether the page may have been told the end already."""
        return self._sink.is_ending

    def request(self, n: int) -> None:
        """The page takes so many events more."""
        self._sink.request(n)

    def stop(self) -> None:
        """The user has had enough."""
        self._stop.cancel("user_stop")

    def cut(self) -> None:
        """Cut the connection to the provider; where there is none, say so."""
        if not self._line.cut():
            self._sink.post({"type": "notice", "message": NO_LINE})

    def left(self) -> None:
        """The page is gone."""
        self._sink.left()

    async def run(self, body: Mapping[str, Any]) -> None:
        """Ask, deliver, and say how it ended. Never raises for what the provider does."""
        refusal: StreamError | None = None
        try:
            with self._gateway.slots.take():
                await self._answer(self._ask(body))
        except StreamError as error:
            refusal = error
        finally:
            self._stop.close()
            if refusal is not None:
                self._exchange.failed(refusal)
            self._exchange.close()
        if refusal is not None:
            await self._sink.on_end(StreamEnd("failed", refusal, StreamReport()))

    def _ask(self, body: Mapping[str, Any]) -> Observable[Event]:
        target = self._exchange.find(model_name(body, self._gateway.catalogue.default))
        request = ModelRequest(messages=_messages(body.get("messages")), model=target.model)
        self._exchange.is_streamed = True
        return self._exchange.ask(request, wrap_client=self._line.watch, tail=self._tail())

    def _tail(self) -> tuple[Any, ...]:
        limits = self._gateway.config.limits
        return (
            ops.cancel_on(self._stop),
            rx.do_action(self._telemetry.note_piece),
            rx.map(for_page),
            ops.batch_text(leading=True, limits=limits),
            rx.do_action(self._telemetry.note_batch),
            ops.bounded_buffer(MAX_EVENTS, MAX_BYTES, LOW_WATER, stats=self._exchange.stats, limits=limits),
        )

    async def _answer(self, events: Observable[Event]) -> None:
        limits, diagnostics = self._gateway.config.limits, self._gateway.diagnostics
        subscription = subscribe(events, self._sink, limits=limits, diagnostics=diagnostics)
        telling = asyncio.create_task(self._tell(), name="rxstream: tell the page of its pipeline")
        try:
            end = await subscription.end()
        finally:
            telling.cancel()
            subscription.dispose()
            await subscription.closed()
        self._exchange.ended(end.outcome, end.error, end.cause)

    async def _tell(self) -> None:
        """A frame of telemetry every so often; one that the page has not taken yet is replaced."""
        while True:
            self._sink.post(self._telemetry.frame())
            await asyncio.sleep(TELEMETRY_SECONDS)


class _PageSink(WebSocketSink):
    """The socket as a sink whose last word before the end is how the pipeline stood."""

    def __init__(self, websocket: WebSocket, telemetry: PageTelemetry, config: Config) -> None:
        super().__init__(
            websocket,
            credit=True,
            write_timeout_seconds=config.server.write_timeout,
            listens=False,
            closes=False,
            limits=config.limits,
        )
        self._telemetry = telemetry
        self.is_ending = False

    async def on_end(self, end: StreamEnd) -> None:
        self.is_ending = True
        self.post(self._telemetry.frame())
        await super().on_end(end)


def _messages(said: Any) -> list[Message]:
    """The conversation: texts, each with who said it."""
    if not isinstance(said, list) or not said:
        raise wrong_body("`messages` must be a list with at least one message")
    for number, message in enumerate(said):
        if not isinstance(message, Mapping) or message.get("role") not in ROLES:
            raise wrong_body(f"`messages[{number}].role` must be one of {', '.join(ROLES)}")
        if not isinstance(message.get("content"), str):
            raise wrong_body(f"`messages[{number}].content` must be a text")
    try:
        return [Message(role=message["role"], content=message["content"]) for message in said]
    except ValidationError:
        pass
    raise wrong_body("`messages` cannot be read")
