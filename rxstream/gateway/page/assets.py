"""The page's files: read once, served from memory by name, under a policy that lets nothing else run.

There is no path to escape from: a name is in the table, or it is not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

__all__ = ("CONTENT_SECURITY_POLICY", "page_routes")

CONTENT_SECURITY_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        # A text becomes HTML through dompurify, or not at all.
        "require-trusted-types-for 'script'",
        "trusted-types dompurify",
    )
)

HEADERS: Final = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    # Kept, and asked for each time whether it is still the same: the answer to that has no body.
    "cache-control": "no-cache",
}

TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""What is served; other files, such as licences, are for who reads the package."""

NEEDS_TOKEN: Final = (b'data-token="none"', b'data-token="needed"')


@dataclass(frozen=True, slots=True)
class _Asset:
    """One file."""

    content: bytes
    media_type: str
    etag: str

    def response(self, request: Request) -> Response:
        policy = {"content-security-policy": CONTENT_SECURITY_POLICY} if self.media_type.startswith("text/html") else {}
        headers = {**HEADERS, **policy, "etag": self.etag}
        known = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
        if self.etag in known:
            return Response(status_code=304, headers=headers)
        return Response(self.content, headers={**headers, "content-type": self.media_type})


def page_routes(*, needs_token: bool) -> list[BaseRoute]:
    """`/` and `/static/...`.

    Args:
        needs_token: whether the page must ask for a token before it can do anything.
    """
    folder = files("rxstream.gateway.page") / "static"
    assets = {name: _asset(name, file.read_bytes()) for name, file in _walk(folder)}
    index = (folder / "index.html").read_bytes()
    page = _asset("index.html", index.replace(*NEEDS_TOKEN) if needs_token else index)

    async def root(request: Request) -> Response:
        return page.response(request)

    async def static(request: Request) -> Response:
        asset = assets.get(request.path_params["name"])
        if asset is None:
            return PlainTextResponse("there is no such file\n", 404, {"x-content-type-options": "nosniff"})
        return asset.response(request)

    return [Route("/", root), Route("/static/{name:path}", static)]


def _walk(folder: Traversable, above: str = "") -> Iterator[tuple[str, Traversable]]:
    for child in folder.iterdir():
        name = f"{above}{child.name}"
        if child.is_dir():
            yield from _walk(child, f"{name}/")
        elif _suffix(name) in TYPES and name != "index.html":
            yield name, child


def _asset(name: str, content: bytes) -> _Asset:
    return _Asset(content, TYPES[_suffix(name)], f'"{hashlib.sha256(content).hexdigest()[:32]}"')


def _suffix(name: str) -> str:
    return name[name.rfind(".") :]
