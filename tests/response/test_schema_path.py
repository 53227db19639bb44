"""Which strings of a model may be shown while they grow."""

from __future__ import annotations

import datetime
from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter

from rxstream.response.schema_path import grows_at, has_fixed_strings


class Colour(Enum):
    RED = "red"


class Leaf(BaseModel):
    kind: Literal["leaf"] = "leaf"
    name: str
    colour: Colour | None = None


class Branch(BaseModel):
    kind: Literal["branch", "twig"]
    children: list[Branch | Leaf] = []
    by_name: dict[str, Colour] = {}
    pair: tuple[str, Literal["x"]] = ("", "x")
    day: datetime.date | None = None
    either: Literal["a", "b"] | str = "a"
    number: int = 0
    anything: Any = None
    renamed: Literal["r"] = Field(default="r", alias="other")


SCHEMA = TypeAdapter(Branch).json_schema()


@pytest.mark.parametrize(
    ("path", "grows"),
    [
        (["kind"], False),
        (["children", 3, "name"], True),
        (["children", 0, "kind"], False),
        (["children", 0, "colour"], False),
        (["children", 0, "children", 1, "kind"], False),
        (["by_name", "any"], False),
        (["pair", 0], True),
        (["pair", 1], False),
        (["day"], False),
        (["either"], True),
        (["number"], True),
        (["anything"], True),
        (["anything", "kind"], True),
        (["other"], False),
        (["unknown", 0, "kind"], True),
        ([], True),
    ],
)
def test_a_string_of_a_few_or_with_a_form_is_shown_whole(path: list[str | int], grows: bool) -> None:
    assert grows_at(SCHEMA, path) is grows


def test_a_schema_tells_whether_it_has_such_strings() -> None:
    class Plain(BaseModel):
        text: str

    assert has_fixed_strings(SCHEMA)
    assert not has_fixed_strings(TypeAdapter(Plain).json_schema())


def test_a_reference_that_leads_nowhere_shows_its_strings() -> None:
    assert grows_at({"$ref": "#/$defs/None"}, [])
    assert grows_at({"$ref": "elsewhere"}, ["a"])


def test_a_schema_that_refers_to_itself_ends() -> None:
    assert grows_at(
        {"$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/A"}]}}, "$ref": "#/$defs/A"}, []
    )
