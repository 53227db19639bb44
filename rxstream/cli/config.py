"""`rxstream config`: settings looked at, and made of another gateway's."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from rxstream.cli.console import refuse, say
from rxstream.cli.settings import problems_of
from rxstream.gateway.catalogue import Catalogue
from rxstream.gateway.config import Config, ConfigError, SettingError, load_config
from rxstream.gateway.gateway import open_diagnostics
from rxstream.gateway.litellm import Imported, LitellmError, import_litellm
from rxstream.gateway.security import configured_tokens
from rxstream.gateway.serve import check_exposure

__all__ = ("run_config_check", "run_import_litellm")


def run_config_check(file: Path | None, write: Callable[[str], None]) -> None:
    """Look for everything that would keep the gateway from starting, and say what it would serve."""
    try:
        config = load_config(file)
    except ConfigError as error:
        refuse(str(error))
    problems = [*_unusable(config, file)]
    try:
        names = asyncio.run(_names(config))
    except SettingError as error:
        problems += problems_of(error, file)
    if problems:
        refuse("\n".join(problems))
    write(f"these settings are good: {config.server.host}:{config.server.port} serves")
    for name in names or ("the local model, for no other is named",):
        write(f"  {name}")


def _unusable(config: Config, file: Path | None) -> Iterator[str]:
    try:
        configured_tokens(config.server)
        check_exposure(config.server)
    except SettingError as error:
        yield from problems_of(error, file)
    try:
        open_diagnostics(config.log)
    except SettingError as error:
        yield from problems_of(error, file)


async def _names(config: Config) -> tuple[str, ...]:
    catalogue = Catalogue(config)
    try:
        return catalogue.names()
    finally:
        await catalogue.aclose()


def run_import_litellm(file: Path, out: Path | None, write: Callable[[str], None]) -> None:
    """Write the settings that a litellm proxy's come to, and say what they could not carry."""
    imported = _import(file)
    if out is None:
        write(imported.toml.rstrip("\n"))
    else:
        _write_new(out, imported.toml)
    for note in imported.notes:
        say(f"note: {note}")


def _import(file: Path) -> Imported:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        refuse(f"{file}: it cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}")
    try:
        return import_litellm(text, os.environ)
    except LitellmError as error:
        refuse(f"{file}: {error}")


def _write_new(out: Path, text: str) -> None:
    """A file that is there may hold settings that somebody wrote by hand: it is not replaced."""
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        refuse(f"{out} is there already: name another file, or move it away")
    except OSError as error:
        refuse(f"{out}: it cannot be written: {error.strerror}")
