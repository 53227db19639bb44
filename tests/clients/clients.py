"""All clients, and how a test asks one of them."""

from __future__ import annotations

from typing import Any, Protocol

import pytest

from tests.clients.anthropic_client import AnthropicMessages
from tests.clients.curl_client import PATHS, Curl
from tests.clients.gateways import Served
from tests.clients.langchain_client import LangChain
from tests.clients.node_clients import NODE_CLIENTS, NodeClient
from tests.clients.openai_clients import OpenAIChat, OpenAIResponses
from tests.clients.report import Client, Job, OnPiece, Report

__all__ = ("CLIENTS", "ask", "every_client")


class Prompted(Protocol):
    """What says what the user says."""

    @property
    def prompt(self) -> str:
        """The words."""
        ...


CLIENTS: tuple[Client, ...] = (
    OpenAIChat(),
    OpenAIResponses(),
    AnthropicMessages(),
    LangChain(uses_responses=False),
    LangChain(uses_responses=True),
    *NODE_CLIENTS,
    *(Curl(format) for format in PATHS),
)


def every_client(*needs: str, without: str | None = None) -> pytest.MarkDecorator:
    """Runs a test with each client that can tell all of `needs`, and not what it is to be `without`."""
    chosen = [client for client in CLIENTS if client.shows.issuperset(needs) and without not in client.shows]
    return pytest.mark.parametrize("client", chosen, ids=[client.name for client in chosen])


@pytest.fixture
def ready(client: Client, request: pytest.FixtureRequest) -> Client:
    """The client of a test, with the process that it may need."""
    if isinstance(client, NodeClient):
        request.getfixturevalue("node")
    return client


def ask(
    client: Client, gateway: Served, wire: str, scene: Prompted, on_piece: OnPiece | None = None, **job: Any
) -> Report:
    """What `client` reports of the answer of the model `wire`."""
    return client.ask(Job(gateway.base_url, wire, scene.prompt, **job), on_piece or (lambda _: None))
