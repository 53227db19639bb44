"""The names of the room: loaded when they are asked for, and Starlette is needed by those alone that serve."""

from __future__ import annotations

import subprocess
import sys

import pytest

from rxstream import sinks


@pytest.mark.parametrize("name", sinks.__all__)
def test_a_name_is_loaded_and_listed(name: str) -> None:
    assert getattr(sinks, name).__name__ == name
    assert name in dir(sinks)


def test_another_name_is_an_attribute_error() -> None:
    unknown = "NoSuchSink"
    with pytest.raises(AttributeError, match=unknown):
        getattr(sinks, unknown)


SCRIPT = """
import sys
sys.modules["starlette"] = sys.modules["anyio"] = None  # as if they were not installed
from rxstream.sinks import RecordingSink, TerminalSink
for name in ("EventStreamResponse", "WebSocketSink"):
    try:
        getattr(__import__("rxstream.sinks").sinks, name)
    except ModuleNotFoundError as error:
        print(error)
"""


def test_where_starlette_is_absent_a_sentence_says_what_to_install() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "EventStreamResponse needs Starlette: pip install 'rxstream[asgi]'",
        "WebSocketSink needs Starlette: pip install 'rxstream[asgi]'",
    ]


def test_the_room_itself_loads_nothing() -> None:
    script = "import sys, rxstream.sinks; print([n for n in ('starlette', 'anyio', 'reactivex') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
