"""`rxstream providers`, and which server a provider's name means."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import CommandLine

PAGE = Path(__file__).parents[2] / "docs" / "providers.md"

COLUMNS = ("PROVIDER", "WIRE", "BASE URL", "KEY", "STREAM", "WHOLE", "TOOLS", "IMAGES", "REASONING", "FORMAT")


def table(rxstream: CommandLine) -> dict[str, tuple[str, ...]]:
    """The rows by provider, cut where the columns of the head begin."""
    done = rxstream("providers")
    assert done.returncode == 0
    head, *lines = done.stdout.splitlines()
    starts = [head.index(name) for name in COLUMNS]
    assert all(line[start - 1] == " " != line[start] for line in lines for start in starts[1:])
    cuts = [slice(start, end) for start, end in zip(starts, [*starts[1:], None], strict=True)]
    return {row[0]: row for row in (tuple(line[cut].strip() for cut in cuts) for line in lines)}


def test_providers_are_a_table_of_wire_address_and_key(rxstream: CommandLine) -> None:
    rows = table(rxstream)
    assert rows["groq"][:4] == ("groq", "openai-chat", "https://api.groq.com/openai/v1", "GROQ_API_KEY")
    assert rows["anthropic"][1:4] == (
        "anthropic",
        "https://api.anthropic.com",
        "ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN",
    )
    assert rows["openai-chat"][1:] == rows["openai"][1:]
    assert rows["azure"][2:4] == ("--base-url or AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY")
    assert rows["bedrock-converse"][2] == "https://bedrock-runtime.{region}.amazonaws.com"
    assert rows["llamacpp"][3] == "-"


def test_the_table_tells_what_each_provider_supports(rxstream: CommandLine) -> None:
    rows = {name: row[4:] for name, row in table(rxstream).items()}
    assert rows["gemini"] == ("yes", "yes", "yes", "bytes,address", "text,signed", "schema,json")
    assert rows["openai-responses"][4] == "text,encrypted"
    assert rows["anthropic"][4:] == ("signed", "schema")
    assert rows["ollama"][3] == "bytes"
    assert rows["openai-completions"] == ("yes", "yes", "-", "-", "-", "-")
    assert rows["cohere-v1"] == ("-",) * 6


def test_the_page_of_the_documentation_is_the_table(rxstream: CommandLine) -> None:
    if not PAGE.parent.exists():
        pytest.skip("the documentation is not beside the tests")
    done = rxstream("providers", "--markdown")
    assert (done.returncode, done.stdout) == (0, PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("provider", ["groq", "groq/llama-3.3-70b", "openai"])
def test_a_named_provider_is_asked_at_its_own_address_and_needs_its_key(rxstream: CommandLine, provider: str) -> None:
    done = rxstream("chat", "hi", "--provider", provider)
    variable = f"{provider.partition('/')[0].upper()}_API_KEY"
    assert (done.returncode, done.stdout) == (2, "")
    assert f"set {variable}\n" in done.stderr
