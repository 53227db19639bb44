"""Where settings come from: the command line, the environment, a file; and what is wrong with them, with its line."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, SettingsError

from rxstream.gateway.config.lines import SettingLines
from rxstream.gateway.config.setting_error import Loc
from rxstream.gateway.config.settings import SAME_NAME, Config

__all__ = ("ConfigError", "Mistake", "load_config", "place_of")

PREFIX: Final = "RXSTREAM__"

SHORT_NAMES: Final[Mapping[str, tuple[str, str]]] = {
    "RXSTREAM_HOST": ("server", "host"),
    "RXSTREAM_PORT": ("server", "port"),
    "RXSTREAM_TOKENS": ("server", "tokens"),
    "RXSTREAM_LOG": ("log", "level"),
}
"""Variables that have a name of their own; each wins over the long name of the same setting."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing that is wrong.

    Args:
        setting: which one, such as `models[1].provider`; empty where it is the whole file.
        problem: a sentence; no value that might be secret is in it.
        place: the file, or who else said it.
        line: the line in the file, from 1; None where the setting does not stand there.
    """

    setting: str
    problem: str
    place: str
    line: int | None = None

    def __str__(self) -> str:
        place = self.place if self.line is None else f"{self.place}:{self.line}"
        return ": ".join(filter(None, (place, self.setting, self.problem)))


class ConfigError(ValueError):
    """Settings that cannot be used. `mistakes` has all of them, and `str` is one line for each."""

    def __init__(self, mistakes: tuple[Mistake, ...]) -> None:
        super().__init__("\n".join(map(str, mistakes)))
        self.mistakes = mistakes


def load_config(path: Path | str | None = None, *, overrides: Mapping[str, Any] | None = None) -> Config:
    """Read the settings: `overrides` win over the environment, which wins over the file, which wins over the defaults.

    The environment: `RXSTREAM_HOST`, `RXSTREAM_PORT`, `RXSTREAM_TOKENS` (separated by commas), `RXSTREAM_LOG` (a level)
    and `RXSTREAM__SECTION__KEY` for any setting, lists and tables as JSON.

    Args:
        path: the TOML file; None asks `RXSTREAM_CONFIG`, and without that there is none.
        overrides: settings by section, such as `{"server": {"port": 0}}`: what the command line said.

    Raises:
        ConfigError: the file cannot be read, or a setting is wrong; it tells every mistake with file and line.
    """
    overrides = overrides or {}
    path = path or os.environ.get("RXSTREAM_CONFIG") or None
    text, table = ("", {}) if path is None else _read_file(Path(path))
    _check_sections()
    problem: Exception | None = None
    try:
        loaded = _settings_class(table, overrides)()
        return Config(**{name: getattr(loaded, name) for name in Config.model_fields})
    except (ValidationError, SettingsError) as error:
        problem = error
    if isinstance(problem, SettingsError):
        raise ConfigError((Mistake("", f"{problem}; lists and tables are written as JSON", "the environment"),))
    assert isinstance(problem, ValidationError)
    # Without the input: a wrong value may be a secret in the wrong place.
    errors = problem.errors(include_url=False, include_input=False)
    find = _Finder(SettingLines(text), "the settings" if path is None else str(path), overrides)
    mistakes = [_mistake(_loc(entry), entry["type"], entry["msg"], find) for entry in errors]
    raise ConfigError(tuple(sorted(mistakes, key=lambda mistake: mistake.line or 0)))


def place_of(setting: Loc, path: Path | str | None = None, *, overrides: Mapping[str, Any] | None = None) -> str | None:
    """File and line, such as `gateway.toml:5`, of a setting that was read well and turned out to be wrong later.

    Args:
        setting: such as `("models", 1, "api_key_env")`; where that is left out, what holds it is found.
        path: as `load_config` was given it.
        overrides: likewise.

    Returns:
        None where the file did not say it: the command line, the environment or nobody did.
    """
    path = path or os.environ.get("RXSTREAM_CONFIG") or None
    if path is None or not setting:
        return None
    text, _ = _read_file(Path(path))
    _, line = _Finder(SettingLines(text), str(path), overrides or {}).place(setting)
    return None if line is None else f"{path}:{line}"


def _settings_class(table: Mapping[str, Any], overrides: Mapping[str, Any]) -> type[Config]:
    class LoadedConfig(Config, BaseSettings):
        model_config = SettingsConfigDict(
            env_prefix=PREFIX, env_nested_delimiter="__", env_ignore_empty=True, extra="forbid", frozen=True
        )

        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return (
                _Given(settings_cls, overrides),
                _Given(settings_cls, _short_names(os.environ)),
                env_settings,
                _Given(settings_cls, table),
            )

    LoadedConfig.__name__ = LoadedConfig.__qualname__ = "Config"
    return LoadedConfig


class _Given(PydanticBaseSettingsSource):
    """Settings that are there already, as a mapping."""

    def __init__(self, settings_cls: type[BaseSettings], values: Mapping[str, Any]) -> None:
        super().__init__(settings_cls)
        self._values = values

    def get_field_value(self, field: Any, field_name: str) -> tuple[Any, str, bool]:
        return self._values.get(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        return dict(self._values)


def _short_names(environ: Mapping[str, str]) -> dict[str, Any]:
    said: dict[str, dict[str, Any]] = {}
    for variable, (section, key) in SHORT_NAMES.items():
        value = environ.get(variable, "").strip()
        if value:
            parsed: Any = [each.strip() for each in value.split(",") if each.strip()] if key == "tokens" else value
            said.setdefault(section, {})[key] = parsed
    return said


def _check_sections() -> None:
    """A variable of a section that does not exist would be passed over in silence."""
    sections = tuple(Config.model_fields)
    wrong = [
        name
        for name in os.environ
        if name.upper().startswith(PREFIX) and name[len(PREFIX) :].split("__")[0].lower() not in sections
    ]
    if wrong:
        problem = f"there is no such section; there are {', '.join(sections)}"
        raise ConfigError(tuple(Mistake(name, problem, "the environment") for name in sorted(wrong)))


def _read_file(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError((Mistake("", "there is no such file", str(path)),)) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise ConfigError((Mistake("", f"it cannot be read: {reason}", str(path)),)) from None
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        problem = str(error)
    except RecursionError:
        problem = "it nests too deep"
    said, _, place = problem.partition(" (at ")
    line = int(place.removeprefix("line ").partition(",")[0]) if place.startswith("line ") else text.count("\n") + 1
    raise ConfigError((Mistake("", f"it is not TOML: {said}", str(path), line),))


class _Finder:
    """Where a setting was said: the last word on it counts.

    Args:
        lines: of the file.
        shown: what the file is called.
        overrides: what the command line said.
    """

    def __init__(self, lines: SettingLines, shown: str, overrides: Mapping[str, Any]) -> None:
        self._lines = lines
        self._shown = shown
        self._overrides = overrides

    def place(self, loc: Loc) -> tuple[str, int | None]:
        """Who said it, and the line where that is the file."""
        if self._is_overridden(loc):
            return "the command line", None
        names = [short for short, setting in SHORT_NAMES.items() if setting == loc[:2]]
        names += [PREFIX + "__".join(map(str, loc[:length])) for length in range(1, len(loc) + 1)]
        variables = {name.upper() for name in os.environ}
        if variable := next((name for name in names if name.upper() in variables), None):
            return variable.upper(), None
        return self._shown, self._lines.find(loc)

    def _is_overridden(self, loc: Loc) -> bool:
        said = self._overrides.get(str(loc[0])) if loc else None
        return loc[1] in said if isinstance(said, Mapping) and len(loc) > 1 else said is not None


def _loc(error: Mapping[str, Any]) -> Loc:
    """Where an error is; of two models with one name it is the second, which pydantic does not know."""
    return ("models", error["ctx"]["number"], "name") if error["type"] == SAME_NAME else error["loc"]


def _mistake(loc: Loc, kind: str, message: str, find: _Finder) -> Mistake:
    place, line = find.place(loc)
    return Mistake(_dotted(loc), _problem(loc, kind, message), place, line)


def _dotted(loc: Loc) -> str:
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _problem(loc: Loc, kind: str, message: str) -> str:
    if kind == "extra_forbidden":
        return _unknown(loc)
    if kind == "missing":
        return "it is missing"
    return message.removeprefix("Value error, ")


def _unknown(loc: Loc) -> str:
    if loc[-1] == "api_key":
        return 'a key does not belong into this file: name the variable that holds it, api_key_env = "..."'
    known = _known_keys(loc[:-1])
    near = get_close_matches(str(loc[-1]), known, n=1)
    return "there is no such setting" + (f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(known)}")


def _known_keys(loc: Loc) -> tuple[str, ...]:
    model: type[BaseModel] = Config
    for part in loc:
        if isinstance(part, str):
            annotation: Any = model.model_fields[part].annotation
            kinds = (annotation, *getattr(annotation, "__args__", ()))  # a section, or a list of them
            model = next(kind for kind in kinds if hasattr(kind, "model_fields"))
    return tuple(model.model_fields)
