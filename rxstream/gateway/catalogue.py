"""Which models there are, under which names, and the endpoint of each. A client can reach these and no others."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from rxstream.diagnostics import Diagnostics
from rxstream.endpoint import Endpoint, connect
from rxstream.errors import RequestError, StreamError
from rxstream.gateway.config import Config, ModelConfig, SettingError, SettingProblem
from rxstream.gateway.config.provider_names import spoken_wire
from rxstream.gateway.config.provider_place import PLACES, placed_environ
from rxstream.gateway.config.settings import ANY_MODEL

__all__ = ("Catalogue", "CatalogueError", "Target")

MAX_NAME: Final = 256
"""The longest name of a model that a client may say, in characters."""

SHOWN_NAMES: Final = 20

SETTINGS: Final[Mapping[str, str]] = {
    "pass api_key=...": "name another variable with api_key_env",
    "pass base_url=...": "give it a base_url",
    "set AWS_REGION": "give it a region, or set AWS_REGION",
}
"""What `connect` tells a programmer, for who writes settings."""

SUBJECTS: Final[Mapping[str, str]] = {"the base URL": "base_url", "header": "headers"}
"""Which setting of a model `connect` speaks of."""

CONNECT_SECONDS: Final = 10.0
WRITE_SECONDS: Final = 60.0


class CatalogueError(SettingError):
    """Models that cannot be offered: a key or an address is missing, or an alias is for nothing."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a client's name for a model stands for.

    Args:
        endpoint: where the model is asked.
        model: its name there; None where the server has only one.
        name: what the client called it.
        entry: the entry's own name: one of `Catalogue.names()`, so that the number of different ones is bounded.
        provider: who serves it.
        wire: what that provider speaks, such as `openai-chat`.
        timeout: how long one answer may take in all, in seconds; None is the gateway's own.
    """

    endpoint: Endpoint
    model: str | None
    name: str
    entry: str
    provider: str
    wire: str
    timeout: float | None = None


class Catalogue:
    """The models of a gateway.

    Args:
        config: which models, and their aliases.
        client: sends all requests; None makes one, which is closed with the catalogue.
        diagnostics: where protected detail of errors goes.

    Raises:
        CatalogueError: a model cannot be offered; the message says what to set.
    """

    def __init__(self, config: Config, client: Any = None, *, diagnostics: Diagnostics | None = None) -> None:
        self._config = config
        self._owns_client = client is None
        self._client = _own_client() if client is None else client
        self._diagnostics = diagnostics
        self._targets: dict[str, Target] = {}
        self._served: dict[tuple[str, str], Target] = {}
        self._open: dict[str, Target] = {}
        _all(partial(self._add, number, entry) for number, entry in enumerate(config.models))
        self._aliases: dict[str, Target] = {}
        _all(partial(self._name, alias, name) for alias, name in config.aliases.items())

    def show(self, name: str) -> tuple[str, Target]:
        """A name as `/v1/models` has it, and what is behind it. `provider/*` can be looked at, and not asked.

        Raises:
            RequestError: as `find`.
        """
        known = self.listed()
        return (name, known[name]) if name in known else (name, self.find(name))

    def find(self, name: str) -> Target:
        """What a client's name stands for: an alias, the name of an entry, or `provider/model` or `provider:model`.

        Raises:
            RequestError: category `not_found`; the message lists what there is.
        """
        found = self._aliases.get(name) or self._find_entry(name)
        if found is None:
            raise RequestError(self._nothing(name), category="not_found")
        return found

    def names(self) -> tuple[str, ...]:
        """What clients may ask for: the aliases, then the entries. `provider/*` takes any model of a provider."""
        return tuple(self.listed())

    def targets(self) -> Mapping[str, Target]:
        """The models that have a name of their own, by it: aliases and entries, without those of any model."""
        return {**self._targets, **self._aliases}

    def listed(self) -> Mapping[str, Target]:
        """What `/v1/models` shows: every one of `names()`, with what is behind it."""
        return {**self._aliases, **self._targets, **{found.entry: found for found in self._open.values()}}

    @property
    def default(self) -> str | None:
        """The name for a client that says none: the first there is."""
        return next(iter(self.targets()), None)

    async def aclose(self) -> None:
        """Close the client, where it is the catalogue's own."""
        if self._owns_client:
            await self._client.aclose()

    def _add(self, number: int, entry: ModelConfig) -> None:
        endpoint = self._connect(number, entry)
        model = None if entry.takes_any_model else entry.model
        name = entry.public_name
        wire = spoken_wire(entry.provider)
        if not entry.takes_any_model or not _has_many(entry):
            target = Target(endpoint, model, name, name, entry.provider, wire, entry.timeout)
            self._targets[name] = target
            if model is not None:
                self._served.setdefault((entry.provider, model), target)
        else:
            self._open[name] = Target(endpoint, None, name, f"{name}/*", entry.provider, wire, entry.timeout)

    def _connect(self, number: int, entry: ModelConfig) -> Endpoint:
        key = None
        if entry.api_key_env is not None:
            key = os.environ.get(entry.api_key_env, "").strip()
            if not key:
                raise _refused(number, entry, f"the variable {entry.api_key_env} is not set", "api_key_env")
        problem: str | None = None
        try:
            return connect(
                entry.provider,
                base_url=entry.base_url,
                api_key=key,
                client=self._client,
                model=None if entry.takes_any_model else entry.model,
                headers=entry.headers,
                limits=self._config.limits,
                diagnostics=self._diagnostics,
                environ=placed_environ(
                    os.environ,
                    entry.provider,
                    {setting: getattr(entry, setting) for setting in PLACES},
                    has_address=entry.base_url is not None,
                ),
            )
        except StreamError as error:
            problem = str(error)
        for argument, setting in SETTINGS.items():
            problem = problem.replace(argument, setting)
        spoken_of = [setting for subject, setting in SUBJECTS.items() if subject in problem]
        raise _refused(number, entry, problem, *spoken_of[:1])

    def _name(self, alias: str, name: str) -> None:
        found = self._find_entry(name)
        if found is None:
            problem = SettingProblem(("aliases", alias), f"aliases.{alias}: {self._nothing(name)}")
            raise CatalogueError(problem)
        self._aliases[alias] = Target(
            found.endpoint, found.model, alias, alias, found.provider, found.wire, found.timeout
        )

    def _find_entry(self, name: str) -> Target | None:
        if target := self._targets.get(name):
            return target
        parts = re.split("[/:]", name, maxsplit=1)
        if len(parts) < 2 or not parts[1]:
            return None
        return self._served.get((parts[0], parts[1])) or self._any_model(name)

    def _any_model(self, name: str) -> Target | None:
        """The model of an entry that takes any: its name, a separator, and what is asked of the provider."""
        for prefix, found in self._open.items():
            model = name[len(prefix) + 1 :]
            if name.startswith((f"{prefix}/", f"{prefix}:")) and is_model_name(model):
                return Target(found.endpoint, model, name, found.entry, found.provider, found.wire, found.timeout)
        return None

    def _nothing(self, name: str) -> str:
        names = self.names()
        shown = ", ".join(names[:SHOWN_NAMES]) + (", ..." if len(names) > SHOWN_NAMES else "")
        said = repr(name) if len(name) <= MAX_NAME and name.isprintable() else "of that name"
        return f"there is no model {said}; there {'are' if len(names) > 1 else 'is'} {shown or 'none'}"


def _all(steps: Iterable[Callable[[], None]]) -> None:
    """Take every step, and tell all that fail at once: who mends settings mends them in one go."""
    problems: list[SettingProblem] = []
    for step in steps:
        try:
            step()
        except CatalogueError as error:
            problems += error.problems
    if problems:
        raise CatalogueError(*problems)


def is_model_name(text: str) -> bool:
    """Whether a client's text can be the name of a model.

    It goes into bodies, and, with its slashes, into the paths of some providers: there it must not lead elsewhere.
    """
    is_plain = 0 < len(text) <= MAX_NAME and text.isprintable() and text.strip() == text
    return is_plain and not {"", ".", "..", "*"}.intersection(text.replace("\\", "/").split("/"))


def _has_many(entry: ModelConfig) -> bool:
    """Whether clients must say which model: only a server at an address of its own may have a single one."""
    return entry.model == ANY_MODEL or entry.base_url is None


def _refused(number: int, entry: ModelConfig, problem: str, *setting: str) -> CatalogueError:
    sentence = f"models[{number}] ({entry.public_name}): {problem}"
    return CatalogueError(SettingProblem(("models", number, *setting), sentence))


def _own_client() -> Any:
    import httpx

    return httpx.AsyncClient(
        # The gateway bounds its streams itself; idle connections are bounded because httpcore looks at all of them
        # whenever one is closed.
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
        timeout=httpx.Timeout(CONNECT_SECONDS, read=None, write=WRITE_SECONDS, pool=None),
    )
