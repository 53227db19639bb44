"""What a gateway is told, and by whom.

`settings` has the models, `sources` reads them from the command line, the environment and a TOML file. `lines` finds
where in the file a mistake stands; `setting_error` is one that shows only when a gateway starts. `provider_names` and
`provider_place` know what may be said of a provider. `settings_page` writes the page of the docs from the models, and
`toml_text` writes settings.
"""

from rxstream.gateway.config.setting_error import SettingError, SettingProblem
from rxstream.gateway.config.settings import Config, LogConfig, ModelConfig, ServerConfig, TelemetryConfig
from rxstream.gateway.config.sources import ConfigError, Mistake, load_config, place_of

__all__ = (
    "Config",
    "ConfigError",
    "LogConfig",
    "Mistake",
    "ModelConfig",
    "ServerConfig",
    "SettingError",
    "SettingProblem",
    "TelemetryConfig",
    "load_config",
    "place_of",
)
