"""One question of the page and its answer: the pipeline, its sink, and what the picture is told meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import Any, Final

import reactivex.operators as rx
from pydantic import ValidationError
from reactivex import Observable

from rxstream import operators as ops
from rxstream.cancellation import Cancellation
from rxstream.consume.sink import StreamEnd
from rxstream.consume.subscribe import subscribe
from rxstream.errors import StreamError
from rxstream.events import Event
from rxstream.gateway.asked import asked_model
from rxstream.gateway.exchange import Exchange
from rxstream.gateway.gateway import Gateway
from rxstream.gateway.page_events import for_page
from rxstream.gateway.page_sink import PageSink
from rxstream.gateway.page_telemetry import PageTelemetry
from rxstream.gateway.refusals import wrong_body
from rxstream.gateway.upstream_line import UpstreamLine
from rxstream.requests import Message, ModelRequest
from rxstream.response.error_json import error_json_object

__all__ = ("QUEUE", "PageChat")

MAX_EVENTS: Final = 32
MAX_BYTES: Final = 32 * 1024
LOW_WATER: Final = 0.5
QUEUE: Final = {"max_events": MAX_EVENTS, "max_bytes": MAX_BYTES, "low_water": int(MAX_EVENTS * LOW_WATER)}
"""The page's queue: small, so that one sees it fill. The gateway's API has the configured one."""

TELEMETRY_SECONDS: Final = 0.1

ROLES: Final = ("user", "assistant", "system")


class PageChat:
    """One question. `run` it in a task; the other methods are for what the page says meanwhile.

    Args:
        gateway: what it runs in.
        exchange: counts and logs it.
        sink: where its events go.
        send: sends a message that needs no credit.
    """

    def __init__(
        self,
        gateway: Gateway,
        exchange: Exchange,
        sink: PageSink,
        send: Callable[[dict[str, Any]], Awaitable[None]],
    ) -> None:
        self._gateway = gateway
        self._exchange = exchange
        self._sink = sink
        self._send = send
        self._stop = Cancellation()
        self._line = UpstreamLine()
        self._telemetry = PageTelemetry(exchange.meter, exchange.stats, self._line)

    def request(self, n: int) -> None:
        """The page takes so many events more."""
        self._sink.request(n)

    def stop(self) -> None:
        """The user has had enough."""
        self._stop.cancel("user_stop")

    def cut(self) -> bool:
        """Cut the connection to the provider. Returns whether there was one to cut."""
        return self._line.cut()

    async def run(self, body: Mapping[str, Any]) -> None:
        """Ask, deliver, and say how it ended. Never raises for what the provider does."""
        error: StreamError | None = None
        try:
            with self._gateway.slots.take():
                await self._answer(self._ask(body))
        except StreamError as problem:
            error = problem
        finally:
            self._stop.close()
            if error is not None:
                self._exchange.failed(error)
            self._exchange.close()
        if error is not None:
            await self._send({"type": "end", "outcome": "failed", "error": error_json_object(error)})

    def _ask(self, body: Mapping[str, Any]) -> Observable[Event]:
        target = self._exchange.find(asked_model(body, self._gateway.catalogue.default))
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
        config = self._gateway.config
        subscription = subscribe(events, self._sink, limits=config.limits, diagnostics=self._gateway.diagnostics)
        telling = asyncio.create_task(self._tell())
        try:
            end = await subscription.end()
        finally:
            telling.cancel()
            subscription.dispose()
            await subscription.closed()
            await asyncio.gather(telling, return_exceptions=True)
        self._exchange.ended(end.outcome, end.error, end.cause)
        await self._send(self._telemetry.frame())
        await self._send(self._end(end))

    async def _tell(self) -> None:
        """A frame of telemetry every so often; one that the page has not taken holds back the next."""
        while True:
            await self._send(self._telemetry.frame())
            await asyncio.sleep(TELEMETRY_SECONDS)

    def _end(self, end: StreamEnd) -> dict[str, Any]:
        return {
            "type": "end",
            "outcome": end.outcome,
            "cause": end.cause,
            "error": None if end.error is None else error_json_object(end.error),
            "finish_reason": self._telemetry.finish_reason,
            "report": asdict(end.report),
        }


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
