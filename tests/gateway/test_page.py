"""The page's files: what is served, how, and under which policy."""

from __future__ import annotations

import hashlib
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx
import pytest

from rxstream.gateway.app import create_app
from rxstream.testing import answer, run

from .kit import asking, client_of, config_for

FOLDER = Path(str(files("rxstream.gateway.page") / "static"))
VENDORED = re.findall(
    r"\| (\S+) \| (\S+) \| [^|]+ \| `(\S+)` \| `([0-9a-f]{64})` \|", (FOLDER / "vendor/VENDOR.md").read_text()
)


def get(path: str, headers: dict[str, str] | None = None, **server: Any) -> httpx.Response:
    """What the gateway answers there."""

    async def main() -> httpx.Response:
        async with client_of(create_app(config_for("http://127.0.0.1:9", server=server))) as client:
            return await client.get(path, headers=headers)

    return run(main())


def test_the_page_is_at_the_root_and_nothing_but_its_own_files_may_run_in_it() -> None:
    page = get("/")
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    policy = dict(rule.partition(" ")[::2] for rule in page.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in page.headers["content-security-policy"]


def test_the_page_has_nothing_inline_that_the_policy_would_forbid() -> None:
    html = (FOLDER / "index.html").read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|https?://", html)


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("page.js", "text/javascript; charset=utf-8"),
        ("vendor/dompurify/purify.es.mjs", "text/javascript; charset=utf-8"),
        ("page.css", "text/css; charset=utf-8"),
        ("icon.svg", "image/svg+xml"),
    ],
)
def test_each_file_says_what_it_is_and_is_not_to_be_taken_for_more(name: str, media_type: str) -> None:
    file = get(f"/static/{name}")
    assert file.content == (FOLDER / name).read_bytes()
    assert file.headers["content-type"] == media_type
    assert file.headers["x-content-type-options"] == "nosniff"
    assert file.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", ["/", "/static/page.js"])
def test_what_a_browser_has_already_is_not_sent_again(path: str) -> None:
    tag = get(path).headers["etag"]
    again = get(path, {"if-none-match": f'"another", W/{tag}'})
    assert again.status_code == 304
    assert again.content == b""
    assert again.headers["etag"] == tag
    assert get(path, {"if-none-match": '"another"'}).status_code == 200


@pytest.mark.parametrize(
    "name",
    [
        "nothing.js",
        "index.html",
        "vendor/VENDOR.md",
        "vendor/marked/LICENSE",
        "../app.py",
        "%2e%2e/app.py",
        "..%2fapp.py",
        "",
    ],
)
def test_nothing_else_is_served(name: str) -> None:
    assert get(f"/static/{name}").status_code == 404


def test_every_file_that_the_page_asks_for_is_there() -> None:
    html = (FOLDER / "index.html").read_text()
    for name in re.findall(r'(?:href|src)="/static/([^"]+)"', html):
        assert (FOLDER / name).is_file(), name
    for script in FOLDER.glob("*.js"):
        for name in re.findall(r'from "\./([^"]+)"', script.read_text()):
            assert (FOLDER / name).is_file(), f"{script.name}: {name}"


def test_the_page_says_whether_it_needs_a_token() -> None:
    assert 'data-token="none"' in get("/").text
    assert 'data-token="needed"' in get("/", tokens=["a-token"]).text
    assert get("/static/page.js", tokens=["a-token"]).status_code == 200


def test_what_is_taken_from_others_is_what_they_published() -> None:
    assert [name for name, *_ in VENDORED] == ["marked", "dompurify"]
    for name, version, file, sha256 in VENDORED:
        content = (FOLDER / "vendor" / file).read_bytes()
        assert hashlib.sha256(content).hexdigest() == sha256, name
        assert f"{version}".encode() in content[:300]
        assert (FOLDER / "vendor" / file).with_name("LICENSE").is_file()


def test_the_page_does_not_stand_in_the_way_of_the_api() -> None:
    async def main() -> int:
        async with asking(answer("hi")) as (client, _):
            return (await client.get("/v1/models")).status_code

    assert run(main()) == 200
