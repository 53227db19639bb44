"""The local language model: an answer on the first run, without a key and without a network.

Needs the extra `local` (llama.cpp as the prebuilt wheel xllamacpp) and one model file, which `rxstream local install`
fetches. Importing this room loads neither.
"""

from rxstream.local.error import LocalModelError
from rxstream.local.install import install_model
from rxstream.local.model_file import default_cache_dir, model_path
from rxstream.local.server import LocalModel

__all__ = ("LocalModel", "LocalModelError", "default_cache_dir", "install_model", "model_path")
