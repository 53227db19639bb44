"""`make bench`: a table of ratios, and whether each is within reach. Some three minutes.

Absolute times say more of the machine than of the code; every row is a ratio taken in one run, or a difference.
"""

from __future__ import annotations

import argparse
import platform
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks import contenders as who
from benchmarks import frameworks
from benchmarks.corpus import Corpus, anthropic_text, openai_text
from benchmarks.gateway import gateway_costs, gateway_first_byte
from benchmarks.imports import import_ratio
from benchmarks.loopback import first_event_delay, loopback_costs, many_streams
from benchmarks.measure import Entry, costs
from benchmarks.memory import flat_growth, tool_call_factor
from benchmarks.wires import WIRE_BENCHES
from rxstream import operators as ops

ROUNDS = 5
PIECES = 20_000
FEW = 2_500  # for those who take a hundred microseconds a piece


@dataclass(frozen=True, slots=True)
class Row:
    """One line: what is compared, the ratio, and what it should be."""

    what: str
    ratio: float
    reach: str
    is_reached: bool
    unit: str = "x"

    def __str__(self) -> str:
        verdict = "ok  " if self.is_reached else "MISS"
        return f"{verdict}  {self.what:<78} {self.ratio:7.2f} {self.unit:<3}  reach {self.reach}"


def at_most(what: str, ratio: float, bound: float, unit: str = "x") -> Row:
    return Row(what, ratio, f"<= {bound:g}", ratio <= bound, unit)


def at_least(what: str, ratio: float, bound: float) -> Row:
    return Row(what, ratio, f">= {bound:g}", ratio >= bound)


def chat_rows() -> list[Row]:
    """OpenAI text in memory."""
    many, few = openai_text(PIECES), openai_text(FEW)
    large, single = many.in_large_chunks(), many.one_event_a_chunk()
    entries: dict[str, Entry] = {
        "floor": (who.floor, large, PIECES),
        "ours": (who.ours("openai-chat"), large, PIECES),
        "batched": (who.ours("openai-chat", ops.batch_text()), large, PIECES),
        "sink": (who.ours_sink("openai-chat"), large, PIECES),
        "lock-step": (who.ours("openai-chat", buffered=False), large, PIECES),
        "one map": (who.ours("openai-chat", *who.stock_maps(1)), large, PIECES),
        "five maps": (who.ours("openai-chat", *who.stock_maps(5)), large, PIECES),
        "single": (who.ours("openai-chat"), single, PIECES),
        "openai": (who.openai_sdk, few.in_large_chunks(), FEW),
        "openai single": (who.openai_sdk, few.one_event_a_chunk(), FEW),
    }
    cost = costs(entries, ROUNDS)
    floor = cost["floor"]
    print(f"floor: {floor:.2f} us a piece of text (httpx aiter_raw + split + from_json + a slots dataclass)\n")
    return [
        at_most(
            "chat text, 16 KiB chunks, parse | bounded_buffer | iterate, against the floor", cost["ours"] / floor, 1.25
        ),
        at_most("the same with batch_text", cost["batched"] / floor, 1.15),
        at_most("the same through subscribe(events, sink)", cost["sink"] / floor, 1.35),
        at_most("the same without a buffer (lock-step)", cost["lock-step"] / floor, 1.7),
        at_most("each transparent stock operator in between", (cost["five maps"] - cost["one map"]) / 4 / floor, 0.10),
        at_least("against the openai client", cost["openai"] / cost["ours"], 25),
        at_least("one event per transport chunk, against the openai client", cost["openai single"] / cost["single"], 8),
    ]


def anthropic_rows() -> list[Row]:
    """Anthropic text in memory, against its own client."""
    many, few = anthropic_text(PIECES), anthropic_text(FEW)
    cost = costs(
        {
            "ours": (who.ours("anthropic"), many.in_large_chunks(), PIECES),
            "sdk": (who.anthropic_sdk, few.in_large_chunks(), FEW),
            "stream()": (who.anthropic_sdk_stream, few.in_large_chunks(), FEW),
        },
        ROUNDS,
    )
    return [
        at_least("against the anthropic client's raw stream", cost["sdk"] / cost["ours"], 8),
        at_least("against the anthropic client's stream()", cost["stream()"] / cost["ours"], 20),
    ]


def wire_rows() -> list[Row]:
    """Every wire's parse against its own floor."""
    entries: dict[str, Entry] = {}
    for name, bench in WIRE_BENCHES.items():
        chunks = bench.corpus(PIECES).in_large_chunks()  # many: what a stream costs once must not count
        entries[name] = (who.ours_parsed(name), chunks, PIECES)
        entries[f"{name} floor"] = (bench.floor, chunks, PIECES)
    cost = costs(entries, ROUNDS)
    return [
        at_most(f"{name}: http_stream | parse, against its own floor", cost[name] / cost[f"{name} floor"], 1.4)
        for name in WIRE_BENCHES
    ]


def loopback_rows() -> list[Row]:
    """Real sockets, with the origin in a process of its own."""
    cost = loopback_costs(ROUNDS)
    cpu, kib = many_streams()
    return [
        at_most("loopback, one event per HTTP chunk, against the floor", cost["ours"] / cost["floor"], 1.25),
        at_least("the same against the openai client", cost["openai"] / cost["ours"], 6),
        at_most("first event, warm, later than the first chunk of bare httpx", first_event_delay(60), 0.5, "ms"),
        at_most("1,000 paced streams at once, against bare httpx", cpu, 1.25),
        at_most("memory that a stream of them takes, the HTTP client's included", kib, 60, "KiB"),
    ]


def gateway_rows() -> list[Row]:
    """The gateway against a proxy of Starlette, uvicorn and httpx that passes bytes on."""
    cost = gateway_costs(3)
    return [
        at_most("gateway, chat to chat, one event at a time, against a bare proxy", cost["paced same"], 1.5),
        at_most("gateway, chat to chat, at full speed", cost["fast same"], 1.5),
        at_most("gateway, chat to Anthropic's messages, one event at a time", cost["paced anthropic"], 2),
        at_most("gateway, chat to Anthropic's messages, at full speed", cost["fast anthropic"], 2),
        at_most("gateway, chat to Responses, one event at a time", cost["paced responses"], 2),
        at_most("gateway, chat to Responses, at full speed", cost["fast responses"], 2),
        at_most("gateway, first byte, later than the bare proxy's", gateway_first_byte(40), 2, "ms"),
    ]


def framework_rows() -> list[Row]:
    """The frameworks. Last, for the heap that their imports leave behind makes every later collection dearer."""
    chunks = openai_text(FEW).in_large_chunks()
    cost = costs(
        {
            "ours": (who.ours("openai-chat"), openai_text(PIECES).in_large_chunks(), PIECES),
            "langchain": (frameworks.langchain, chunks, FEW),
            "pydantic-ai": (frameworks.pydantic_ai, chunks, FEW),
            "litellm": (frameworks.litellm, chunks, FEW),
        },
        3,
    )
    return [
        at_least("against langchain-openai", cost["langchain"] / cost["ours"], 40),
        at_least("against pydantic-ai", cost["pydantic-ai"] / cost["ours"], 45),
        at_least("against litellm", cost["litellm"] / cost["ours"], 80),
    ]


def growth_rows() -> list[Row]:
    """What must not grow."""
    corpora: dict[int, Corpus] = {pieces: openai_text(pieces) for pieces in (1_000, 100_000)}
    read = who.ours("openai-chat")
    cost = costs({str(n): (read, corpus.in_large_chunks(), n) for n, corpus in corpora.items()}, 3)
    return [
        at_most("cost of an event in a stream of 100,000 against one of 1,000", cost["100000"] / cost["1000"], 1.1),
        at_most("peak memory over 100,000 events against 10,000, nothing accumulated", flat_growth(), 1.1),
        at_most("peak memory of one 8 MiB tool call, against its size", tool_call_factor(), 3.5),
        at_most("import rxstream, against import reactivex, pydantic", import_ratio(), 1.3),
    ]


PARTS: Final[Mapping[str, Callable[[], list[Row]]]] = {
    "chat": chat_rows,
    "anthropic": anthropic_rows,
    "wires": wire_rows,
    "growth": growth_rows,
    "loopback": loopback_rows,
    "gateway": gateway_rows,
    "frameworks": framework_rows,
}


def asked(arguments: Sequence[str]) -> list[str]:
    """The parts that the command line names; all of them where it names none."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Speed and memory as ratios to a floor and to peers. Exit code 1: one is out of reach.",
        epilog='make bench ARGS="wires gateway" measures two parts of it.',
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"what to measure: {', '.join(PARTS)}; else all")
    named = parser.parse_args(arguments).parts
    if unknown := [name for name in named if name not in PARTS]:
        parser.error(f"no part is named {unknown[0]!r}: {', '.join(PARTS)}")
    return [name for name in PARTS if name in named] or list(PARTS)


def main(arguments: Sequence[str]) -> int:
    """Print the table, each part as soon as it is there. Returns 1 where something is out of reach."""
    parts = asked(arguments)
    print(
        f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}; medians of {ROUNDS} rounds\n"
    )
    began, is_reached = time.monotonic(), True
    for name in parts:
        rows = PARTS[name]()
        print(*rows, sep="\n", flush=True)
        is_reached = is_reached and all(row.is_reached for row in rows)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << (20 if sys.platform == "darwin" else 10))
    print(f"\npeak memory of this run {peak:.0f} MiB, {time.monotonic() - began:.0f} s")
    return 0 if is_reached else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
