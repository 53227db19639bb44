"""Async consumers that pull: each call is awaited, so what they write to paces the provider.

`EventStreamResponse` and `WebSocketSink` need Starlette (the extra `asgi`). Each name is loaded when it is first asked
for.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

if TYPE_CHECKING:
    from rxstream.sinks.asgi import EventStreamResponse
    from rxstream.sinks.recording import RecordingSink
    from rxstream.sinks.terminal import TerminalSink
    from rxstream.sinks.terminal_text import TerminalText
    from rxstream.sinks.websocket import WebSocketSink

_HOMES = {
    "EventStreamResponse": "asgi",
    "RecordingSink": "recording",
    "TerminalSink": "terminal",
    "TerminalText": "terminal_text",
    "WebSocketSink": "websocket",
}

__all__ = ("EventStreamResponse", "RecordingSink", "TerminalSink", "TerminalText", "WebSocketSink")


if not TYPE_CHECKING:  # to type checkers a module with `__getattr__` has every name: they would pass a typo

    def __getattr__(name: str) -> _Any:
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            module = _import_module(f"{__name__}.{home}")
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] not in ("starlette", "anyio"):
                raise
            raise ModuleNotFoundError(
                f"{name} needs Starlette: pip install 'rxstream[asgi]'", name=error.name
            ) from None
        value = globals()[name] = getattr(module, name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
