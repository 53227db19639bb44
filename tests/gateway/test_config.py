"""Settings: where they come from, which word is the last, and how mistakes are told."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from rxstream.gateway.config import Config, ConfigError, ServerConfig, load_config


@pytest.fixture(autouse=True)
def _no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("RXSTREAM_"):
            monkeypatch.delenv(name)


def mistakes(path: Path, text: str, overrides: dict[str, Any] | None = None) -> list[str]:
    """What is told of settings that cannot be used, without the folder."""
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_config(path, overrides=overrides)
    return str(caught.value).replace(f"{path.parent}/", "").splitlines()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "g.toml"


def test_without_anything_the_defaults_hold() -> None:
    assert load_config() == Config()
    assert (Config().server.host, Config().models) == ("127.0.0.1", ())


def test_the_command_line_wins_over_the_environment_over_the_file_over_the_defaults(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("[server]\nport = 1\nhost = '127.0.0.3'\nmax_body_bytes = 9\ndeadline = 4.0\n")
    monkeypatch.setenv("RXSTREAM_CONFIG", str(file))
    monkeypatch.setenv("RXSTREAM_HOST", "127.0.0.2")
    monkeypatch.setenv("RXSTREAM__SERVER__PORT", "2")
    monkeypatch.setenv("RXSTREAM__SERVER__MAX_BODY_BYTES", "8")
    server = load_config(overrides={"server": {"port": 3}}).server
    assert (server.port, server.host, server.max_body_bytes, server.deadline) == (3, "127.0.0.2", 8, 4.0)
    assert server.max_concurrent_streams == ServerConfig().max_concurrent_streams


def test_short_variables_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PORT": "7", "TOKENS": "one, two,", "LOG": "error"}.items():
        monkeypatch.setenv(f"RXSTREAM_{name}", value)
    config = load_config()
    assert (config.server.port, config.log.level) == (7, "error")
    assert [token.get_secret_value() for token in config.server.tokens] == ["one", "two"]


def test_lists_in_the_environment_are_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RXSTREAM__MODELS", '[{"provider": "openai", "model": "gpt-5"}]')
    assert load_config().models[0].public_name == "openai/gpt-5"
    monkeypatch.setenv("RXSTREAM__MODELS", "openai/gpt-5")
    with pytest.raises(ConfigError, match="written as JSON"):
        load_config()


def test_every_mistake_is_told_with_its_line(file: Path) -> None:
    assert mistakes(
        file,
        """
        [server]
        prot = 1
        port = 99999

        [[models]]
        provider = "openai"
        [[models]]
        provider = "opnai"
        api_key = "sk-secret"
        [[models]]
        provider = "groq/llama"
        [limits]
        max_json_depht = 5
        """,
    ) == [
        "g.toml:3: server.prot: there is no such setting; did you mean 'port'?",
        "g.toml:4: server.port: Input should be less than or equal to 65535",
        "g.toml:9: models[1].provider: there is no provider 'opnai': did you mean 'openai' or 'openai-chat'?",
        "g.toml:10: models[1].api_key: a key does not belong into this file: name the variable that holds it, "
        'api_key_env = "..."',
        "g.toml:12: models[2].provider: a provider has no model in its name: write provider = 'groq' and model = "
        "'llama'",
        "g.toml:14: limits.max_json_depht: there is no such setting; did you mean 'max_json_depth'?",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("server = 3", "g.toml:1: server: Input should be a valid dictionary or instance of ServerConfig"),
        ("server.port = 'x'", "g.toml:1: server.port: Input should be a valid integer, unable to parse string"),
        ("\nserver = {host = 'x', port = 'x'}", "g.toml:2: server.port"),
        ("[[models]]\nprovider='openai'\n[models.headers]\nx.y = 1", "g.toml:4: models[0].headers.x: Input should be"),
        ("[[models]]\nprovider='openai'\n[[models]]\n[models.headers]\nx = 1", "g.toml:3: models[1].provider: it is"),
        ("[limits.max_text_bytes]\n", "g.toml:1: limits.max_text_bytes: Input should be a valid integer"),
        ("\n[[models]]\nname = 'x'", "g.toml:2: models[0].provider: it is missing"),
        (
            "models = [\n {provider='openai'},\n {provider='nope1'}]",
            "g.toml:3: models[1].provider: there is no provider",
        ),
        ('[server]\n"tok\\u0065ns" = [""]', "g.toml:2: server.tokens: a token is made of printable ASCII"),
        ("[server]\nport = \n", "g.toml:2: it is not TOML: Invalid value"),
        ("[server", "g.toml:1: it is not TOML: Expected ']'"),
        (
            "[[models]]\nprovider='openai'\n[[models]]\nprovider='openai'\n",
            "g.toml:3: models[1].name: models[0] and models[1] have the same name 'openai'",
        ),
        (
            "[[models]]\nprovider='openai'\n[[models]]\nprovider='groq'\n[[models]]\nprovider='groq'\nname='openai'\n",
            "g.toml:7: models[2].name: models[0] and models[2] have the same name 'openai'",
        ),
        (
            "[[models]]\nprovider='cohere-v1'",
            "g.toml:2: models[0].provider: answers of 'cohere-v1' can be read, but no",
        ),
        (
            "[[models]]\nprovider='openai'\nregion='eu'",
            "g.toml:3: models[0].region: requests to 'openai' have no place for it: leave it out",
        ),
        (
            "[[models]]\nprovider='bedrock-converse'\napi_version='1'",
            "g.toml:3: models[0].api_version: requests to 'bedrock-converse' have no place for it",
        ),
        ("a = " + "[" * 3000, "g.toml:1: it is not TOML: it nests too deep"),
        ("[server]\nsend_buffer_bytes = 99999999999999", "g.toml:2: server.send_buffer_bytes: Input should be less"),
        ("[server]\nallowed_origins = ['localhost']", "g.toml:2: server.allowed_origins: an origin is"),
        ("[server]\nallowed_origins = ['http://a/b']", "g.toml:2: server.allowed_origins: an origin is"),
        ("[aliases]\n'' = 'openai/x'", "g.toml:1: aliases: a name is 1 to 256 printable characters"),
        ("[aliases]\n'a ' = 'openai/x'", "g.toml:1: aliases: a name is 1 to 256 printable characters"),
        ("[[models]]\nprovider='bedrock-converse'\nregion='a/b'", "g.toml:3: models[0].region: String should match"),
    ],
)
def test_a_mistake_is_found_wherever_toml_lets_it_stand(file: Path, text: str, told: str) -> None:
    assert mistakes(file, text)[0].startswith(told)


def test_a_mistake_of_somebody_else_is_not_blamed_on_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "[server]\nport = 80\n"
    assert mistakes(file, text, {"server": {"port": -1}}) == [
        "the command line: server.port: Input should be greater than or equal to 0"
    ]
    monkeypatch.setenv("RXSTREAM_PORT", "eighty")
    assert mistakes(file, text)[0].startswith("RXSTREAM_PORT: server.port: Input should be a valid integer")


def test_a_variable_of_no_section_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RXSTREAM__SEVRER__PORT", "80")
    with pytest.raises(ConfigError, match="RXSTREAM__SEVRER__PORT: there is no such section; there are server, models"):
        load_config()


def test_a_wrong_value_is_never_shown(file: Path) -> None:
    assert "sk-secret" not in "\n".join(mistakes(file, '[server]\nport = "sk-secret"\ntokens = "sk-secret"\n'))


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        load_config(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="it cannot be read"):
        load_config(tmp_path)


def test_tokens_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RXSTREAM_TOKENS", "sk-planted-token")
    config = load_config()
    assert "sk-planted-token" not in repr(config) + str(config) + config.model_dump_json()
