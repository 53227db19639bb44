"""The form that an answer is to have, as OpenAI's two APIs have it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

from rxstream.gateway.readers.node import Fields, Node
from rxstream.requests import JsonSchemaFormat, ResponseFormat

__all__ = ("read_response_format",)

FORMATS: Final = ("text", "json_object", "json_schema")


def read_response_format(node: Node | None, schema_fields: Callable[[Fields], Fields]) -> ResponseFormat | None:
    """Free text, some JSON object, or JSON of a schema; None where nothing is said.

    Args:
        node: the object that says it; None where there is none.
        schema_fields: the fields that hold the schema, from those of the object.
    """
    if node is None:
        return None
    with node.fields() as fields:
        kind: Literal["text", "json_object", "json_schema"] = fields.need("type").word(FORMATS)
        if kind != "json_schema":
            return kind
        with schema_fields(fields) as schema:
            return _json_schema(schema)


def _json_schema(fields: Fields) -> JsonSchemaFormat:
    said: dict[str, Any] = {"schema": fields.need("schema").object(), "name": fields.need("name").name()}
    if (description := fields.take("description")) is not None:
        said["description"] = description.text()
    if (strict := fields.take("strict")) is not None:
        said["strict"] = strict.flag()
    return JsonSchemaFormat(**said)
