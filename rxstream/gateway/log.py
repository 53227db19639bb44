"""One JSON object a line on standard error: what happened, never what was said."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any, Final, TextIO

from rxstream.gateway.config import LogConfig

__all__ = ("LOGGER_NAME", "GatewayLog", "set_up_logging")

LOGGER_NAME: Final = "rxstream.gateway"

LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "off": logging.CRITICAL + 1,
}


class GatewayLog:
    """Writes events with their fields, through the standard logger `rxstream.gateway`.

    Args:
        access: whether each request to a model is told.
    """

    def __init__(self, *, access: bool = True) -> None:
        self._access = access
        self._logger = logging.getLogger(LOGGER_NAME)

    def request(self, **fields: Any) -> None:
        """One request to a model has ended."""
        if self._access:
            self.info("request", **fields)

    def info(self, event: str, **fields: Any) -> None:
        """Something that belongs to a good day."""
        self._logger.info(event, extra={"fields": fields})

    def warning(self, event: str, **fields: Any) -> None:
        """Something that somebody should look at."""
        self._logger.warning(event, extra={"fields": fields})

    def error(self, event: str, **fields: Any) -> None:
        """Something that must not happen."""
        self._logger.error(event, extra={"fields": fields})


class JSONLines(logging.Formatter):
    """One JSON object a record; of an exception its class alone, for its text may quote content."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        about: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{record.msecs:03.0f}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        about.update({key: value for key, value in getattr(record, "fields", {}).items() if value is not None})
        if record.exc_info and record.exc_info[0] is not None:
            about["exception"] = record.exc_info[0].__name__
        return json.dumps(about, ensure_ascii=True, default=str)


def set_up_logging(config: LogConfig, stream: TextIO | None = None) -> None:
    """Send the gateway's lines, and warnings of the HTTP server, to `stream` (standard error by default)."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JSONLines())
    level = LEVELS[config.level]
    for name, least in ((LOGGER_NAME, level), ("uvicorn", max(level, logging.WARNING))):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(least)
        logger.propagate = False
