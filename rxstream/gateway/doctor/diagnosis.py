"""What an observation of a stream through a proxy means, and what to change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from rxstream.gateway.doctor.observation import Observation
from rxstream.gateway.doctor.self_test import MARK, SELF_TEST_PATH

__all__ = ("Finding", "diagnose")

HELD_SHARE: Final = 0.75
"""A frame that is held back by so much of the pause between two came with the next one, or nearly."""

SLOW_START_SECONDS: Final = 1.0

STREAM_TYPE: Final = "text/event-stream"

IDENTITY: Final = ("", "identity")

UNBUFFERED: Final = (
    "nginx: `proxy_buffering off; proxy_http_version 1.1;` in its location, and no `proxy_ignore_headers "
    "X-Accel-Buffering`",
    "Apache: `flushpackets=on` behind its ProxyPass; Caddy: `flush_interval -1` in its reverse_proxy",
    "a content delivery network, a virus scanner or a function platform: let this path pass through unbuffered",
)

UNCOMPRESSED: Final = ("nginx: `gzip off;` in its location; others: leave text/event-stream out of what is compressed",)

NEWER_HTTP: Final = ('nginx: `proxy_http_version 1.1; proxy_set_header Connection "";` in its location',)

ADMITTED: Final = (
    "a gateway without tokens serves names of its own machine only: give it tokens (RXSTREAM_TOKENS), or name this "
    "host in `allowed_hosts` of its [server]",
    f"or the proxy refuses: let it pass {SELF_TEST_PATH} on to the gateway",
)

LONGER: Final = ("nginx: `proxy_read_timeout 600s;` in its location; others: raise the idle timeout of responses",)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found.

    Args:
        is_problem: whether streams suffer from it; else it is only said.
        what: what it is.
        change: what to change, one way each.
    """

    is_problem: bool
    what: str
    change: tuple[str, ...] = ()


def diagnose(seen: Observation) -> tuple[Finding, ...]:
    """What was found; where none of it is a problem, streams pass as they should."""
    if (reason := _not_the_self_test(seen)) is not None:
        return (reason,)
    return tuple(finding for check in _CHECKS for finding in check(seen))


def _not_the_self_test(seen: Observation) -> Finding | None:
    if seen.status is None:
        return Finding(
            True, seen.problem or "nothing answers there", ("is the gateway running, and its address right?",)
        )
    if seen.status == 429:
        return Finding(True, "the gateway runs as many self-tests as it may", ("try again in a moment",))
    if seen.status == 403:
        return Finding(True, "status 403: who asks under this name is not let in", ADMITTED)
    if seen.status in (502, 503, 504):
        return Finding(
            True,
            f"status {seen.status}: the proxy does not reach the gateway",
            ("is it running, where the proxy looks?",),
        )
    if seen.status != 200 or (MARK not in seen.headers and not seen.arrivals):
        return Finding(
            True,
            f"status {seen.status}, and not from an rxstream gateway",
            (f"let the proxy pass {SELF_TEST_PATH} on to the gateway, beside the paths of its APIs",),
        )
    return None


def _completeness(seen: Observation) -> Iterator[Finding]:
    if len(seen.arrivals) < seen.asked:
        broken = f": {seen.problem}" if seen.problem else ""
        yield Finding(True, f"the stream was cut off after {len(seen.arrivals)} of {seen.asked} frames{broken}", LONGER)
    elif seen.problem:
        yield Finding(True, seen.problem)


def _is_held(seen: Observation) -> bool:
    return seen.held_seconds > HELD_SHARE * seen.interval_seconds


def _buffering(seen: Observation) -> Iterator[Finding]:
    if not _is_held(seen):
        return
    pieces = len({arrival.arrived_seconds for arrival in seen.arrivals})
    came = "all at once" if pieces == 1 else f"in {pieces} pieces"
    what = f"frames are held back, up to {seen.held_seconds:.2f} s: {len(seen.arrivals)} came {came}"
    yield Finding(True, what, UNBUFFERED)


def _compression(seen: Observation) -> Iterator[Finding]:
    coding = seen.headers.get("content-encoding", "").strip().lower()
    if coding in IDENTITY:
        return
    what = f"the stream is compressed ({_shown(coding)}) on the way"
    if _is_held(seen):
        yield Finding(True, f"{what}: frames wait until a block of it is full", UNCOMPRESSED)
    else:
        yield Finding(False, f"{what}, and each frame is let out at once", UNCOMPRESSED)


def _old_http(seen: Observation) -> Iterator[Finding]:
    if seen.gateway_http_version == "1.0":
        yield Finding(
            True,
            "the proxy speaks HTTP/1.0 to the gateway: a stream that is cut off looks like one that ended",
            NEWER_HTTP,
        )
    if seen.http_version == "HTTP/1.0":
        yield Finding(
            True,
            "HTTP/1.0 is spoken here: a stream that is cut off looks like one that ended",
            ("let it speak HTTP/1.1",),
        )


def _content_type(seen: Observation) -> Iterator[Finding]:
    media_type = seen.headers.get("content-type", "").split(";")[0].strip().lower()
    if media_type != STREAM_TYPE:
        yield Finding(
            True,
            f"the Content-Type became {_shown(media_type) or 'none'}: browsers refuse it",
            ("leave the header as it is",),
        )


def _slow_start(seen: Observation) -> Iterator[Finding]:
    first = seen.first_byte_seconds or 0.0
    if first > SLOW_START_SECONDS and not _is_held(seen):
        yield Finding(False, f"the first byte took {first:.2f} s, though it was sent at once: the way there is slow")


def _headers(seen: Observation) -> Iterator[Finding]:
    if seen.headers.get("x-accel-buffering", "").strip().lower() != "no":
        yield Finding(
            False,
            "X-Accel-Buffering: no did not come through: nginx obeys it and takes it out, so that one more nginx in "
            "front of it would buffer",
        )
    if "no-transform" not in seen.headers.get("cache-control", "").lower():
        yield Finding(False, "Cache-Control: no-transform did not come through: whatever is in front may compress")


_CHECKS: Final[tuple[Callable[[Observation], Iterator[Finding]], ...]] = (
    _completeness,
    _buffering,
    _compression,
    _old_http,
    _content_type,
    _slow_start,
    _headers,
)


def _shown(value: str) -> str:
    """A value of somebody's header, where it can be shown."""
    return value if value.isascii() and value.isprintable() and len(value) <= 40 else "something else"
