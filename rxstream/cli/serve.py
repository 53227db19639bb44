"""`rxstream serve`: settings together, socket bound, models there; then the gateway runs until a signal ends it."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rxstream.cli.console import refuse, say
from rxstream.cli.settings import problems_of
from rxstream.gateway.app import create_app
from rxstream.gateway.catalogue import Catalogue
from rxstream.gateway.config import Config, ConfigError, SettingError, load_config
from rxstream.gateway.default_models import default_models
from rxstream.gateway.gateway import Gateway
from rxstream.gateway.log import set_up_logging
from rxstream.gateway.serve import ServeError, bind, check_exposure, serve

__all__ = ("ServeOptions", "run_serve")


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """What the command line said; None where it did not.

    Args:
        config: the file with settings.
        host: where to listen.
        port: likewise.
        token_env: the variable with the tokens.
        models: `provider/model` each, in place of those of the file.
        log_level: the least that is told.
        access_log: whether each request is told.
    """

    config: Path | None = None
    host: str | None = None
    port: int | None = None
    token_env: str | None = None
    models: Sequence[str] = field(default=())
    log_level: str | None = None
    access_log: bool | None = None


def run_serve(options: ServeOptions, write: Callable[[str], None]) -> None:
    """Serve until a signal. What cannot be started is one sentence and exit code 2."""
    overrides = _overrides(options)
    try:
        config = load_config(options.config, overrides=overrides)
        check_exposure(config.server)
    except SettingError as error:
        refuse("\n".join(problems_of(error, options.config, overrides)))
    except ConfigError as error:
        refuse(str(error))
    set_up_logging(config.log)
    with default_models(config) as (config, said):
        try:
            app = create_app(config)
            listener = bind(config.server)
        except SettingError as error:
            refuse("\n".join(problems_of(error, options.config, overrides)))
        except (ServeError, ValueError, OSError) as error:
            refuse(str(error))
        if said is not None:
            say(said)
        serve(app, listener, on_started=lambda: write(_banner(app.state.gateway, listener)))


def _overrides(options: ServeOptions) -> dict[str, Any]:
    server = {"host": options.host, "port": options.port, "tokens_env": options.token_env}
    log = {"level": options.log_level, "access": options.access_log}
    said: dict[str, Any] = {"server": _known(server), "log": _known(log)}
    if options.models:
        said["models"] = [_entry(name) for name in options.models]
    return said


def _known(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _entry(name: str) -> dict[str, Any]:
    place = min((place for mark in "/:" if (place := name.find(mark)) > 0), default=len(name))
    return {"provider": name[:place], "model": name[place + 1 :] or None}


def _banner(gateway: Gateway, listener: socket.socket) -> str:
    url = base_url(gateway.config, listener)
    names = "\n".join(f"  {name}" for name in gateway.catalogue.names())
    return (
        f"rxstream gateway: {url}\n\nModels (GET {url}/v1/models):\n{names}\n\n"
        f"OpenAI's clients: OPENAI_BASE_URL={url}/v1    Anthropic's: ANTHROPIC_BASE_URL={url}\n\n"
        f"Try it:\n  {_curl(gateway, url)}\n\nCtrl-C ends it."
    )


def base_url(config: Config, listener: socket.socket) -> str:
    """Where this machine reaches the gateway."""
    port = listener.getsockname()[1]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(config.server.host, config.server.host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _curl(gateway: Gateway, url: str) -> str:
    server = gateway.config.server
    token = ""
    if server.tokens_env is not None:
        token = f' -H "Authorization: Bearer ${{{server.tokens_env}%%,*}}"'
    elif server.tokens:
        token = ' -H "Authorization: Bearer ${RXSTREAM_TOKENS%%,*}"'
    body = {
        "model": _example(gateway.catalogue),
        "stream": True,
        "messages": [{"role": "user", "content": "Say hello."}],
    }
    return f"curl -N {url}/v1/chat/completions{token} -H 'Content-Type: application/json' -d '{json.dumps(body)}'"


def _example(catalogue: Catalogue) -> str:
    """A model to begin with; of a provider whose every model may be asked, the user knows one."""
    return catalogue.default or catalogue.names()[0].replace("*", "MODEL")
