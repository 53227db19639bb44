"""The command line: `rxstream`. Needs the extra `cli`."""

from __future__ import annotations

import sys

__all__ = ("main",)


def main() -> None:
    """Run the command line and exit with its code."""
    try:
        import rich  # noqa: F401  # only to say early, and in one sentence, what is missing
        import typer  # noqa: F401
    except ImportError:
        sys.stderr.write('the command line needs the extra "cli": pip install "rxstream[cli]"\n')
        raise SystemExit(2) from None
    from rxstream.cli.app import app

    app()
