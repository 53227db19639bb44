"""What a gateway is told: its settings as one model, which is also where their page in the docs comes from.

Times are seconds. `inf` (a TOML number) means no limit where a time is one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from rxstream.gateway.config.provider_names import check_provider
from rxstream.gateway.config.provider_place import variables_of
from rxstream.limits import Limits

__all__ = ("Config", "LogConfig", "ModelConfig", "ServerConfig", "TelemetryConfig")

Seconds = Annotated[float, Field(gt=0)]

KIB = 1024
MIB = 1024 * KIB

ORIGIN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#@\\]+/?")
"""Of a page, or of a browser's extension: what comes in `Origin`, and a slash that is easily left there."""

ANY_MODEL = "*"

SAME_NAME = "same_name"
"""The kind of pydantic error for two models of one name; its context has the `number` of the second."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class ServerConfig(_Section):
    """Where the gateway listens, who may use it, and its bounds."""

    host: str = Field(
        default="127.0.0.1", description="the address to listen at; one that is not this machine's own needs tokens"
    )
    port: int = Field(default=8787, ge=0, le=65535, description="the port; 0 takes a free one")
    tokens: tuple[SecretStr, ...] = Field(
        default=(),
        description="what clients must send as `Authorization: Bearer`, `x-api-key` or `api-key`; none lets every "
        "program of this machine in",
    )
    tokens_env: str | None = Field(
        default=None, description="the environment variable with more tokens, separated by commas"
    )
    allowed_origins: tuple[str, ...] = Field(
        default=(),
        description="web pages of other origins that may use the gateway from a browser, such as "
        "`http://localhost:3000`; `*` is every page, and needs tokens",
    )
    allowed_hosts: tuple[str, ...] = Field(
        default=(),
        description="names other than this machine's own that the `Host` header may have while there are no tokens",
    )
    max_body_bytes: int = Field(default=32 * MIB, ge=1, description="the longest body of a request, in bytes")
    max_held_body_bytes: int = Field(
        default=512 * MIB,
        ge=1,
        description="the bodies of all requests in hand, in bytes as they were sent: those being read, and those whose "
        "answer still runs; one that does not fit gets status 503",
    )
    max_concurrent_streams: int = Field(
        default=256, ge=1, description="requests to models that run at once; one more gets status 429"
    )
    body_timeout: Seconds = Field(default=60.0, description="how long a client may take to send its request")
    first_event_timeout: Seconds = Field(
        default=120.0, description="how long a model may take to the first piece of its answer, while the client reads"
    )
    stream_idle_timeout: Seconds = Field(
        default=300.0, description="the longest silence of a model inside its answer, while the client reads"
    )
    deadline: Seconds | None = Field(default=None, description="how long one answer may take in all; none by default")
    write_timeout: Seconds = Field(
        default=60.0, description="how long a client may take nothing of its answer before it is cut off"
    )
    head_wait_seconds: Seconds = Field(
        default=5.0,
        description="how long the status of a streamed answer waits for its first piece: until then an error of the "
        "provider is an HTTP error, and after it, behind a first comment, an error frame",
    )
    keep_alive_seconds: Seconds = Field(
        default=15.0, description="after so much silence a comment is sent, which keeps proxies from closing"
    )
    shutdown_grace_seconds: Annotated[float, Field(ge=0)] = Field(
        default=20.0, description="how long running answers get to end after SIGTERM; then they are ended with an error"
    )
    send_buffer_bytes: int = Field(
        default=64 * KIB,
        ge=4 * KIB,
        le=1024 * MIB,
        description="the kernel's send buffer of each connection: what a client that does not read can hold back "
        "before its provider is paused",
    )

    @field_validator("tokens")
    @classmethod
    def _no_empty_token(cls, tokens: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        for token in tokens:
            said = token.get_secret_value()
            if not said or said.strip() != said or not said.isascii() or not said.isprintable():
                raise ValueError("a token is made of printable ASCII characters, with no blank at either end")
        return tokens

    @field_validator("allowed_origins")
    @classmethod
    def _origins_as_browsers_say_them(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        for origin in origins:
            if origin != "*" and not ORIGIN.fullmatch(origin):
                raise ValueError("an origin is `https://name` or `http://name:port`, with no path, or `*`")
        return origins

    @model_validator(mode="after")
    def _one_body_fits(self) -> ServerConfig:
        if self.max_held_body_bytes < self.max_body_bytes:
            raise ValueError("max_held_body_bytes is under max_body_bytes: the longest body would never fit")
        return self


class ModelConfig(_Section):
    """One model that clients may ask for, or all models of a provider."""

    name: str | None = Field(
        default=None, description="what clients call it; without it `provider/model`, or the provider where any is"
    )
    provider: str = Field(description="who serves it, by a name of `rxstream providers`, such as `openai`")
    model: str | None = Field(
        default=None, description=f"its name at the provider; without it, or as `{ANY_MODEL}`, every model of it"
    )
    base_url: str | None = Field(
        default=None, description="where the provider is; without it a variable such as `OPENAI_BASE_URL`, or its own"
    )
    region: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9-]+$",
        description="which region it is asked in, such as `eu-central-1`, for Amazon Bedrock; without it `AWS_REGION`",
    )
    api_version: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9._-]+$",
        description="which version of its API it is asked by, such as `2024-10-21`, for Azure; without it "
        "`OPENAI_API_VERSION`",
    )
    api_key_env: str | None = Field(
        default=None, description="the environment variable with the key; without it the provider's own variable"
    )
    headers: Mapping[str, str] = Field(
        default={}, description="headers for each request to it, such as `HTTP-Referer`; a key belongs into a variable"
    )
    timeout: Seconds | None = Field(
        default=None, description="how long one answer of this model may take in all; it wins over `server.deadline`"
    )

    @field_validator("provider")
    @classmethod
    def _known_provider(cls, provider: str) -> str:
        check_provider(provider)
        return provider

    @field_validator("region", "api_version")
    @classmethod
    def _has_a_place(cls, said: str | None, info: ValidationInfo) -> str | None:
        provider = info.data.get("provider")
        if said is not None and provider is not None and not variables_of(provider, str(info.field_name)):
            raise ValueError(f"requests to {provider!r} have no place for it: leave it out")
        return said

    @field_validator("name")
    @classmethod
    def _plain_name(cls, name: str | None) -> str | None:
        if name is not None:
            _check_name(name)
        return name

    @property
    def takes_any_model(self) -> bool:
        """Whether clients name the model themselves, behind the name of this entry."""
        return self.model is None or self.model == ANY_MODEL

    @property
    def public_name(self) -> str:
        """What clients call it."""
        if self.name is not None:
            return self.name
        return self.provider if self.takes_any_model else f"{self.provider}/{self.model}"


class LogConfig(_Section):
    """What is written to standard error, and where protected detail of errors goes. Never content."""

    level: Literal["debug", "info", "warning", "error", "off"] = Field(
        default="info", description="the least that is told; `debug` changes nothing else"
    )
    access: bool = Field(default=True, description="one JSON line for each request to a model")
    diagnostics_file: str | None = Field(
        default=None,
        description="a file (mode 0600) for what providers said in errors, redacted; without it the last 256 are held "
        "in memory",
    )


class TelemetryConfig(_Section):
    """What is told to others."""

    metrics: bool = Field(default=True, description="serve `/metrics` for Prometheus")
    otel: bool = Field(
        default=False, description="one OpenTelemetry span for each answer, by the environment's own OTEL_* settings"
    )


class Config(BaseModel):
    """Everything a gateway is told."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    server: ServerConfig = ServerConfig()
    models: tuple[ModelConfig, ...] = ()
    aliases: Mapping[str, str] = Field(
        default={}, description="further names, each for a name that a client could say: `fast = 'groq/llama-3.3-70b'`"
    )
    limits: Limits = Limits()
    log: LogConfig = LogConfig()
    telemetry: TelemetryConfig = TelemetryConfig()

    @field_validator("aliases")
    @classmethod
    def _plain_aliases(cls, aliases: Mapping[str, str]) -> Mapping[str, str]:
        for name in aliases:
            _check_name(name)
        return aliases

    @model_validator(mode="after")
    def _names_are_unique(self) -> Config:
        first: dict[str, int] = {}
        for number, entry in enumerate(self.models):
            other = first.setdefault(entry.public_name, number)
            if other != number:
                both = f"models[{other}] and models[{number}]"
                problem = f"{both} have the same name {entry.public_name!r}: give one of them another `name`"
                raise PydanticCustomError(SAME_NAME, "{problem}", {"problem": problem, "number": number})
        return self


def _check_name(name: str) -> None:
    if not (name.isprintable() and name.strip() == name and 0 < len(name) <= 256):
        raise ValueError("a name is 1 to 256 printable characters, with no blank at either end")
