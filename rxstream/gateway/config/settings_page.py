"""All settings as one page, written from the model that reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from rxstream.gateway.config.settings import Config, LogConfig, ModelConfig, ServerConfig, TelemetryConfig
from rxstream.limits import Limits

__all__ = ("settings_page", "settings_schema")

SECTIONS: Final[tuple[tuple[str, type[BaseModel]], ...]] = (
    ("[server]", ServerConfig),
    ("[[models]]", ModelConfig),
    ("[limits]", Limits),
    ("[log]", LogConfig),
    ("[telemetry]", TelemetryConfig),
)

KINDS: Final = {"integer": "whole number", "number": "number", "string": "text", "boolean": "true or false"}


def settings_schema() -> dict[str, Any]:
    """The JSON Schema of the file, for editors that check TOML."""
    return Config.model_json_schema()


def settings_page() -> str:
    """One table a section, in Markdown."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    for name, model in SECTIONS:
        yield f"### `{name}`"
        yield ""
        yield " ".join((model.__doc__ or "").partition("\n\n")[0].split())
        yield ""
        yield "| setting | kind | default | what it is |"
        yield "| --- | --- | --- | --- |"
        properties = model.model_json_schema()["properties"]
        for key, field in model.model_fields.items():
            told = (field.description or "").replace("|", "\\|")
            yield f"| `{key}` | {_kind(properties[key])} | {_default(field)} | {told} |"
        yield ""
    alias = Config.model_fields["aliases"]
    yield "### `[aliases]`"
    yield ""
    yield f"A table of names: {alias.description}."


def _kind(schema: dict[str, Any]) -> str:
    """What a value is, in words."""
    if "anyOf" in schema:
        return " or ".join(_kind(each) for each in schema["anyOf"] if each.get("type") != "null")
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema['items'])}s"
    if schema.get("type") == "object":
        return "table of texts"
    return KINDS[schema["type"]] + _range(schema)


def _range(schema: dict[str, Any]) -> str:
    said = {"minimum": "from {}", "exclusiveMinimum": "over {}", "maximum": "to {}"}
    bounds = [words.format(schema[key]) for key, words in said.items() if key in schema]
    return f" {' '.join(bounds)}" if bounds else ""


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "must be said"
    value = field.default
    if value is None or value == () or value == {}:
        return "none"
    assert not isinstance(value, SecretStr)
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"
