"""The kit's public names resolve, are seen by type checkers, and need nothing but the library's own dependencies."""

from __future__ import annotations

import subprocess
import sys

import pytest

from rxstream import testing

IMPORT_ALL = """
import sys
for name in {blocked!r}:
    sys.modules[name] = None
import rxstream.testing as kit
assert "rxstream.testing.server" not in sys.modules
for name in kit.__all__:
    getattr(kit, name)
"""


@pytest.mark.parametrize("name", testing.__all__)
def test_an_exported_name_resolves_to_what_its_module_calls_public(name: str) -> None:
    value = getattr(testing, name)
    module = sys.modules[getattr(value, "__module__", "rxstream.testing.script")]
    if module.__name__.startswith("rxstream."):
        assert name in module.__all__


def test_exported_names_are_listed_once_and_before_they_were_asked_for() -> None:
    assert len(set(testing.__all__)) == len(testing.__all__)
    assert set(testing.__all__) <= set(dir(testing))


def test_every_home_lists_its_names_in_all() -> None:
    assert {name for names in testing._HOMES.values() for name in names} == set(testing.__all__)


def test_no_exported_name_is_hidden_by_a_module_of_the_room() -> None:
    assert not set(testing.__all__) & set(testing._HOMES)


def test_an_unknown_name_is_an_attribute_error() -> None:
    unknown = "no_such_name"
    with pytest.raises(AttributeError, match=unknown):
        getattr(testing, unknown)


def test_the_kit_imports_with_the_core_alone_and_loads_nothing_before_it_is_asked() -> None:
    blocked = ("pytest", "_pytest", "hypothesis", "psutil", "looptime", "httpx2", "openai", "anthropic")
    script = IMPORT_ALL.format(blocked=blocked)
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True)
