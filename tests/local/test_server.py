"""The life of the server's process, with a stand-in for llama.cpp that the tests command by way of the model file."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from rxstream.local import LocalModel, LocalModelError

ROOT = Path(__file__).parents[2]

# The same face as xllamacpp: parameters, and a server that is ready once it is made. The "model" file says what to do.
XLLAMACPP = """
import http.server, json, os, socket, threading, types

class CommonParams:
    def __init__(self):
        self.model = types.SimpleNamespace()
        self.cpuparams = types.SimpleNamespace()
        self.cpuparams_batch = types.SimpleNamespace()

def plain(value):
    if isinstance(value, types.SimpleNamespace):
        return vars(value)
    return sorted(value)

class Server:
    def __init__(self, params):
        os.write(1, b"noise on stdout\\n")
        os.write(2, b"first: tensor is odd\\nmiddle\\nlast: giving up\\n")
        with open(params.model.path) as file:
            command, _, argument = file.read().partition(" ")
        if command == "raise":
            raise RuntimeError("bad magic")
        if command == "abort":
            os.abort()
        if command == "hang":
            socket.create_connection(("127.0.0.1", int(argument))).recv(1)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                os.write(2, b"noise of a request\\n")
                self.send_response(200)
                self.end_headers()
                drops_output = all(os.path.samestat(os.fstat(fd), os.stat(os.devnull)) for fd in (1, 2))
                answer = {**vars(params), "drops_output": drops_output, "process_group": os.getpgid(0)}
                self.wfile.write(json.dumps(answer, default=plain).encode())
                if self.path == "/stay":
                    self.wfile.flush()
                    threading.Event().wait()

        server = http.server.ThreadingHTTPServer((params.hostnames[0], params.port), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.listening_address = "http://127.0.0.1:%d" % server.server_address[1]
"""

ModelFile = Callable[[str], Path]


@pytest.fixture
def model_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelFile:
    (tmp_path / "xllamacpp.py").write_text(XLLAMACPP)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(ROOT)]))

    def write(command: str) -> Path:
        path = tmp_path / "Small-1B.Q4.gguf"
        path.write_text(command)
        return path

    return write


def is_listening(base_url: str) -> bool:
    address = httpx.URL(base_url)
    try:
        socket.create_connection((address.host, address.port or 80)).close()
    except ConnectionError:
        return False
    return True


def parameters_of(model: LocalModel) -> dict[str, Any]:
    parameters: dict[str, Any] = httpx.get(model.base_url).json()
    return parameters


def test_the_server_answers_inside_the_block_and_is_gone_after_it(model_file: ModelFile) -> None:
    with LocalModel(model_file("serve")) as model:
        ran_inside = model.is_running
        assert model.model_name == "Small-1B.Q4"
        assert httpx.get(model.base_url).status_code == 200

    assert (ran_inside, model.is_running) == (True, False)
    assert not is_listening(model.base_url)


def test_the_options_reach_llama_cpp(model_file: ModelFile) -> None:
    with LocalModel(model_file("serve"), context_tokens=512, parallel_requests=3, threads=2) as model:
        parameters = parameters_of(model)

    assert parameters["n_parallel"] == 3
    assert parameters["n_ctx"] == 3 * 512  # each request has its 512
    assert parameters["cpuparams"]["n_threads"] == parameters["cpuparams_batch"]["n_threads"] == 2
    assert parameters["endpoint_slots"] is True


@pytest.mark.parametrize(("cpus", "threads"), [(1, 1), (2, 1), (4, 3), (64, 8)])
def test_one_cpu_is_left_for_the_application(
    model_file: ModelFile, monkeypatch: pytest.MonkeyPatch, cpus: int, threads: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cpus)), raising=False)

    with LocalModel(model_file("serve")) as model:
        assert parameters_of(model)["cpuparams"]["n_threads"] == threads


def test_only_this_machine_and_no_web_page_may_ask(model_file: ModelFile) -> None:
    with LocalModel(model_file("serve")) as model:
        parameters = parameters_of(model)

    assert parameters["hostnames"] == ["127.0.0.1"]
    assert parameters["cors_origins"] == ""
    assert parameters["ui"] is False


def test_nothing_reaches_the_terminal(model_file: ModelFile, capfd: pytest.CaptureFixture[str]) -> None:
    with LocalModel(model_file("serve")) as model:
        drops_output = parameters_of(model)["drops_output"]

    assert drops_output  # nor a file that would grow
    assert capfd.readouterr() == ("", "")


def test_a_file_that_is_no_model_is_an_error_with_the_first_and_last_word_of_llama_cpp(
    model_file: ModelFile, capfd: pytest.CaptureFixture[str]
) -> None:
    path = model_file("raise")

    with pytest.raises(LocalModelError, match="bad magic; first: tensor is odd; last: giving up") as caught:
        LocalModel(path).start()

    assert str(path) in str(caught.value)
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows shows a dialog for an abort")
def test_a_crash_in_native_code_is_an_error_here(model_file: ModelFile) -> None:
    with pytest.raises(LocalModelError, match="its process ended"):
        LocalModel(model_file("abort")).start()


def test_loading_is_bounded(model_file: ModelFile) -> None:
    with socket.create_server(("127.0.0.1", 0)) as never_answers:
        path = model_file(f"hang {never_answers.getsockname()[1]}")

        with pytest.raises(LocalModelError, match=r"did not start within 0\.5 seconds") as caught:
            LocalModel(path, start_timeout_seconds=0.5).start()

    assert caught.value.category == "timeout"


def test_no_timer_runs_on_once_the_model_is_loaded(model_file: ModelFile) -> None:
    with LocalModel(model_file("serve")):
        assert [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)] == []


def test_closing_twice_is_closing_once(model_file: ModelFile) -> None:
    model = LocalModel(model_file("serve")).start()

    model.close()
    model.close()

    assert not model.is_running


def test_closing_before_the_start_does_nothing_but_rule_it_out(model_file: ModelFile) -> None:
    model = LocalModel(model_file("serve"))

    model.close()

    with pytest.raises(RuntimeError, match="starts once"):
        model.start()


def test_a_model_starts_once(model_file: ModelFile) -> None:
    with LocalModel(model_file("serve")) as model:
        with pytest.raises(RuntimeError, match="starts once"):
            model.start()
        assert model.is_running


def test_a_client_of_a_closed_model_sees_its_connection_end(model_file: ModelFile) -> None:
    with LocalModel(model_file("serve")) as model:
        with httpx.stream("GET", model.base_url + "/stay") as response:
            chunks = response.iter_raw()
            next(chunks)

            model.close()

            with contextlib.suppress(httpx.ReadError):  # a reset, where the system sends one
                assert list(chunks) == []


def test_two_models_run_side_by_side(model_file: ModelFile) -> None:
    path = model_file("serve")
    with LocalModel(path) as one, LocalModel(path) as other:
        assert one.base_url != other.base_url
        one.close()
        assert httpx.get(other.base_url).status_code == 200


def test_a_dropped_model_ends(model_file: ModelFile) -> None:
    model = LocalModel(model_file("serve")).start()
    base_url = model.base_url

    del model
    gc.collect()

    assert not is_listening(base_url)


def run_script(body: str, path: Path) -> subprocess.Popen[str]:
    """A program that starts a model, prints its address and goes on with `body`."""
    start = (
        "import os, signal\nfrom rxstream.local import LocalModel\n"
        f"model = LocalModel({str(path)!r}).start()\nprint(model.base_url, flush=True)\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", start + body],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_the_interpreter_exits_cleanly_and_takes_the_model_with_it(model_file: ModelFile) -> None:
    with run_script("", model_file("serve")) as script:
        base_url, errors = script.communicate()

    assert (script.returncode, errors) == (0, "")
    assert not is_listening(base_url.strip())


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_the_model_ends_when_its_owner_is_killed(model_file: ModelFile) -> None:
    with run_script("input()", model_file("serve")) as script:
        assert script.stdout is not None
        base_url = script.stdout.readline().strip()
        with httpx.stream("GET", base_url + "/stay") as response:
            chunks = response.iter_raw()
            next(chunks)

            script.kill()

            with contextlib.suppress(httpx.ReadError):
                assert list(chunks) == []  # ends with the model's process, or never

    assert not is_listening(base_url)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_ctrl_c_stays_pythons_and_the_model_runs_until_it_is_closed(model_file: ModelFile) -> None:
    body = (
        "try:\n    input()\nexcept KeyboardInterrupt:\n"
        "    print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)\n"
    )
    with run_script(body, model_file("serve")) as script:
        assert script.stdout is not None
        base_url = script.stdout.readline().strip()

        # The terminal sends the signal to the script's group, and the model is in another.
        assert httpx.get(base_url).json()["process_group"] != os.getpgid(script.pid)

        os.killpg(script.pid, signal.SIGINT)
        said, errors = script.communicate()

    assert (said, errors) == ("True\n", "")
    assert not is_listening(base_url)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_copy_of_the_owner_leaves_the_model_alone(model_file: ModelFile) -> None:
    body = "if os.fork() == 0: raise SystemExit\nos.wait()\nprint(model.is_running, flush=True)\n"
    with run_script(body, model_file("serve")) as script:
        said, _ = script.communicate()

    assert said.splitlines()[1:] == ["True"]


def test_the_async_block_serves_too(model_file: ModelFile) -> None:
    async def use() -> LocalModel:
        async with LocalModel(model_file("serve")) as model:
            async with httpx.AsyncClient() as client:
                assert (await client.get(model.base_url)).status_code == 200
        return model

    assert not asyncio.run(use()).is_running


def test_cancelling_the_start_ends_the_process(model_file: ModelFile) -> None:
    async def cancel_while_loading() -> LocalModel:
        loading: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        ended: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        async def on_loading(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            loading.set_result(None)
            try:
                ended.set_result(await reader.read())
            except ConnectionError:
                ended.set_result(b"")
            writer.close()

        async with await asyncio.start_server(on_loading, "127.0.0.1", 0) as server:
            model = LocalModel(model_file(f"hang {server.sockets[0].getsockname()[1]}"))
            entering = asyncio.create_task(model.__aenter__())
            await loading  # the process is there
            entering.cancel()
            with pytest.raises(asyncio.CancelledError):
                await entering
            assert await ended == b""  # its connection ended, and so did it
        return model

    assert not asyncio.run(cancel_while_loading()).is_running


def test_the_address_is_unknown_before_the_start() -> None:
    with pytest.raises(RuntimeError, match="not started"):
        _ = LocalModel("any.gguf").base_url


def test_a_model_file_that_is_missing_is_named(model_file: ModelFile) -> None:
    with pytest.raises(LocalModelError, match=r"gone\.gguf' is not a file"):
        LocalModel("gone.gguf").start()


def test_without_the_extra_the_error_names_the_command(model_file: ModelFile, monkeypatch: pytest.MonkeyPatch) -> None:
    path = model_file("serve")
    monkeypatch.setitem(sys.modules, "xllamacpp", None)

    with pytest.raises(LocalModelError, match=r'pip install "rxstream\[local\]"') as caught:
        LocalModel(path).start()
    assert caught.value.category == "not_found"


@pytest.mark.parametrize("option", ["context_tokens", "parallel_requests", "threads", "start_timeout_seconds"])
def test_a_number_that_is_not_positive_is_refused_at_once(option: str) -> None:
    with pytest.raises(ValueError, match=f"{option} must be positive, not 0"):
        LocalModel("any.gguf", **{option: 0})


def test_the_room_is_light_to_import() -> None:
    script = "import sys, rxstream.local; print({'xllamacpp', 'httpx', 'reactivex'} & set(sys.modules))"
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT).stdout

    assert said == "set()\n"
