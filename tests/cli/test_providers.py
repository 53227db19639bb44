"""`rxstream providers`, and which server a provider's name means."""

from __future__ import annotations

import pytest

from .conftest import CommandLine


def test_providers_are_a_table_of_wire_address_and_key(rxstream: CommandLine) -> None:
    done = rxstream("providers")
    rows = {line.split()[0]: line.split() for line in done.stdout.splitlines()}
    assert done.returncode == 0
    assert rows["PROVIDER"] == ["PROVIDER", "WIRE", "BASE", "URL", "KEY"]
    assert rows["groq"] == ["groq", "openai-chat", "https://api.groq.com/openai/v1", "GROQ_API_KEY"]
    assert rows["anthropic"][1:4] == ["anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY"]
    assert rows["openai-chat"][1:] == rows["openai"][1:]
    assert rows["azure"][2:] == ["--base-url", "or", "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY"]
    assert rows["llamacpp"][-1] == "-"


def test_the_columns_of_the_table_stand_in_line(rxstream: CommandLine) -> None:
    head, *lines = rxstream("providers").stdout.splitlines()
    starts = [head.index(name) for name in ("WIRE", "BASE URL", "KEY")]
    assert all(line[start - 1] == " " != line[start] for line in lines for start in starts)


@pytest.mark.parametrize("provider", ["groq", "groq/llama-3.3-70b", "openai"])
def test_a_named_provider_is_asked_at_its_own_address_and_needs_its_key(rxstream: CommandLine, provider: str) -> None:
    done = rxstream("chat", "hi", "--provider", provider)
    variable = f"{provider.partition('/')[0].upper()}_API_KEY"
    assert (done.returncode, done.stdout) == (2, "")
    assert f"set {variable}, or pass api_key=..." in done.stderr
