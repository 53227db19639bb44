"""The documented requests of each wire, as JSON Schemas that know every key: what they do not name is an error."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

__all__ = ("SCHEMAS", "faults_of")

SCHEMAS = Path(__file__).resolve().parents[1] / "fixtures" / "schemas"


def faults_of(wire: str, body: Any) -> list[str]:
    """What is wrong with a request's body by the schema of its wire."""
    return [f"{list(error.instance_path)}: {error.message}" for error in _validator(wire).iter_errors(body)]


@cache
def _validator(wire: str) -> Any:
    return jsonschema_rs.validator_for(json.loads((SCHEMAS / f"{wire}.json").read_text(encoding="utf-8")))
