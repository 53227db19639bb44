"""`rxstream config schema`: every setting of the gateway, for editors or for people."""

from __future__ import annotations

import json

from rxstream.gateway.config.settings_page import settings_page, settings_schema

__all__ = ("config_schema",)


def config_schema(*, markdown: bool) -> str:
    """The settings as a JSON Schema, or as tables in Markdown."""
    return settings_page() if markdown else json.dumps(settings_schema(), indent=2)
