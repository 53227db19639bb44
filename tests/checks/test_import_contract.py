"""The two lists of pure rooms, the import contract's and the growth check's, agree on every room there is."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests.checks.growth_rules import PURE_ROOMS

ROOT = Path(__file__).resolve().parents[2]


def rooms_there_are() -> set[str]:
    return {path.name.removesuffix(".py") for path in (ROOT / "rxstream").iterdir()}


def pure_rooms_of_the_contract() -> set[str]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = {contract["id"]: contract for contract in settings["tool"]["importlinter"]["contracts"]}
    return {module.removeprefix("rxstream.").removesuffix(".**") for module in contracts["pure"]["source_modules"]}


def test_every_pure_room_is_in_the_import_contract() -> None:
    missing = (PURE_ROOMS & rooms_there_are()) - pure_rooms_of_the_contract()
    assert not missing, f"add to source_modules of the contract 'pure' in pyproject.toml: {sorted(missing)}"


def test_the_import_contract_names_only_pure_rooms() -> None:
    rooms = {module for module in pure_rooms_of_the_contract() if "." not in module}
    assert rooms <= PURE_ROOMS
