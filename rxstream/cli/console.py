"""Saying things to the user: sentences on standard error, the answer on standard output."""

from __future__ import annotations

from typing import NoReturn

import typer

from rxstream.cli.exit_codes import WRONG_USE
from rxstream.sinks.terminal_text import TerminalText

__all__ = ("missing_extra", "refuse", "say")


def say(text: str) -> None:
    """One line for the user, beside the output. A model's name or a server's word may be in it: it moves no cursor."""
    typer.echo(TerminalText().feed(text), err=True)


def refuse(text: str) -> NoReturn:
    """Say what is wrong and what to do, and exit: wrong use."""
    say(f"rxstream: {text}")
    raise typer.Exit(WRONG_USE)


def missing_extra(extra: str, error: ModuleNotFoundError) -> str:
    """The sentence for a command whose optional packages are not installed."""
    package = (error.name or "a package").partition(".")[0]
    return f'this needs the extra "{extra}" ({package} is missing): pip install "rxstream[{extra}]"'
