"""An HTTP client whose responses are in memory: everything but the socket is real."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from types import ModuleType
from typing import Any

__all__ = ("client_of",)


def client_of(http: ModuleType, chunks: Sequence[bytes]) -> Any:
    """A client of `http` (httpx or httpx2) that answers every request with `chunks`."""

    class Body(http.AsyncByteStream):  # type: ignore[misc,name-defined]  # a base chosen at run time
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for chunk in chunks:
                yield chunk

        async def aclose(self) -> None:
            pass

    class Transport(http.AsyncBaseTransport):  # type: ignore[misc,name-defined]  # likewise
        async def handle_async_request(self, request: Any) -> Any:
            headers = {"content-type": "text/event-stream; charset=utf-8"}
            return http.Response(200, headers=headers, stream=Body(), request=request)

    return http.AsyncClient(transport=Transport(), verify=False, trust_env=False)
