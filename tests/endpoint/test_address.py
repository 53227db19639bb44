"""Base URLs as people write them, and where requests then go."""

from __future__ import annotations

import pytest

from rxstream.endpoint.address import Address, find_address
from rxstream.errors import RequestError
from rxstream.providers.registry import get_wire
from rxstream.providers.service import Service

CHAT, MESSAGES = "/chat/completions", "/v1/messages"


def address_of(wire: str, base_url: str | None = None, **environ: str) -> Address:
    return find_address(wire, get_wire(wire).service, base_url, environ)


@pytest.mark.parametrize(
    ("wire", "base_url", "path", "url"),
    [
        ("openai", "https://api.openai.com/v1", CHAT, "https://api.openai.com/v1/chat/completions"),
        ("openai", "https://api.openai.com/v1/", CHAT, "https://api.openai.com/v1/chat/completions"),
        ("openai-chat", "http://127.0.0.1:8080", CHAT, "http://127.0.0.1:8080/v1/chat/completions"),
        ("openai-chat", "http://127.0.0.1:8080/", CHAT, "http://127.0.0.1:8080/v1/chat/completions"),
        ("openai-chat", "https://h.example/api/paas/v4", CHAT, "https://h.example/api/paas/v4/chat/completions"),
        ("openai-chat", "https://h.example/v1/chat/completions", CHAT, "https://h.example/v1/chat/completions"),
        ("anthropic", "https://api.anthropic.com", MESSAGES, "https://api.anthropic.com/v1/messages"),
        ("anthropic", "https://api.anthropic.com/v1", MESSAGES, "https://api.anthropic.com/v1/messages"),
        ("anthropic", "https://h.example/anthropic", MESSAGES, "https://h.example/anthropic/v1/messages"),
        ("anthropic", "https://h.example/a/v1/messages/", MESSAGES, "https://h.example/a/v1/messages"),
        ("groq", "https://api.groq.com", CHAT, "https://api.groq.com/openai/v1/chat/completions"),
        ("databricks", "https://w.example", CHAT, "https://w.example/serving-endpoints/chat/completions"),
        ("perplexity", "https://api.perplexity.ai", CHAT, "https://api.perplexity.ai/chat/completions"),
        (
            "azure",
            "https://r.example/openai/deployments/d?api-version=1",
            CHAT,
            "https://r.example/openai/deployments/d/chat/completions?api-version=1",
        ),
        ("openai-chat", "http://[::1]:80/v1#part", CHAT, "http://[::1]:80/v1/chat/completions"),
        ("openai-chat", "  https://h.example/v1\n", CHAT, "https://h.example/v1/chat/completions"),
    ],
)
def test_a_base_url_is_read_in_every_usual_form(wire: str, base_url: str, path: str, url: str) -> None:
    assert address_of(wire, base_url).url(path) == url


@pytest.mark.parametrize(
    ("wire", "said", "url"),
    [
        ("ollama-openai", "localhost", "http://localhost:11434/v1/chat/completions"),
        ("ollama-openai", "10.0.0.7:9999", "http://10.0.0.7:9999/v1/chat/completions"),
        ("openai-chat", "127.0.0.1:1234/v1", "http://127.0.0.1:1234/v1/chat/completions"),
        ("openai-chat", "llm.example/v1", "https://llm.example/v1/chat/completions"),
        ("databricks", "w.example", "https://w.example/serving-endpoints/chat/completions"),
    ],
)
def test_a_host_without_a_scheme_gets_the_usual_one(wire: str, said: str, url: str) -> None:
    assert address_of(wire, said).url(CHAT) == url


def test_the_argument_wins_over_the_environment_and_that_over_the_services_own() -> None:
    assert address_of("openai").shown == "https://api.openai.com/v1"
    assert address_of("openai", OPENAI_BASE_URL="http://env.example").shown == "http://env.example"
    assert (
        address_of("openai", "http://arg.example", OPENAI_BASE_URL="http://env.example").shown == "http://arg.example"
    )
    assert address_of("openai", "", OPENAI_BASE_URL=" ").shown == "https://api.openai.com/v1"


def test_variables_are_asked_in_their_order() -> None:
    found = address_of("ollama-openai", OLLAMA_HOST="b.example:1", OLLAMA_BASE_URL="http://a.example/v1")
    assert found.shown == "http://a.example/v1"


def test_an_address_tells_who_said_it() -> None:
    assert not address_of("openai").is_given
    assert address_of("openai", "https://h.example").is_given
    assert address_of("openai", OPENAI_BASE_URL="https://h.example").is_given


@pytest.mark.parametrize(
    ("host", "is_loopback"),
    [
        ("localhost", True),
        ("a.localhost", True),
        ("127.0.0.1", True),
        ("127.8.9.10", True),
        ("[::1]", True),
        ("0.0.0.0", True),
        ("10.0.0.1", False),
        ("localhost.example", False),
        ("127.0.0.1.example", False),
    ],
)
def test_this_machine_is_known(host: str, is_loopback: bool) -> None:
    assert address_of("openai-chat", f"http://{host}:8080").is_loopback is is_loopback


def test_a_service_without_an_address_asks_for_one_by_its_variable() -> None:
    with pytest.raises(RequestError, match=r"'azure' has no address of its own: .*set AZURE_OPENAI_ENDPOINT"):
        address_of("azure")
    with pytest.raises(RequestError, match=r"pass base_url=\.\.\.$"):
        find_address("acme", Service(), None, {})


@pytest.mark.parametrize(
    "base_url", ["ftp://secret.example", "http://", "https://h.example:secret", "http://[secret", "/secret", "https://"]
)
def test_what_is_no_url_is_an_error_that_does_not_quote_it(base_url: str) -> None:
    with pytest.raises(RequestError, match="is not valid") as caught:
        address_of("openai", base_url)
    assert "secret" not in str(caught.value)


def test_what_may_be_secret_in_a_url_is_sent_and_not_shown() -> None:
    address = address_of("openai", "https://user:secret@h.example/v1?token=secret")
    assert address.url(CHAT) == "https://user:secret@h.example/v1/chat/completions?token=secret"
    assert address.shown == "https://h.example/v1"
    assert "secret" not in repr(address)
