"""`rxstream config`: mistakes with their lines, and settings made of litellm's."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import CommandLine

GOOD = '[[models]]\nname = "m"\nprovider = "groq"\nmodel = "llama"\n'
LITELLM = """
model_list:
  - model_name: m
    litellm_params: {model: groq/llama, api_key: sk-secret, rpm: 5}
"""


def test_good_settings_are_said_to_be_good(rxstream: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "gateway.toml").write_text(GOOD)
    done = rxstream("config", "check", "gateway.toml", env={"GROQ_API_KEY": "k"})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "these settings are good: 127.0.0.1:8787 serves\n  m\n"


def test_without_settings_the_local_model_is_what_is_served(rxstream: CommandLine) -> None:
    done = rxstream("config", "check")
    assert done.returncode == 0
    assert "the local model" in done.stdout


def test_a_mistake_is_told_with_its_line(rxstream: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "gateway.toml").write_text(GOOD + 'modle = "x"\n')
    done = rxstream("config", "check", env={"RXSTREAM_CONFIG": "gateway.toml"})
    assert (done.returncode, done.stdout) == (2, "")
    assert "gateway.toml:5: models[0].modle: there is no such setting" in done.stderr


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (GOOD + 'api_key_env = "NOT_SET"\n', ":5: models[0] (m): the variable NOT_SET is not set"),
        (
            GOOD + GOOD.replace('"m"', '"n"').replace("groq", "openai"),
            ":5: models[1] (n): there is no key for 'openai'",
        ),
        ('\n[server]\ntokens_env = "NOT_SET"\n', ":3: server.tokens_env: the variable NOT_SET is not set"),
        ('[server]\nhost = "0.0.0.0"\n', ":2: to listen at '0.0.0.0', where other machines reach it, it needs tokens"),
        ('[server]\nallowed_origins = ["*"]\n', ":2: server.allowed_origins = ['*'] lets every web page"),
        (GOOD + 'base_url = "gopher://x"\n', ":5: models[0] (m): the base URL for 'groq' is not valid"),
        (GOOD + 'headers = {"a b" = "c"}\n', ":5: models[0] (m): 'a b' is no name of a header"),
        ('[log]\ndiagnostics_file = "gone/x"\n', ":2: log.diagnostics_file: 'gone/x' cannot be written: No such file"),
        (GOOD + '[aliases]\nx = "gone"\n', ":6: aliases.x: there is no model 'gone'"),
    ],
)
def test_what_would_keep_the_gateway_from_starting_is_told(
    rxstream: CommandLine, tmp_path: Path, text: str, why: str
) -> None:
    (tmp_path / "gateway.toml").write_text(text)
    done = rxstream("config", "check", "gateway.toml", env={"GROQ_API_KEY": "k"})
    assert done.returncode == 2
    assert f"gateway.toml{why}" in done.stderr


def test_all_that_would_keep_the_gateway_from_starting_is_told_at_once(rxstream: CommandLine, tmp_path: Path) -> None:
    other = GOOD.replace('"m"', '"n"').replace("groq", "openai")
    (tmp_path / "gateway.toml").write_text('[server]\nhost = "0.0.0.0"\n' + GOOD + other)
    done = rxstream("config", "check", "gateway.toml")
    assert (done.returncode, done.stdout) == (2, "")
    for why in ("RXSTREAM_TOKENS", "GROQ_API_KEY", "OPENAI_API_KEY"):
        assert why in done.stderr


def test_settings_are_made_of_litellms_and_pass_the_check(rxstream: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(LITELLM)
    printed = rxstream("config", "import-litellm", "config.yaml")
    written = rxstream("config", "import-litellm", "config.yaml", "--out", "gateway.toml")
    assert (printed.returncode, written.returncode, written.stdout) == (0, 0, "")
    assert printed.stdout == (tmp_path / "gateway.toml").read_text()
    assert "note: model_list[0] (m): not carried: rpm\n" in written.stderr
    assert "sk-secret" not in printed.stdout + printed.stderr
    assert rxstream("config", "check", "gateway.toml", env={"M_API_KEY": "k"}).returncode == 0


def test_a_file_that_is_there_is_not_replaced(rxstream: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(LITELLM)
    (tmp_path / "gateway.toml").write_text("mine")
    done = rxstream("config", "import-litellm", "config.yaml", "--out", "gateway.toml")
    assert done.returncode == 2
    assert "gateway.toml is there already" in done.stderr
    assert (tmp_path / "gateway.toml").read_text() == "mine"


@pytest.mark.parametrize(("text", "why"), [("a: [", "it is not YAML"), ("a: 1", "it has no model_list")])
def test_a_file_that_is_not_litellms_is_wrong_use(rxstream: CommandLine, tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "config.yaml").write_text(text)
    done = rxstream("config", "import-litellm", "config.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"rxstream: config.yaml: {why}")


def test_a_file_that_cannot_be_read_is_wrong_use(rxstream: CommandLine) -> None:
    done = rxstream("config", "import-litellm", "gone.yaml")
    assert done.returncode == 2
    assert done.stderr == "rxstream: gone.yaml: it cannot be read: No such file or directory\n"
