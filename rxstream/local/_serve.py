"""The child process of `LocalModel`: llama.cpp's server, until the parent goes away. Run as a file, never imported.

It shares nothing with the parent but two pipes. On stdin comes one line, the settings; after that stdin stays silent,
and its end means that the parent closed the model or died. On stdout goes one line, the address or the error. What
llama.cpp itself writes to stderr is kept while starting, where the parent looks if that fails, and dropped later.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any, TextIO

ERRORS_ONLY = 1  # llama.cpp's verbosity
SPARE_HTTP_THREADS = 32


def start_server(settings: dict[str, Any]) -> Any:
    """Load the model and serve it; returns when it answers."""
    xllamacpp = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = settings["model_path"]
    params.model_alias = {settings["model_name"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # the kernel picks a free one, without a race
    params.n_parallel = settings["parallel_requests"]
    params.n_ctx = settings["context_tokens"] * settings["parallel_requests"]  # llama.cpp divides it among the slots
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads = settings["threads"]
        cpu.poll = 0  # sleep between the steps of a token rather than spin on a core that others could use
    # A stream keeps a thread while its reader pauses, an idle connection for five seconds; the rest must get through.
    params.n_threads_http = settings["parallel_requests"] + SPARE_HTTP_THREADS
    params.endpoint_slots = True
    params.ui = False
    params.cors_origins = ""  # its default lets every web page that the user has open ask the model
    params.cache_ram_mib = 0  # its default keeps up to 8 GiB of old prompts
    params.verbosity = ERRORS_ONLY
    return xllamacpp.Server(params)


def main() -> None:
    """Serve until stdin ends."""
    settings = json.loads(sys.stdin.buffer.readline())
    sys.path[:] = settings["sys_path"]  # what the parent can import, this process can
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        server = start_server(settings)
    except Exception as error:
        tell(answer, {"error": f"{type(error).__name__}: {error}"})
        return
    os.dup2(nowhere, 2)
    tell(answer, {"base_url": server.listening_address})
    sys.stdin.buffer.read()
    # Not by way of the server's destructor: it waits for every client, and one that has stopped reading holds it up.
    os._exit(0)


def tell(answer: TextIO, said: dict[str, str]) -> None:
    """Write the one line that the parent waits for."""
    with answer:
        answer.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    main()
