"""The check for unbounded growth finds what it names, and only that."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from reactivex import operators as rx_ops

from tests.checks.growth_rules import FLUENT_HOLDING, HOLDING
from tests.checks.queue_check import Finding, check_source, main

UNBOUNDED = {
    "asyncio queue": "import asyncio\nq = asyncio.Queue()",
    "asyncio queue of a type": "import asyncio\nq = asyncio.Queue[int]()",
    "asyncio queue under another name": "from asyncio import Queue as Line\nq = Line()",
    "asyncio queue by its module": "import asyncio.queues\nq = asyncio.queues.LifoQueue()",
    "size zero": "import asyncio\nq = asyncio.PriorityQueue(0)",
    "size below zero": "import asyncio\nq = asyncio.Queue(maxsize=-1)",
    "size without end": "import queue, sys\nq = queue.Queue(sys.maxsize)",
    "a comment does not excuse a queue": "import asyncio\nq = asyncio.Queue()  # bounded: by the producer",
    "a queue class handed on": "import asyncio, attrs\nf = attrs.field(factory=asyncio.Queue)",
    "a subclass of a queue": "import asyncio\nclass Line(asyncio.Queue): ...",
    "simple queue": "import queue\nq = queue.SimpleQueue()",
    "deque": "from collections import deque\nq = deque()",
    "deque of something": "import collections\nq = collections.deque([1, 2])",
    "deque with no limit": "import collections\nq = collections.deque(maxlen=None)",
    "deque made by a factory": "from collections import defaultdict, deque\nq = defaultdict(deque)",
    "a reason must be given": "from collections import deque\nq = deque()  # bounded:",
    "a reason elsewhere": "# bounded: by n\nn = 1\nfrom collections import deque\nq = deque()",
    "memory stream": "import anyio, math\na, b = anyio.create_memory_object_stream(math.inf)",
    "memory stream of a type": "import anyio\na, b = anyio.create_memory_object_stream[int](float('inf'))",
    "to_list": "from reactivex import operators as rx_ops\nf = rx_ops.to_list()",
    "imported operator": "from reactivex.operators import zip as together\nf = together(other)",
    "operator by its long name": "import reactivex\nf = reactivex.operators.buffer_with_time(1)",
    "operator under a short name": "import reactivex as rx\nf = rx.operators.observe_on(s)",
    "static operator": "import reactivex as rx\nf = rx.combine_latest(a, b)",
    "concat_map": "from reactivex import operators as rx_ops\nf = rx_ops.concat_map(make)",
    "merge with waiting sources": "from reactivex import operators as rx_ops\nf = rx_ops.merge(max_concurrent=2)",
    "replay": "from reactivex import operators as rx_ops\nf = rx_ops.replay(window=3)",
    "replay subject": "from reactivex.subject import ReplaySubject\ns = ReplaySubject()",
    "fluent to_list": "def f(source): return source.map(str).to_list()",
    "text on an attribute": "def f(self, piece): self.text += piece",
    "text on a private attribute": "def f(self, piece): self._pending_text += piece",
    "text under a key": "def f(call, piece): call['arguments'] += piece",
    "text spelled out": "def f(self, piece): self.reasoning = self.reasoning + piece",
    "text from a constant": "def f(self): self.content += 'end'",
    "bytes without a reason": "def f(self, data): self._buffer += data",
}

BOUNDED = {
    "queue": "import asyncio\nq = asyncio.Queue(16)",
    "queue by keyword": "import asyncio\nq = asyncio.Queue[int](maxsize=limits.max_buffered_events)",
    "a queue's type": "import asyncio\ndef f(q: asyncio.Queue[int]) -> bool: return isinstance(q, asyncio.Queue)",
    "someone else's queue": "from billing import Queue\nq = Queue()",
    "deque": "from collections import deque\nq = deque([], 16)",
    "deque by keyword": "from collections import deque\nq = deque(maxlen=16)",
    "deque with a reason": "from collections import deque\nq = deque()  # bounded: append asks max_events first",
    "a reason above": "from collections import deque\n# bounded: append asks\n# max_events first\nq = deque()",
    "a reason in a statement of many lines": """
        from collections import deque
        class State:
            q: deque[int] = field(
                default_factory=deque,  # bounded: append asks max_events first
            )
        """,
    "rendezvous": "import anyio\na, b = anyio.create_memory_object_stream[int]()",
    "memory stream": "import anyio\na, b = anyio.create_memory_object_stream(8)",
    "transparent operators": "from reactivex import operators as rx_ops\nf = (rx_ops.map(g), rx_ops.merge(x))",
    "an operator with a reason": "from reactivex import operators as o\nf = o.take_last(1)  # bounded: one item",
    "the builtin zip": "for a, b in zip(x, y): print(a, b)",
    "replay of a few": "from reactivex import operators as rx_ops\nf = rx_ops.replay(buffer_size=1)",
    "our own operators": "from rxstream import operators as ops\nf = ops.batch_text()",
    "a local": "def f(pieces):\n    text = ''\n    for piece in pieces:\n        text += piece\n    return text",
    "a count": "def f(self, piece):\n    self.text_bytes += n\n    self.text += 1\n    self.data += len(piece)",
    "subtraction": "def f(self): self.text -= 1",
    "bytes with a reason": "def f(self, data): self._buffer += data  # bounded: _check_size holds it to max_line_bytes",
    "another sum": "def f(self, piece): self.text = self.prefix + piece",
}


@pytest.mark.parametrize("source", UNBOUNDED.values(), ids=UNBOUNDED)
def test_what_is_unbounded_is_found_once(source: str) -> None:
    assert len(check_source(source)) == 1


@pytest.mark.parametrize("source", BOUNDED.values(), ids=BOUNDED)
def test_what_is_bounded_passes(source: str) -> None:
    assert check_source(dedent(source)) == []


@pytest.mark.parametrize("statement", ["import asyncio", "import httpx", "from reactivex.abc import ObserverBase"])
@pytest.mark.parametrize(
    "room", ["framing", "providers", "response", "encoders", "requests", "events", "limits", "errors"]
)
def test_a_pure_room_imports_no_loop_no_socket_and_no_rx(room: str, statement: str) -> None:
    assert [finding.what for finding in check_source(f"def f():\n    {statement}", room)] == [
        f"a pure room imports {statement.split()[1].partition('.')[0]}"
    ]


@pytest.mark.parametrize("room", ["flow", "operators", "sources"])
def test_other_rooms_import_what_they_need(room: str) -> None:
    assert check_source("import asyncio, httpx\nfrom reactivex.abc import ObserverBase", room) == []


def test_the_rules_name_operators_that_exist() -> None:
    assert set(HOLDING) <= set(rx_ops.__all__)
    assert set(HOLDING) >= FLUENT_HOLDING


def test_a_finding_names_the_line_and_what_to_take_instead() -> None:
    assert check_source("import queue\n\nq = queue.SimpleQueue()") == [
        Finding(
            line=3,
            what="queue.SimpleQueue cannot be bounded",
            instead="queue.Queue with a positive maxsize, or loop.call_soon_threadsafe",
        )
    ]


def test_findings_come_with_their_file_and_fail_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = tmp_path / "framing" / "sse.py"
    module.parent.mkdir()
    module.write_text("import asyncio\n\nlines = asyncio.Queue()\n")
    assert main([str(tmp_path)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{module}:1: a pure room imports asyncio; instead: move what needs it to the operator or source above",
        f"{module}:3: asyncio.Queue without a bound; instead: demand needs no queue; else bounded_buffer, "
        "or a positive maxsize",
        "queue check: 1 files, 2 unbounded",
    ]


def test_a_bounded_package_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "flow.py").write_text("import asyncio\n\nlines = asyncio.Queue(1)\n")
    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == "queue check: 1 files, nothing unbounded\n"


def test_a_folder_without_modules_is_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "rxstraem")]) == 2
    assert "usage" in capsys.readouterr().err
