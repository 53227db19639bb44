"""One entry of litellm's `model_list`: a name, and the server behind it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rxstream.gateway.config.provider_place import variables_of
from rxstream.gateway.config.settings import ANY_MODEL
from rxstream.gateway.litellm.notes import Notes
from rxstream.gateway.litellm.providers import Served, UnknownProvider, read_model
from rxstream.providers.registry import find_wire

__all__ = ("Deployment", "PlainKeys", "read_deployment")

VARIABLE: Final = "os.environ/"

MAX_NAME: Final = 256
"""As `ModelConfig.name` has it."""

MODES: Final = ("chat", "completion", "responses")

OTHER_MODES: Final = ("embedding", "tts-", "whisper", "dall-e", "rerank", "moderation", "transcribe", "gpt-image")
"""What is in the names of models that give no text, where `model_info.mode` does not say what they give."""

PLACES: Final[Mapping[str, str]] = {"aws_region_name": "region", "api_version": "api_version"}
"""Our settings for what says where at the provider a model is."""

PLACE: Final = re.compile(r"[A-Za-z0-9-]+")
"""What our settings take as a region, and as a version."""

ELSEWHERE: Final[Mapping[str, str]] = {
    "api_version": "set OPENAI_API_VERSION, where it is a date",
    "aws_region_name": "set AWS_REGION",
    "aws_access_key_id": "set AWS_ACCESS_KEY_ID",
    "aws_secret_access_key": "set AWS_SECRET_ACCESS_KEY",
    "aws_session_token": "set AWS_SESSION_TOKEN",
    "aws_profile_name": "set AWS_PROFILE",
    "organization": "set OPENAI_ORG_ID",
    "extra_headers": "ANTHROPIC_CUSTOM_HEADERS and OPENAI_CUSTOM_HEADERS add headers",
    "stream_timeout": "[server] first_event_timeout and stream_idle_timeout bound the silences of a stream",
}
"""Where something else does what a parameter did."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """One server of one model.

    Args:
        name: what clients call it.
        served: whose model it is.
        base_url: where it is; None is the provider's own place.
        key_variable: the variable with its key; None is the provider's own.
        timeout: how long an answer may take, in seconds.
        places: its region and the version of its API, by the names of our settings, where they are said.
    """

    name: str
    served: Served
    base_url: str | None = None
    key_variable: str | None = None
    timeout: float | None = None
    places: Mapping[str, str] = field(default_factory=dict)

    def entry(self, name: str) -> dict[str, Any]:
        """Its table in our settings, under `name`."""
        said = {
            "name": name,
            "provider": self.served.provider,
            # At an address of its own no model is that of a server with a single one.
            "model": ANY_MODEL if self.served.model is None and self.base_url else self.served.model,
            "base_url": self.base_url,
            **self.places,
            "api_key_env": self.key_variable,
            "timeout": self.timeout,
        }
        return {key: value for key, value in said.items() if value is not None}


class PlainKeys:
    """Keys that stand in the file in plain, each with a variable of its own that it belongs into."""

    __slots__ = ("_variables",)

    def __init__(self) -> None:
        self._variables: dict[str, str] = {}

    def variable(self, key: str, name: str) -> str:
        """The variable of a key that a model of this name has."""
        if key not in self._variables:
            stem = re.sub(r"[^A-Za-z0-9]+", "_", f"{name}_API_KEY").strip("_").upper()
            made, count = stem if not stem[0].isdigit() else f"MODEL_{stem}", 1
            while made in self._variables.values():
                count += 1
                made = f"{stem}_{count}"
            self._variables[key] = made
        return self._variables[key]


def read_deployment(
    entry: Any, place: str, notes: Notes, keys: PlainKeys, environ: Mapping[str, str]
) -> Deployment | None:
    """What an entry says; None, and a note, where it cannot be served.

    Args:
        entry: the entry.
        place: where it stands, for the notes.
        notes: what is told.
        keys: those in plain that were there before.
        environ: the variables that an address may name.
    """
    params = entry.get("litellm_params") if isinstance(entry, Mapping) else None
    if not isinstance(params, Mapping) or not isinstance(params.get("model"), str):
        notes.add(f"{place}: it has no litellm_params.model and is left out")
        return None
    reader = _Reader(entry, dict(params), place, notes, keys, environ)
    try:
        return reader.read()
    except UnknownProvider as error:
        notes.add(f"{place} ({reader.name}): {error}: it is left out")
        return None


class _Reader:
    """Takes an entry apart: what is left of its parameters in the end is told as not carried."""

    def __init__(
        self,
        entry: Mapping[str, Any],
        params: dict[str, Any],
        place: str,
        notes: Notes,
        keys: PlainKeys,
        environ: Mapping[str, str],
    ) -> None:
        self._entry = entry
        self._params = params
        self._place = place
        self._notes = notes
        self._keys = keys
        self._environ = environ
        self._model = str(params.pop("model"))
        self.name = str(entry.get("model_name") or self._model)

    def read(self) -> Deployment | None:
        self._check_mode()
        address = self._address()
        provider = self._params.pop("custom_llm_provider", None)
        served = self._of_mode(
            read_model(self._model, None if provider is None else str(provider), has_address=address is not None)
        )
        name = self._public_name(served)
        key = self._key(served, has_address=address is not None)
        places = self._places(served)
        deployment = Deployment(name, served, _trimmed(address, served), key, self._timeout(), places)
        self._tell_the_rest()
        return deployment

    def _check_mode(self) -> None:
        mode = self._mode
        if mode is not None and mode not in MODES:
            raise UnknownProvider(f"only text is served, and its mode is {mode!r}")
        if mode is None and any(word in self._model.lower() for word in OTHER_MODES):
            raise UnknownProvider("only text is served, and its name says that it gives something else")

    @property
    def _mode(self) -> str | None:
        info = self._entry.get("model_info")
        mode = info.get("mode") if isinstance(info, Mapping) else None
        return None if mode is None else str(mode)

    def _of_mode(self, served: Served) -> Served:
        return Served("openai-responses", served.model) if self._is_responses(served) else served

    def _is_responses(self, served: Served) -> bool:
        return self._mode == "responses" and served.provider in ("openai", "openai-chat")

    def _public_name(self, served: Served) -> str:
        """A name; of every model of a provider, what stands before the star."""
        if served.model is not None and (not served.model or "*" in served.model):
            raise UnknownProvider("a pattern in a model's name has no place here")
        if len(self.name) > MAX_NAME or not self.name.isprintable() or self.name.strip() != self.name:
            raise UnknownProvider(f"a name is at most {MAX_NAME} printable characters, with no blank at either end")
        if served.model is None:
            prefix, _, star = self.name.rpartition("/")
            if star != "*" or "*" in prefix or not prefix:
                raise UnknownProvider("every model of a provider is asked as PROVIDER/MODEL here, never as a bare name")
            return prefix
        if "*" in self.name:
            raise UnknownProvider("a pattern in a name has no place here")
        return self.name

    def _address(self) -> str | None:
        said = self._params.pop("api_base", None) or self._params.pop("base_url", None)
        self._params.pop("base_url", None)
        if said is None:
            return None
        variable = _variable(said)
        if variable is None:
            return str(said)
        found = self._environ.get(variable, "").strip()
        if not found:
            raise UnknownProvider(f"its address is in the variable {variable}, which must be set when it is imported")
        self._notes.add(f"{self._where}: its address is what the variable {variable} holds now")
        return found

    def _key(self, served: Served, *, has_address: bool) -> str | None:
        said = self._params.pop("api_key", None)
        if said is None:
            return None
        variable = _variable(said)
        if variable is None:
            variable = self._keys.variable(str(said), self.name)
            self._notes.add(f"{self._where}: its api_key stands in the file in plain: put it into {variable}")
        # The first variable that is asked at the provider's own place need not be said.
        known = [] if has_address else [key.variable for key in find_wire(served.provider).service.keys[:1]]
        return None if variable in known else variable

    def _places(self, served: Served) -> dict[str, str]:
        """Where at the provider, as far as it has such a place; what stands in a variable is told with the rest."""
        found = {}
        for name, setting in PLACES.items():
            said = self._params.get(name)
            if isinstance(said, str) and PLACE.fullmatch(said) and variables_of(served.provider, setting):
                found[setting] = self._params.pop(name)
        return found

    @property
    def _where(self) -> str:
        return f"{self._place} ({self.name})"

    def _timeout(self) -> float | None:
        said = self._params.pop("timeout", None)
        if said is None:
            said = self._params.pop("request_timeout", None)
        if isinstance(said, (int, float)) and not isinstance(said, bool) and 0 < said < float("inf"):
            return float(said)
        if said is not None:
            self._notes.not_carried(self._where, ["timeout"])
        return None

    def _tell_the_rest(self) -> None:
        for name in [name for name in self._params if name in ELSEWHERE]:
            del self._params[name]
            self._notes.add(f"{self._where}: {name}: {ELSEWHERE[name]}")
        self._notes.not_carried(self._where, self._params)


def _variable(said: Any) -> str | None:
    name = str(said).removeprefix(VARIABLE)
    return name if str(said).startswith(VARIABLE) and re.fullmatch(r"\w+", name) else None


def _trimmed(address: str | None, served: Served) -> str | None:
    """The address as our settings have it: where the API's own path begins."""
    if address is None or served.provider != "anthropic":
        return address
    return address.rstrip("/").removesuffix("/messages").removesuffix("/v1")
