"""Wires by name: found, imported late, and added."""

from __future__ import annotations

import subprocess
import sys

import pytest

from rxstream.limits import Limits
from rxstream.providers import registry
from rxstream.providers.dialects import CHAT_DIALECTS, ChatDialect
from rxstream.providers.openai_chat import OpenAIChatDecoder
from rxstream.providers.registry import get_wire, register_wire, wire_names


@pytest.fixture(autouse=True)
def own_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wire that a test adds is gone after it."""
    monkeypatch.setattr(registry, "_ROWS", dict(registry._ROWS))


@pytest.mark.parametrize("name", wire_names())
def test_every_wire_makes_a_decoder_within_limits(name: str) -> None:
    wire = get_wire(name)
    assert wire.name == name
    first, second = wire.make_decoder(Limits(max_tool_calls=1)), wire.make_decoder()
    assert first is not second
    assert not first.done


def test_the_dialects_of_the_chat_wire_are_wires() -> None:
    for name, dialect in CHAT_DIALECTS.items():
        wire = get_wire(name)
        assert (wire.framing, wire.decoder, wire.dialect) == ("sse", OpenAIChatDecoder, dialect)


def test_an_unknown_name_is_an_error_that_lists_the_known() -> None:
    with pytest.raises(
        ValueError, match=r"no wire or provider 'openai_chat': is it 'openai-chat' .*known are anthropic, .*openai-chat"
    ):
        get_wire("openai_chat")


def test_names_come_sorted() -> None:
    assert list(wire_names()) == sorted(wire_names())


def test_a_wire_of_ones_own_is_found_by_its_name() -> None:
    dialect = ChatDialect("gateway", sends_done=False)
    register_wire("gateway", framing="sse", decoder=get_wire("openai-chat").decoder, dialect=dialect)
    assert "gateway" in wire_names()
    wire = get_wire("gateway")
    assert (wire.name, wire.decoder, wire.dialect) == ("gateway", OpenAIChatDecoder, dialect)


def test_a_decoder_is_imported_when_it_is_first_asked_for() -> None:
    register_wire("later", framing="sse", decoder="rxstream.no_such_file:Decoder")
    with pytest.raises(ModuleNotFoundError):
        get_wire("later")
    register_wire("later", framing="sse", decoder="rxstream.providers.openai_chat:OpenAIChatDecoder", replace=True)
    assert isinstance(get_wire("later").make_decoder(), OpenAIChatDecoder)


def test_a_taken_name_is_kept() -> None:
    with pytest.raises(ValueError, match="replace=True"):
        register_wire("anthropic", framing="sse", decoder=OpenAIChatDecoder)


@pytest.mark.parametrize(("name", "decoder"), [("", "a:b"), ("x", "a"), ("x", ":b"), ("x", "a:")])
def test_a_wire_needs_a_name_and_a_place(name: str, decoder: str) -> None:
    with pytest.raises(ValueError):
        register_wire(name, framing="sse", decoder=decoder)


def test_the_registry_alone_imports_no_decoder() -> None:
    script = (
        "import sys, rxstream.providers.registry as registry; registry.wire_names();"
        "print(*sorted(name for name in sys.modules if name.startswith('rxstream.providers.')))"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "rxstream.providers.dialects" in loaded
    assert not [name for name in loaded if "anthropic" in name or "openai" in name]
