"""A language model on this machine, behind llama.cpp's own HTTP server.

The server runs in a process of its own, not in the caller's. In the caller's it would hold Python's global lock while
the model loads, and again when it shuts down, until the last client has read its answer: one paused reader would stop
the whole interpreter, event loop and Ctrl-C included, for as long as it pauses. Killing a process waits for nobody,
keeps llama.cpp's output off the terminal, and a crash in native code stays there.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryFile
from types import MappingProxyType, TracebackType
from typing import IO, Any, ClassVar, Self

from rxstream.local.error import LocalModelError
from rxstream.local.model_file import model_path

__all__ = ("LocalModel",)

_SERVE_FILE = Path(__file__).with_name("_serve.py")
_SHOWN_LOG_BYTES = 64 * 1024


class LocalModel:
    """A local model's server, for the length of a `with` or `async with` block.

        with LocalModel() as model:
            client = httpx.AsyncClient(base_url=model.base_url, headers=model.request_headers)

    It answers `/v1/chat/completions`, `/v1/messages` and `/v1/responses`, streaming, and shows at `/slots` what it is
    working on. It ends with the block, with this process (however that ends), or when the object is dropped.

    Args:
        model: a GGUF file; None for `model_path()`.
        context_tokens: the longest prompt plus answer of one request, in tokens.
        parallel_requests: how many requests are answered at a time; more wait their turn.
        threads: CPU threads; None takes all CPUs but one, 8 at most.
        start_timeout_seconds: how long loading may take.

    Raises:
        ValueError: a number that is not positive.
    """

    request_headers: ClassVar[Mapping[str, str]] = MappingProxyType({"Connection": "close"})
    """Send these with each request. llama.cpp closes the connection right after a stream, having announced that it
    would keep it; a client that puts its next request on it at once fails with "Server disconnected"."""

    def __init__(
        self,
        model: Path | str | None = None,
        *,
        context_tokens: int = 4096,
        parallel_requests: int = 2,
        threads: int | None = None,
        start_timeout_seconds: float = 60.0,
    ) -> None:
        for name, value in (
            ("context_tokens", context_tokens),
            ("parallel_requests", parallel_requests),
            ("threads", 1 if threads is None else threads),
            ("start_timeout_seconds", start_timeout_seconds),
        ):
            if value <= 0:
                raise ValueError(f"{name} must be positive, not {value!r}")
        self._model = None if model is None else Path(model)
        self._options = {
            "context_tokens": context_tokens,
            "parallel_requests": parallel_requests,
            "threads": threads or _default_threads(),
        }
        self._start_timeout_seconds = start_timeout_seconds
        self._lock = threading.Lock()
        self._is_closed = False
        self._process: subprocess.Popen[bytes] | None = None
        self._stop: weakref.finalize[..., LocalModel] | None = None
        self._base_url: str | None = None
        self._model_name: str | None = None

    @property
    def base_url(self) -> str:
        """`http://127.0.0.1:PORT`, without a path. RuntimeError before the start."""
        return _started(self._base_url)

    @property
    def model_name(self) -> str:
        """The name the server gives the model: its file's, without the extension. RuntimeError before the start."""
        return _started(self._model_name)

    @property
    def is_running(self) -> bool:
        """True from the start to `close`, unless the server ended by itself."""
        return self._base_url is not None and self._process is not None and self._process.poll() is None

    def start(self) -> Self:
        """Load the model and return when it answers; the `with` block does this.

        Raises:
            LocalModelError: no model, no xllamacpp, a file that is no model, or no answer in time.
            RuntimeError: it was started or closed before; make a new one.
        """
        path = _existing(self._model) if self._model else model_path()
        _require_server_library()
        settings = {**self._options, "model_path": str(path), "model_name": path.stem, "sys_path": sys.path}
        with TemporaryFile() as log:
            process = self._spawn(log)
            try:
                said = _ask(process, settings, self._start_timeout_seconds)
                self._base_url = _address(said, path, log)
            except BaseException:
                self.close()
                raise
        self._model_name = path.stem
        return self

    def close(self) -> None:
        """End the server at once, also while it answers: its clients see the connection close. Idempotent."""
        with self._lock:
            self._is_closed = True
        if self._stop is not None:
            self._stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        try:
            return await asyncio.to_thread(self.start)
        except BaseException:  # cancelled: the thread runs on, and finds its process ended
            self.close()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)

    def _spawn(self, log: IO[bytes]) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._is_closed or self._process is not None:
                raise RuntimeError("a LocalModel starts once: make a new one")
            self._process = process = subprocess.Popen(
                [sys.executable, "-P", str(_SERVE_FILE)],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                **_own_process_group(),
            )
            # Also at the interpreter's exit and when the object is dropped, while no one called `close`.
            self._stop = weakref.finalize(self, _end, process)
        return process


def _default_threads() -> int:
    """The threads compute every token in step, so one that has to share its CPU holds up all of them.

    Measured on two cores with the default model: 125 tokens/s with two threads and 77 with one while nothing else runs,
    2 to 7 with two and 24 to 50 with one beside two busy processes.
    """
    # `taskset` and cpusets give fewer CPUs than the machine has.
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(8, cpus - 1))


def _started(value: str | None) -> str:
    if value is None:
        raise RuntimeError("the local model is not started: use `with LocalModel() as model:`")
    return value


def _existing(path: Path) -> Path:
    if path.is_file():
        return path
    raise LocalModelError(f"the model {str(path)!r} is not a file", category="not_found")


def _require_server_library() -> None:
    if importlib.util.find_spec("xllamacpp") is None:
        raise LocalModelError(
            'the local model needs the package xllamacpp, which is not installed. Run `pip install "rxstream[local]"`.',
            category="not_found",
        )


def _own_process_group() -> dict[str, Any]:
    """Ctrl-C in the terminal is for the parent: it decides when the server ends."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    return {"start_new_session": True}


def _ask(process: subprocess.Popen[bytes], settings: dict[str, Any], timeout_seconds: float) -> dict[str, str]:
    """Hand the settings over and wait for the one line that comes back; `{}` where the process ended without one."""
    assert process.stdin is not None
    assert process.stdout is not None
    timed_out = threading.Event()

    def expire() -> None:
        timed_out.set()
        process.kill()

    # A pipe cannot be read with a time limit on every platform; its end can be brought about.
    timer = threading.Timer(timeout_seconds, expire)
    timer.daemon = True
    timer.start()
    try:
        process.stdin.write(json.dumps(settings).encode() + b"\n")
        line = process.stdout.readline()
    except (OSError, ValueError):  # the process, or `close` in another thread, ended the pipes
        line = b""
    finally:
        timer.cancel()
        timer.join()
    if timed_out.is_set():
        raise LocalModelError(
            f"the local model did not start within {timeout_seconds:g} seconds. "
            "Choose a smaller model (RXSTREAM_MODEL), or give start_timeout_seconds more.",
            category="timeout",
        )
    answer: dict[str, str] = json.loads(line) if line.endswith(b"\n") else {}
    return answer


def _address(said: dict[str, str], path: Path, log: IO[bytes]) -> str:
    if "base_url" in said:
        return said["base_url"]
    why = [said.get("error", "its process ended"), *_first_and_last_line(log)]
    raise LocalModelError(f"llama.cpp could not serve {path}: {'; '.join(why)}", category="internal")


def _first_and_last_line(log: IO[bytes]) -> list[str]:
    """Of what llama.cpp wrote: the first line is mostly the cause, the last one an assertion that failed."""
    log.seek(0)
    lines = log.read(_SHOWN_LOG_BYTES).decode("utf-8", "replace").split("\n")
    told = [line.strip() for line in lines if line.strip()]
    return told if len(told) < 2 else [told[0], told[-1]]


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()  # does nothing in a forked copy of this interpreter: the process is not its child
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
