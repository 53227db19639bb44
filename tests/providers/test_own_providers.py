"""A provider of one's own: registered, or offered by an installed package."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rxstream.providers import registry
from rxstream.providers.dialects import ChatDialect
from rxstream.providers.openai_chat import OpenAIChatDecoder
from rxstream.providers.registry import get_wire, register_provider, register_wire, wire_names
from rxstream.providers.service import Key


@pytest.fixture(autouse=True)
def own_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider that a test adds is gone after it."""
    monkeypatch.setattr(registry, "_ROWS", dict(registry._ROWS))


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages, with one that offers `acme`."""
    package = tmp_path / "acme_rxstream-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-rxstream\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[rxstream.providers]\nacme = acme_rxstream:register\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "acme_rxstream", raising=False)
    return tmp_path


def test_a_provider_of_a_known_wire_is_one_call() -> None:
    register_provider("acme", base_url="https://api.acme.example/v1", keys=["ACME_KEY"], headers={"x-team": "a"})
    acme = get_wire("acme")
    assert (acme.name, acme.speaks, acme.decoder) == ("acme", "openai-chat", OpenAIChatDecoder)
    assert acme.dialect.provider == "acme"
    assert (acme.service.base_url, acme.service.keys) == ("https://api.acme.example/v1", (Key("ACME_KEY"),))
    assert (acme.service.prefix, acme.service.headers, acme.service.home) == ("v1", {"x-team": "a"}, None)


def test_a_provider_keeps_the_headers_that_its_wire_asks_for() -> None:
    register_provider("acme", wire="anthropic", keys=[Key("ACME_KEY", "x-acme-key")], headers={"x-team": "a"})
    service = get_wire("acme").service
    assert service.headers == {"anthropic-version": "2023-06-01", "x-team": "a"}
    assert service.keys == (Key("ACME_KEY", "x-acme-key"),)


def test_a_provider_with_a_dialect_of_its_own_speaks_that() -> None:
    dialect = ChatDialect("Acme Inc.", sends_done=False)
    register_provider("acme", dialect=dialect, prefix="api", base_url_variables=["ACME_URL"])
    acme = get_wire("acme")
    assert (acme.dialect, acme.service.prefix, acme.service.base_url_variables) == (dialect, "api", ("ACME_URL",))


@pytest.mark.parametrize("name", ["", "acme/pro", "acme:pro"])
def test_a_name_that_cannot_be_told_from_a_model_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="needs a name"):
        register_provider(name)
    with pytest.raises(ValueError, match="needs a name"):
        register_wire(name, framing="sse", decoder=OpenAIChatDecoder)


def test_a_taken_name_is_refused_unless_asked_to_replace() -> None:
    with pytest.raises(ValueError, match="'groq' already"):
        register_provider("groq")
    register_provider("groq", base_url="https://other.example", replace=True)
    assert get_wire("groq").service.base_url == "https://other.example"


def test_a_provider_of_an_unknown_wire_is_refused() -> None:
    with pytest.raises(ValueError, match="no wire or provider 'nothing'"):
        register_provider("acme", wire="nothing")


@pytest.mark.parametrize("argument", ["decoder", "body_decoder", "request"])
def test_what_is_imported_later_must_say_where_it_is(argument: str) -> None:
    arguments = {"decoder": OpenAIChatDecoder, argument: "nowhere"}
    with pytest.raises(ValueError, match="'module:name', not 'nowhere'"):
        register_wire("acme", framing="sse", **arguments)  # type: ignore[arg-type]  # one of them is a text


def test_a_package_offers_a_provider_that_is_imported_when_it_is_asked_for(installed: Path) -> None:
    (installed / "acme_rxstream.py").write_text(
        "import rxstream as rxs\n\n\ndef register():\n    rxs.register_provider('acme', keys=['ACME_KEY'])\n"
    )
    assert "acme" in wire_names()
    assert "acme_rxstream" not in sys.modules
    assert get_wire("acme").service.keys == (Key("ACME_KEY"),)
    assert get_wire("acme").speaks == "openai-chat"


def test_what_is_registered_wins_over_what_a_package_offers(installed: Path) -> None:
    (installed / "acme_rxstream.py").write_text("raise AssertionError('not to be imported')\n")
    register_provider("acme")
    assert get_wire("acme").name == "acme"


def test_a_package_that_does_not_register_what_it_offers_is_an_error(installed: Path) -> None:
    (installed / "acme_rxstream.py").write_text("def register():\n    pass\n")
    with pytest.raises(ValueError, match=r"offers 'acme' did not register it .*acme_rxstream:register"):
        get_wire("acme")
