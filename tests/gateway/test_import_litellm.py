"""A litellm proxy's configuration as ours: what is carried, what is told, and that no key is written out."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from rxstream.gateway.config import load_config
from rxstream.gateway.config.provider_names import check_provider
from rxstream.gateway.config.toml_text import toml_text
from rxstream.gateway.litellm.config import LISTENS, LitellmError, import_litellm
from rxstream.gateway.litellm.providers import PROVIDERS, WAYS

SECRET = "sk-what-nobody-may-read"


def imported(models: list[Any] | None = None, **sections: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The settings and the notes of a configuration; the note that is always there is left out."""
    environ = sections.pop("environ", {})
    found = import_litellm(yaml.safe_dump({"model_list": models or [], **sections}), environ)
    assert found.notes[-1] == LISTENS
    return tomllib.loads(found.toml), found.notes[:-1]


def entry(model: str, name: str = "m", **params: Any) -> dict[str, Any]:
    """An entry of `model_list`."""
    return {"model_name": name, "litellm_params": {"model": model, **params}}


def one_model(model: str, **params: Any) -> dict[str, Any]:
    """What one entry becomes, which is not told anything of."""
    found, notes = imported([entry(model, **params)])
    assert notes == ()
    [only] = found["models"]
    return dict(only)


EXAMPLE = """
model_list:
  - model_name: fast
    litellm_params:
      model: groq/llama-3.3-70b
      api_key: os.environ/GROQ_API_KEY
      timeout: 30
      rpm: 100
  - model_name: house
    litellm_params:
      model: openai/qwen3
      api_base: http://models.internal:8000/v1
      api_key: os.environ/HOUSE_KEY
  - model_name: "anthropic/*"
    litellm_params:
      model: "anthropic/*"
      api_key: os.environ/ANTHROPIC_API_KEY
  - model_name: vectors
    litellm_params: {model: openai/text-embedding-3-small}
router_settings:
  model_group_alias:
    quick: fast
    secret-name: {model: house, hidden: true}
  routing_strategy: least-busy
general_settings:
  master_key: os.environ/PROXY_KEY
  global_max_parallel_requests: 50
litellm_settings:
  request_timeout: 600
  drop_params: true
"""


def test_the_settings_that_come_out_are_loaded_by_the_gateway(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(import_litellm(EXAMPLE).toml)
    config = load_config(file)
    assert config.server.tokens_env == "PROXY_KEY"
    assert config.server.max_concurrent_streams == 50
    assert config.server.deadline == 600
    assert config.aliases == {"quick": "fast", "secret-name": "house"}
    said = [(model.name, model.provider, model.model, model.base_url, model.api_key_env) for model in config.models]
    assert said == [
        ("fast", "groq", "llama-3.3-70b", None, None),
        ("house", "openai-chat", "qwen3", "http://models.internal:8000/v1", "HOUSE_KEY"),
        ("anthropic", "anthropic", None, None, None),
    ]
    assert config.models[0].timeout == 30


HUGE = {"max_request_size_mb": 1000}


def test_a_longest_body_over_what_is_held_in_all_raises_that_too() -> None:
    settings, _ = imported([{"model_name": "a", "litellm_params": {"model": "groq/a"}}], general_settings=HUGE)
    assert settings["server"] == {"max_body_bytes": 1000 << 20, "max_held_body_bytes": 1000 << 20}


def test_what_is_not_carried_is_told() -> None:
    gives_no_text = "only text is served, and its name says that it gives something else: it is left out"
    assert import_litellm(EXAMPLE).notes == (
        "model_list[0] (fast): not carried: rpm",
        f"model_list[3] (vectors): {gives_no_text}",
        "litellm_settings: not carried: drop_params",
        "router_settings.model_group_alias.secret-name: names cannot be hidden: it is listed in /v1/models",
        "router_settings: not carried: routing_strategy",
        LISTENS,
    )


@pytest.mark.parametrize(
    ("model", "provider", "name"),
    [
        ("gpt-5-mini", "openai", "gpt-5-mini"),
        ("o3", "openai", "o3"),
        ("claude-sonnet-5", "anthropic", "claude-sonnet-5"),
        ("openai/gpt-5-mini", "openai", "gpt-5-mini"),
        ("openai/responses/gpt-5-mini", "openai-responses", "gpt-5-mini"),
        ("bedrock/us.anthropic.claude-4:0", "bedrock-converse", "us.anthropic.claude-4:0"),
        ("bedrock/converse/us.anthropic.claude-4:0", "bedrock-converse", "us.anthropic.claude-4:0"),
        ("bedrock/invoke/us.anthropic.claude-4:0", "bedrock-invoke", "us.anthropic.claude-4:0"),
        ("ollama_chat/qwen3:4b", "ollama", "qwen3:4b"),
        ("openrouter/meta-llama/llama-4", "openrouter", "meta-llama/llama-4"),
        ("together_ai/meta-llama/llama-4", "together", "meta-llama/llama-4"),
        ("cohere_chat/command-a", "cohere-v2", "command-a"),
    ],
)
def test_whose_a_model_is_is_read_of_its_name(model: str, provider: str, name: str) -> None:
    assert one_model(model) == {"name": "m", "provider": provider, "model": name}


@pytest.mark.parametrize(
    ("model", "params", "expected"),
    [
        ("openai/qwen3", {}, ("openai-chat", "qwen3")),
        ("meta-llama/llama-4", {}, ("openai-chat", "meta-llama/llama-4")),
        ("qwen3", {}, ("openai-chat", "qwen3")),
        ("hosted_vllm/qwen3", {}, ("vllm", "qwen3")),
        ("sambanova/qwen3", {"custom_llm_provider": "sambanova"}, ("openai-chat", "qwen3")),
        ("qwen3", {"custom_llm_provider": "ollama"}, ("ollama", "qwen3")),
    ],
)
def test_a_server_at_an_address_of_its_own_speaks_openais_api_unless_it_says_otherwise(
    model: str, params: dict[str, Any], expected: tuple[str, str]
) -> None:
    found = one_model(model, api_base="http://127.0.0.1:9/v1", **params)
    assert (found["provider"], found["model"]) == expected
    assert found["base_url"] == "http://127.0.0.1:9/v1"


def test_a_key_for_an_address_of_its_own_is_named_even_where_it_is_the_providers_own() -> None:
    at_home = one_model("groq/llama", api_key="os.environ/GROQ_API_KEY")
    elsewhere = one_model("groq/llama", api_key="os.environ/GROQ_API_KEY", api_base="http://127.0.0.1:9/v1")
    assert "api_key_env" not in at_home
    assert elsewhere["api_key_env"] == "GROQ_API_KEY"


def test_an_address_of_anthropics_api_ends_where_its_paths_begin() -> None:
    for said in ("https://proxy.example", "https://proxy.example/v1", "https://proxy.example/v1/messages"):
        assert one_model("anthropic/c", api_base=said)["base_url"] == "https://proxy.example"


def test_an_address_in_a_variable_is_looked_up() -> None:
    models = [entry("openai/qwen3", api_base="os.environ/PLACE")]
    found, notes = imported(models, environ={"PLACE": "http://127.0.0.1:9/v1"})
    assert found["models"][0]["base_url"] == "http://127.0.0.1:9/v1"
    assert notes == ("model_list[0] (m): its address is what the variable PLACE holds now",)


def test_a_model_whose_address_nobody_knows_is_left_out_and_not_asked_elsewhere() -> None:
    found, notes = imported([entry("openai/qwen3", api_base="os.environ/PLACE")])
    assert "models" not in found
    assert "PLACE" in notes[0]


def test_every_model_of_a_provider_is_asked_by_its_name_wherever_it_is() -> None:
    found, _ = imported(
        [entry("groq/*", "groq/*"), entry("hosted_vllm/*", "house/*", api_base="http://127.0.0.1:9/v1")]
    )
    assert found["models"] == [
        {"name": "groq", "provider": "groq"},
        {"name": "house", "provider": "vllm", "model": "*", "base_url": "http://127.0.0.1:9/v1"},
    ]


def test_a_key_in_plain_is_never_written_out() -> None:
    models = [
        entry("groq/a", "a", api_key=SECRET),
        entry("groq/b", "b", api_key=SECRET),
        entry("groq/a2", "a", api_key=SECRET + "2"),
        entry("groq/3", "3-d", api_key=SECRET + "3"),
    ]
    text = yaml.safe_dump({"model_list": models, "general_settings": {"master_key": SECRET}})
    found = import_litellm(text)
    assert SECRET not in found.toml + "".join(found.notes)
    said = tomllib.loads(found.toml)
    assert [model["api_key_env"] for model in said["models"]] == [
        "A_API_KEY",
        "A_API_KEY",
        "A_API_KEY_2",
        "MODEL_3_D_API_KEY",
    ]
    assert said["server"]["tokens_env"] == "LITELLM_MASTER_KEY"
    assert (
        "general_settings.master_key: it stands in the file in plain: put it into the variable LITELLM_MASTER_KEY"
        in (found.notes)
    )


def test_several_servers_of_one_name_get_names_of_their_own() -> None:
    found, notes = imported([entry("groq/a", "m"), entry("openai/b", "m"), entry("openai/c", "m-2")])
    assert [model["name"] for model in found["models"]] == ["m", "m-2", "m-2-2"]
    assert len(notes) == 2


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (entry("vertex_ai/gemini-3"), "there is no provider 'vertex_ai' here"),
        (entry("mystery"), "nobody can tell whose model 'mystery' is"),
        (entry("openai/*", "*"), "never as a bare name"),
        (entry("openai/gpt-*", "x"), "a pattern in a model's name"),
        (entry("openai/gpt-5", "gpt-*"), "a pattern in a name"),
        (entry("openai/gpt-5", "a\nb"), "printable characters"),
        ({**entry("openai/x"), "model_info": {"mode": "image_generation"}}, "its mode is 'image_generation'"),
        (entry("openai/whisper-1"), "its name says that it gives something else"),
        ("text", "it has no litellm_params.model"),
        ({"model_name": "m", "litellm_params": {"model": 7}}, "it has no litellm_params.model"),
    ],
)
def test_a_model_that_cannot_be_served_is_left_out_with_a_note(one: Any, why: str) -> None:
    found, notes = imported([one])
    assert "models" not in found
    [note] = notes
    assert why in note
    assert note.endswith("left out")


def test_a_mode_picks_the_responses_api() -> None:
    found, _ = imported([{**entry("openai/o3-pro"), "model_info": {"mode": "responses"}}])
    assert found["models"][0]["provider"] == "openai-responses"


def test_what_something_else_does_is_told_with_its_name() -> None:
    _, notes = imported([entry("bedrock/x", aws_region_name="os.environ/R", aws_secret_access_key=SECRET)])
    assert notes == (
        "model_list[0] (m): aws_region_name: set AWS_REGION",
        "model_list[0] (m): aws_secret_access_key: set AWS_SECRET_ACCESS_KEY",
    )
    _, notes = imported([entry("groq/x", api_version="2024-10-21")])
    assert notes == ("model_list[0] (m): api_version: set OPENAI_API_VERSION, where it is a date",)


def test_a_region_and_a_version_are_those_of_their_model() -> None:
    azure = entry("azure/gpt", api_version="2024-10-21", api_base="https://a.openai.azure.com")
    settings, _ = imported([entry("bedrock/x", aws_region_name="eu-west-1"), azure])
    assert (settings["models"][0]["region"], settings["models"][1]["api_version"]) == ("eu-west-1", "2024-10-21")


def test_an_alias_of_a_model_that_is_not_there_is_left_out() -> None:
    found, notes = imported([entry("groq/a")], router_settings={"model_group_alias": {"x": "gone", "y": "m"}})
    assert found["aliases"] == {"y": "m"}
    assert notes == (
        "router_settings.model_group_alias.x: there is no model of the name that it stands for: it is left out",
    )


@pytest.mark.parametrize(
    "text", ["", "a: [", "- 1", "model_list: 7", "[" * 5000, "a: 9999-99-99", "\x00", "model_list: {}"]
)
def test_a_text_that_is_no_such_configuration_is_one_error(text: str) -> None:
    with pytest.raises(LitellmError):
        import_litellm(text)


def test_every_provider_that_is_named_can_be_asked() -> None:
    for name in {*PROVIDERS.values(), *WAYS.values()}:
        check_provider(name)


words = st.sampled_from(
    ["*", "openai/*", "openai/gpt-5", "azure/x", "os.environ/A", "os.environ/", "", "m", "\x7f", "x/*"]
)
names = st.sampled_from(["model", "api_base", "api_key", "timeout", "custom_llm_provider", "rpm", "request_timeout"])
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | words
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3) | names, inner, max_size=2)
)
params = st.dictionaries(names, values, max_size=6)
entries = st.fixed_dictionaries(
    {"litellm_params": params}, optional={"model_name": words | values, "model_info": values}
)
sections = st.sampled_from(["general_settings", "router_settings", "litellm_settings", "environment_variables", "x"])
keys = st.sampled_from(["master_key", "model_group_alias", "request_timeout", "max_request_size_mb"])


@given(
    st.lists(entries | values, max_size=4),
    st.dictionaries(sections, values | st.dictionaries(keys, values, max_size=3), max_size=4),
)
@settings(deadline=None, max_examples=150)
def test_whatever_it_says_the_settings_can_be_loaded(
    tmp_path_factory: pytest.TempPathFactory, models: list[Any], more: dict[str, Any]
) -> None:
    try:
        found = import_litellm(yaml.safe_dump({"model_list": models, **more}))
    except LitellmError:
        return
    file = tmp_path_factory.mktemp("x") / "gateway.toml"
    file.write_text(found.toml, encoding="utf-8")
    load_config(file)


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"])),
        st.text(st.characters(exclude_categories=["Cs"])) | st.booleans() | st.integers(-(2**60), 2**60),
    )
)
def test_toml_is_read_as_it_was_written(table: dict[str, Any]) -> None:
    assert tomllib.loads(toml_text({"a b": table, "list": [table, {}]})) == {
        **({"a b": table} if table else {}),
        "list": [table, {}],
    }
