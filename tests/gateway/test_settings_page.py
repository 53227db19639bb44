"""The page of all settings says what the code does."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from rxstream.gateway.config import Config
from rxstream.gateway.config.settings_page import settings_page, settings_schema

PAGE = (Path(__file__).parents[2] / "docs" / "gateway.md").read_text(encoding="utf-8")


def test_the_page_is_written_from_the_model() -> None:
    assert PAGE.partition("<!-- settings -->")[2].strip() == settings_page().strip()


def test_every_setting_is_on_it_with_a_sentence() -> None:
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| [^|]+ \| (.*) \|$", settings_page(), re.MULTILINE)
    assert all(len(sentence) > 10 for _, sentence in rows)
    schema = settings_schema()["$defs"]
    assert len(rows) == sum(len(section["properties"]) for section in schema.values())


def test_its_examples_are_settings() -> None:
    examples = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert examples
    for example in examples:
        assert Config.model_validate(tomllib.loads(example)).models


def test_its_names_of_settings_exist() -> None:
    sections = {"server": "ServerConfig", "log": "LogConfig", "limits": "Limits", "telemetry": "TelemetryConfig"}
    named = re.findall(r"`(server|log|limits|telemetry)\.(\w+)", PAGE)
    assert named
    for section, key in named:
        assert key in settings_schema()["$defs"][sections[section]]["properties"], (section, key)
