"""Schemathesis against a gateway on a socket: requests made from its OpenAPI document, good ones and bad ones."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from rxstream.gateway.app import create_app
from rxstream.gateway.doctor.self_test import SELF_TEST_PATH
from rxstream.gateway.openapi import openapi_document
from rxstream.gateway.serve import GatewayServer, bind
from rxstream.testing import ScriptedProvider, answer
from tests.gateway.kit import config_for

EXAMPLES = 30
CHECKS = [status_code_conformance, content_type_conformance, response_schema_conformance]


@contextmanager
def gateway_in_thread(provider_url: str) -> Iterator[str]:
    """A gateway on a free port, on a loop in a thread of its own."""
    app = create_app(config_for(provider_url, server={"port": 0}))
    listener = bind(app.state.gateway.config.server)
    started = threading.Event()
    server = GatewayServer(app, on_started=started.set)
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    assert started.wait(10)
    host, port = listener.getsockname()
    try:
        yield f"http://{host}:{port}"
    finally:
        server.should_exit = True
        thread.join()


def test_every_answer_is_as_the_document_says() -> None:
    with ScriptedProvider.run_in_thread(answer("hi")) as provider, gateway_in_thread(provider.base_url) as url:
        document: Any = schemathesis.openapi.from_url(f"{url}/openapi.json")
        operations = [found.ok() for found in document.get_all_operations()]
        assert len(operations) == sum(map(len, openapi_document()["paths"].values()))
        for operation in operations:
            if operation.path == SELF_TEST_PATH:
                continue  # its answers take their time: that is what they are for
            for mode in schemathesis.GenerationMode:
                fuzz(operation, mode)


def fuzz(operation: Any, mode: Any) -> None:
    """Good requests of one operation, or bad ones; there are none of those where everything is good."""
    try:
        strategy = operation.as_strategy(generation_mode=mode)
    except Unsatisfiable:
        return

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def every(case: Any) -> None:
        response = case.call()
        assert response.status_code < 500, response.text
        assert "Traceback" not in response.text
        case.validate_response(response, checks=CHECKS)

    try:
        every()
    except Unsatisfiable:
        assert mode is schemathesis.GenerationMode.NEGATIVE
