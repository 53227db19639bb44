"""Where a program is missing, the recipes for clients and the browser say so and fail: they skip nothing."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.programs import program

ROOT = Path(__file__).parents[2]
RECIPES = ("clients", "browser")


@pytest.mark.parametrize(("name", "package"), [("npm", "npm"), ("node", "nodejs"), ("curl", "curl")])
def test_a_test_whose_program_is_missing_fails(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(pytest.fail.Exception, match=f"apt install {package}"):
        program(name)


@pytest.mark.parametrize("recipe", RECIPES)
def test_no_test_of_these_recipes_is_skipped(recipe: str) -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "tests" / recipe).glob("*.py")]
    assert len(sources) > 5
    assert [found for source in sources for found in re.findall(r"\b(?:importor)?skip(?:if)?\(", source)] == []


@pytest.mark.skipif(sys.platform == "win32" or shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize(
    ("recipe", "missing"), [("clients", ("nodejs", "npm", "curl")), ("browser", ("nodejs", "npm", "chromium"))]
)
def test_a_recipe_without_its_programs_and_without_apt_says_what_to_install(
    recipe: str, missing: tuple[str, ...], tmp_path: Path
) -> None:
    make = shutil.which("make")
    assert make is not None
    done = subprocess.run(
        [make, f"programs-{recipe}"], cwd=ROOT, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert done.stderr.startswith("missing: ")
    assert set(missing) <= set(done.stderr.splitlines()[0].partition("(")[0].split())
