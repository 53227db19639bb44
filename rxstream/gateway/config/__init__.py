"""What a gateway is told, and by whom.

`settings` has the models, `sources` reads them from the command line, the environment and a TOML file, `lines` finds
where in the file a mistake stands, and `settings_page` writes their page of the docs from the same models.
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
