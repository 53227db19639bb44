"""A server on a free port of 127.0.0.1: where it is."""

from __future__ import annotations

import socket

__all__ = ("LoopbackServer",)


class LoopbackServer:
    """What listens inside its `async with` block, and nowhere else."""

    _listener: socket.socket | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        if self._listener is None:
            raise RuntimeError(f"a {type(self).__name__} listens inside its `async with` block only")
        host, port = self._listener.getsockname()
        return host, port

    @property
    def base_url(self) -> str:
        """Where a client sends its requests: ``http://127.0.0.1:PORT``, without a slash at the end."""
        host, port = self.address
        return f"http://{host}:{port}"
