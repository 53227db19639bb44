"""A recording, looked at, as a page or a picture."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rxstream.cli.console import refuse, say
from rxstream.cli.exit_codes import FAILED
from rxstream.errors import StreamError
from rxstream.inspect import Facts, Reader, inspect_recording, page, png
from rxstream.inspect.cards import headline
from rxstream.inspect.html_page import MARK
from rxstream.inspect.picture import MissingRenderer, check_renderer
from rxstream.inspect.text import count_text, seconds_text

__all__ = ("InspectOptions", "run_inspect")

OWNER_ONLY: Final = 0o600
PNG_BEGIN: Final = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True, slots=True)
class InspectOptions:
    """What to look at, and where to put what is seen.

    Args:
        recording: a recording, or a body.
        out: the page; None with no picture either is a name made of the recording's.
        png: the picture.
        wire: the wire of its bytes; None is the one that the recording names.
        reader_rate: events a second that the simulated reader takes.
        buffer: the bound of its buffer.
        png_width: pixels.
    """

    recording: Path
    out: Path | None
    png: Path | None
    wire: str | None
    reader_rate: float
    buffer: int
    png_width: int


def run_inspect(options: InspectOptions) -> int:
    """Write the page and the picture. Returns the exit code."""
    if not 0 < options.reader_rate < float("inf"):
        refuse(f"--reader-rate must be positive, not {options.reader_rate}")
    out = options.out
    if out is None and options.png is None:
        out = Path(options.recording.name).with_suffix(".html")
    if out is not None:
        _check_place(out, MARK.encode(), "no page of this command")
    if options.png is not None:
        _check_place(options.png, PNG_BEGIN, "no PNG")
        try:
            check_renderer()
        except MissingRenderer as error:
            refuse(str(error))
    facts = _look(options)
    say(_sentence(facts))
    try:
        if out is not None:
            _write(out, page(facts).encode())
        if options.png is not None:
            _write(options.png, png(facts, options.png_width))
    except OSError as error:
        say(f"rxstream: cannot write {error.filename!r}: {error.strerror}")
        return FAILED
    return 0


def _look(options: InspectOptions) -> Facts:
    reader = Reader(options.reader_rate, options.buffer)
    try:
        return inspect_recording(options.recording, reader, wire=options.wire)
    except OSError as error:
        problem = error.strerror or str(error)
    except StreamError as error:
        problem = str(error)
    except ValueError as error:
        refuse(str(error))
    refuse(f"cannot read {str(options.recording)!r}: {problem}")


def _sentence(facts: Facts) -> str:
    parts = [facts.response.outcome, headline(facts), count_text(facts.events.count, "event")]
    if facts.has_times:
        parts.append(f"first token {seconds_text(facts.pace.first_token)}, {seconds_text(facts.seconds)} in all")
    return ", ".join(parts)


def _check_place(path: Path, begin: bytes, what: str) -> None:
    """A file that is not ours is never replaced."""
    try:
        with path.open("rb") as file:
            start = file.read(256)
    except FileNotFoundError:
        if not path.parent.is_dir():
            refuse(f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}")
        return
    except OSError as error:
        refuse(f"cannot write {str(path)!r}: {error.strerror}")
    if begin not in start:
        refuse(f"{str(path)!r} is there and is {what}: name another file")


def _write(path: Path, data: bytes) -> None:
    """For its owner only: it holds what the recording holds."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNER_ONLY), "wb") as file:
        if hasattr(os, "fchmod"):
            os.fchmod(file.fileno(), OWNER_ONLY)  # one that is replaced had a mode of its own
        file.write(data)
    say(str(path))
