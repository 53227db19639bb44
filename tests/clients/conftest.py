"""Real clients, a real `rxstream serve`, and a scripted provider of every wire behind it.

Nothing here is skipped: where a program is missing, the test that needs it fails and says what to install.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.clients.clients import ready  # noqa: F401  # a fixture
from tests.clients.gateways import Served, serving, settings_for
from tests.clients.node_clients import NODE_CLIENTS, Node, run_node
from tests.clients.stage import Stage, run_stage


@pytest.fixture(scope="session")
def stage() -> Iterator[Stage]:
    """The provider."""
    with run_stage() as stage:
        yield stage


@pytest.fixture(scope="session")
def gateway(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A gateway in front of it, which no test changes."""
    with serving(settings_for(stage), tmp_path_factory.mktemp("gateway")) as served:
        yield served


@pytest.fixture(scope="session")
def node() -> Iterator[Node]:
    """The process with the JavaScript clients."""
    with run_node() as node:
        for client in NODE_CLIENTS:
            client.node = node
        yield node
