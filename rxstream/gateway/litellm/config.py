"""The configuration of a litellm proxy as ours.

What it says of models, their places, keys and names is carried; what it says of anything else is told in a note, for
the one who moves to decide on. A key that stands in the file in plain is never written out: the note names the variable
that it belongs into.

Source: litellm's documentation of the proxy's `config.yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from rxstream.gateway.config import ServerConfig
from rxstream.gateway.config.toml_text import toml_text
from rxstream.gateway.litellm.models import Deployment, PlainKeys, read_deployment
from rxstream.gateway.litellm.notes import Notes, section

__all__ = ("Imported", "LitellmError", "import_litellm")

MIB: Final = 1024 * 1024

HEAD: Final = "# Made from the configuration of a litellm proxy. `rxstream config check` looks at it.\n\n"

LISTENS: Final = (
    "litellm listens at 0.0.0.0:4000, this gateway at 127.0.0.1:8787: "
    "set [server] host and port where clients expect the old place"
)

MASTER_KEY: Final = "LITELLM_MASTER_KEY"


class LitellmError(ValueError):
    """A text that is not the configuration of a litellm proxy."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What came out.

    Args:
        toml: the settings.
        notes: what could not be carried, or must be done by hand, a sentence each; no secret is in them.
    """

    toml: str
    notes: tuple[str, ...] = field(default=())


def import_litellm(text: str, environ: Mapping[str, str] | None = None) -> Imported:
    """The settings of a litellm proxy as ours.

    Args:
        text: its `config.yaml`.
        environ: the variables that an `api_base: os.environ/NAME` may name: an address stands in our settings itself.

    Raises:
        LitellmError: it is not YAML, or says nothing of models.
    """
    said = _parse(text)
    notes = Notes()
    models = list(_models(said, notes, environ or {}))
    server = _server(said, notes)
    aliases = _aliases(said, notes, {str(entry["name"]) for entry in models if "name" in entry})
    _tell_the_rest(said, notes)
    notes.add(LISTENS)
    return Imported(HEAD + toml_text({"server": server, "models": models, "aliases": aliases}), tuple(notes))


def _parse(text: str) -> Mapping[str, Any]:
    problem: str | None = None
    said: Any = None
    try:
        said = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        problem = "it is not YAML" + ("" if mark is None else f", at line {mark.line + 1} column {mark.column + 1}")
    except (yaml.YAMLError, ValueError, RecursionError):  # a date or a number that is none, or brackets without end
        problem = "it is not YAML"
    if problem is not None:
        raise LitellmError(problem)
    if not isinstance(said, Mapping) or not isinstance(said.get("model_list"), list):
        raise LitellmError("it has no model_list: is it the config.yaml of a litellm proxy?")
    return said


def _models(said: Mapping[str, Any], notes: Notes, environ: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    taken: set[str] = set()
    keys = PlainKeys()
    for number, entry in enumerate(said["model_list"]):
        place = f"model_list[{number}]"
        deployment = read_deployment(entry, place, notes, keys, environ)
        if deployment is None:
            continue
        name = _free_name(deployment, taken)
        if name != deployment.name:
            notes.add(
                f"{place}: requests are not spread over several servers of one name: this one is called {name!r} here"
            )
        taken.add(name)
        yield deployment.entry(name)


def _free_name(deployment: Deployment, taken: set[str]) -> str:
    name, count = deployment.name, 1
    while name in taken:
        count += 1
        name = f"{deployment.name}-{count}"
    return name


def _server(said: Mapping[str, Any], notes: Notes) -> dict[str, Any]:
    general = section(said, "general_settings", notes)
    server: dict[str, Any] = {}
    if (key := general.pop("master_key", None)) is not None:
        server["tokens_env"] = _master_variable(key, notes)
    if (streams := _positive(general, "global_max_parallel_requests")) is not None and streams >= 1:
        server["max_concurrent_streams"] = int(streams)
    if (size := _positive(general, "max_request_size_mb")) is not None and size * MIB >= 1:
        server["max_body_bytes"] = int(size * MIB)
        if server["max_body_bytes"] > ServerConfig().max_held_body_bytes:
            server["max_held_body_bytes"] = server["max_body_bytes"]
    notes.not_carried("general_settings", general)
    settings = section(said, "litellm_settings", notes)
    if (seconds := _positive(settings, "request_timeout")) is not None:
        server["deadline"] = seconds
    settings.pop("model_group_alias", None)
    notes.not_carried("litellm_settings", settings)
    return server


def _positive(settings: dict[Any, Any], name: str) -> float | None:
    """A number, taken out; what is none stays, and is told."""
    value = settings.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 2**53:
        return None
    del settings[name]
    return float(value)


def _master_variable(key: Any, notes: Notes) -> str:
    name = str(key).removeprefix("os.environ/")
    if str(key).startswith("os.environ/") and re.fullmatch(r"\w+", name):
        return name
    notes.add(f"general_settings.master_key: it stands in the file in plain: put it into the variable {MASTER_KEY}")
    return MASTER_KEY


def _aliases(said: Mapping[str, Any], notes: Notes, names: set[str]) -> dict[str, str]:
    router = section(said, "router_settings", notes)
    found: dict[str, str] = {}
    for where, settings in (("router_settings", router), ("litellm_settings", section(said, "litellm_settings"))):
        place = f"{where}.model_group_alias"
        aliases = settings.pop("model_group_alias", None) or {}
        if not isinstance(aliases, Mapping):
            notes.add(f"{place}: it is no mapping and is left out")
            continue
        for alias, target in aliases.items():
            model = target.get("model") if isinstance(target, Mapping) else target
            if not isinstance(model, str) or model not in names or not str(alias).strip():
                notes.add(f"{place}.{alias}: there is no model of the name that it stands for: it is left out")
                continue
            if isinstance(target, Mapping) and target.get("hidden"):
                notes.add(f"{place}.{alias}: names cannot be hidden: it is listed in /v1/models")
            found[str(alias)] = model
    notes.not_carried("router_settings", router)
    return found


def _tell_the_rest(said: Mapping[str, Any], notes: Notes) -> None:
    known = {"model_list", "general_settings", "litellm_settings", "router_settings", "environment_variables"}
    if isinstance(variables := said.get("environment_variables"), Mapping) and variables:
        notes.add(f"environment_variables: set them before the gateway starts: {', '.join(map(str, variables))}")
    for name in [name for name in said if name not in known]:
        notes.add(f"{name}: it has no place here and is left out")
