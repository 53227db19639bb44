"""What is wrong is said in the words of the command line: options and variables, never arguments of Python."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rxstream as rxs
from rxstream.cli.words import check_provider, check_wire, in_words
from rxstream.providers.registry import UNREAD_WIRES, wire_names
from tests.cli.conftest import CommandLine

PYTHON = re.compile(r"\w+=|connect\(|\.\.\.\)|pass ")
"""What nobody can do who sits at a command line."""


@pytest.mark.parametrize("name", wire_names())
def test_what_a_provider_lacks_is_said_without_python(name: str) -> None:
    """A key, an address, a region, a model: whatever it asks for first, and what it asks for when it has that."""
    said: list[str] = []
    for options in ({}, {"base_url": "https://models.test"}, {"api_key": "k-123456"}):
        try:
            endpoint = rxs.connect(name, client=object(), environ={}, **options)  # type: ignore[arg-type]
            endpoint.stream(rxs.ModelRequest.of("hi"))
        except (rxs.StreamError, ValueError, TypeError, AttributeError) as error:
            if isinstance(error, rxs.StreamError):
                said.append(in_words(error))
    for text in said:
        assert not PYTHON.search(text), text


def test_the_ways_out_are_options_and_variables() -> None:
    def says(error: rxs.RequestError) -> str:
        return in_words(error)

    with pytest.raises(rxs.RequestError) as caught:
        rxs.connect("openai", environ={})
    assert says(caught.value) == "there is no key for 'openai': set OPENAI_API_KEY"
    with pytest.raises(rxs.RequestError) as caught:
        rxs.connect("azure", environ={}, api_key="k-123456")
    assert says(caught.value) == "'azure' has no address of its own: add --base-url URL or set AZURE_OPENAI_ENDPOINT"
    endpoint = rxs.connect("openai", environ={}, api_key="k-123456", client=object())
    with pytest.raises(rxs.RequestError) as caught:
        endpoint.stream(rxs.ModelRequest.of("hi"))
    assert says(caught.value) == "'openai' needs a model: add --model NAME"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nope", "there is no provider 'nope': `rxstream providers` lists them"),
        ("opnai/gpt-5", "there is no provider 'opnai': is it 'openai'? `rxstream providers` lists them"),
        ("antropic:claude", "there is no provider 'antropic': is it 'anthropic'? `rxstream providers` lists them"),
    ],
)
def test_an_unknown_provider_is_told_with_what_it_may_have_been(name: str, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        check_provider(name)


def test_a_known_provider_and_wire_pass_and_an_unread_one_says_why() -> None:
    check_provider("groq/llama")
    check_wire("openai-chat")
    for name in UNREAD_WIRES:
        with pytest.raises(ValueError, match="is not read"):
            check_wire(name)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("chat", "--provider", "nope", "hi"), "there is no provider 'nope'"),
        (("chat", "--provider", "openai", "hi"), "there is no key for 'openai': set OPENAI_API_KEY\n"),
        (("record", "--provider", "nope", "--prompt", "hi"), "there is no provider 'nope'"),
        (("record", "http://127.0.0.1/", "--wire", "opnai"), "there is no wire 'opnai': is it 'openai'?"),
        (("record", "--provider", "openai", "--prompt", "hi"), "there is no key for 'openai': set OPENAI_API_KEY\n"),
    ],
)
def test_wrong_use_is_one_sentence_and_touches_no_file(
    rxstream: CommandLine, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    kept = b'{"rxstream_recording":1,"kind":"bytes"}\n'
    (tmp_path / "recording.jsonl").write_bytes(kept)
    done = rxstream(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"rxstream: {says}")
    assert done.stderr.count("\n") == 1
    assert (tmp_path / "recording.jsonl").read_bytes() == kept
