"""`rxstream doctor`: what stands before a gateway, examined, and what to change about it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import httpx

from rxstream.cli.console import refuse
from rxstream.cli.exit_codes import FAILED
from rxstream.gateway.doctor import DoctorError, Finding, Observation, diagnose, observe, self_test_url

__all__ = ("DoctorOptions", "run_doctor")

CONNECT_SECONDS = 10.0

UNAUTHORIZED = 401


@dataclass(frozen=True, slots=True)
class DoctorOptions:
    """What the command line said.

    Args:
        url: the address of the gateway, or of the proxy before it.
        token_env: the variable with a token of the gateway.
        frames: how many frames to ask for.
        interval_seconds: how far apart.
    """

    url: str
    token_env: str | None = None
    frames: int = 10
    interval_seconds: float = 0.2


def run_doctor(options: DoctorOptions, write: Callable[[str], None]) -> int:
    """Examine, say what was found, and return the exit code: 0 where streams pass as they should."""
    try:
        url = self_test_url(options.url)
    except DoctorError as error:
        refuse(str(error))
    token = _token(options.token_env)
    seen = asyncio.run(_observe(url, token, options))
    if seen.status == UNAUTHORIZED:
        advice = "name the variable that holds one with --token-env"
        known = f"the gateway does not know the token in {options.token_env}"
        refuse(f"the gateway asks for a token: {advice}" if token is None else known)
    findings = diagnose(seen)
    for line in report(seen, findings):
        write(line)
    return FAILED if any(finding.is_problem for finding in findings) else 0


def _token(variable: str | None) -> str | None:
    if variable is None:
        return None
    found = os.environ.get(variable, "").split(",")[0].strip()
    if not found:
        refuse(f"the variable {variable} is not set")
    return found


async def _observe(url: str, token: str | None, options: DoctorOptions) -> Observation:
    timeout = httpx.Timeout(None, connect=CONNECT_SECONDS)
    async with httpx.AsyncClient(timeout=timeout, follow_redirects=True) as client:
        return await observe(client, url, token=token, frames=options.frames, interval_seconds=options.interval_seconds)


def report(seen: Observation, findings: tuple[Finding, ...]) -> Iterator[str]:
    """The lines of what was seen and found."""
    yield f"{_without_user(seen.url)}: {seen.asked} frames, {seen.interval_seconds:g} s apart"
    if seen.arrivals:
        yield f"  first byte  after {seen.first_byte_seconds or 0:.3f} s"
        yield f"  frames      {len(seen.arrivals)} of {seen.asked}, held back by {seen.held_seconds:.3f} s at most"
        yield f"  connection  {seen.http_version} here, HTTP/{seen.gateway_http_version} at the gateway"
    for finding in findings:
        yield f"{'problem' if finding.is_problem else 'note'}: {finding.what}"
        yield from (f"  - {way}" for way in finding.change)
    if not any(finding.is_problem for finding in findings):
        yield "good: frames pass as they are sent"


def _without_user(url: str) -> str:
    """The address without a name and a password in it."""
    return str(httpx.URL(url).copy_with(userinfo=b""))
