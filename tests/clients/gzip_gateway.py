"""A gateway inside Starlette's own compression: `python -m tests.clients.gzip_gateway --config FILE --port 0`."""

from __future__ import annotations

import sys

from starlette.middleware.gzip import GZipMiddleware

from rxstream.gateway.app import create_app
from rxstream.gateway.config import load_config
from rxstream.gateway.serve import GatewayServer, bind


def main(path: str) -> None:
    """Serve, and print where."""
    app = create_app(load_config(path, overrides={"server": {"port": 0}}))
    listener = bind(app.state.gateway.config.server)
    host, port = listener.getsockname()
    server = GatewayServer(app, on_started=lambda: print(f"http://{host}:{port}", flush=True))
    server.config.app = GZipMiddleware(app, minimum_size=0)
    server.run([listener])


if __name__ == "__main__":
    main(sys.argv[sys.argv.index("--config") + 1])
