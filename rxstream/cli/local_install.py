"""Fetch the local model's file, with progress."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from rxstream.cli.console import refuse
from rxstream.local import LocalModelError, install_model

__all__ = ("run_local_install",)


def run_local_install() -> int:
    """Install the model where it is not there yet. Returns the exit code."""
    columns = (TextColumn("local model"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("download", total=None)

        def report(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total)

        try:
            path = install_model(progress=report)
        except LocalModelError as error:
            bar.stop()
            refuse(str(error))
    Console(stderr=True).print(f"The local model is ready: {path}", soft_wrap=True)
    return 0
