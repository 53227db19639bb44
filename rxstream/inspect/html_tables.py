"""What a report says in words: the answer, its end, usage, calls, and what was wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Final

from rxstream.inspect.facts import Facts
from rxstream.inspect.text import count_text, cut, safe
from rxstream.response.consistency import CHECKS
from rxstream.response.error_json import error_json_object
from rxstream.response.response import Response, ResponseChoice
from rxstream.response.usage import USAGE_COUNTS

__all__ = ("answer_sections", "tables")

MAX_TEXT_CHARS: Final = 20_000
MAX_ARGUMENT_CHARS: Final = 4_000
MAX_ROWS: Final = 100
MAX_CHOICES: Final = 16
MAX_VALUE_CHARS: Final = 500


def answer_sections(facts: Facts) -> str:
    """The texts of the answer, for each choice."""
    response = facts.response
    choices: Iterable[Response | ResponseChoice] = response.choices[:MAX_CHOICES] or (response,)
    several = len(response.choices) > 1
    parts = []
    for number, choice in enumerate(choices):
        suffix = f", choice {getattr(choice, 'choice', number)}" if several else ""
        for name in ("text", "reasoning", "refusal"):
            text = getattr(choice, name)
            if text:
                parts.append(_folded(f"{name.capitalize()}{suffix}", text, is_open=name != "reasoning"))
    return "".join(parts)


def _folded(name: str, text: str, *, is_open: bool) -> str:
    heading = f"{name} ({count_text(len(text), 'character')})"
    return (
        f"<section><details{' open' if is_open else ''}><summary>{safe(heading)}</summary>"
        f'<pre dir="auto">{safe(cut(text, MAX_TEXT_CHARS))}</pre></details></section>'
    )


def tables(facts: Facts) -> str:
    """Everything else, in columns."""
    sections = [_end(facts), _usage(facts), _calls(facts), _checks(facts), _error(facts), _report(facts)]
    return f'<div class="columns">{"".join(sections)}</div>'


def _table(heading: str, rows: Iterable[tuple[str, object]], more: str = "") -> str:
    kept = list(rows)
    drawn = "".join(
        f"<tr><th>{safe(cut(name, MAX_VALUE_CHARS))}</th>{_cell(value)}</tr>" for name, value in kept[:MAX_ROWS]
    )
    if len(kept) > MAX_ROWS:
        drawn += f'<tr><th></th><td class="unknown">and {len(kept) - MAX_ROWS:,} more</td></tr>'
    return f"<section><h2>{safe(heading)}</h2>{more}<table>{drawn}</table></section>"


def _cell(value: object) -> str:
    if value is None:
        return '<td class="unknown">unknown</td>'
    if isinstance(value, bool):
        return f"<td>{'yes' if value else 'no'}</td>"
    if isinstance(value, int):
        return f'<td class="number">{value:,}</td>'
    return f"<td>{safe(cut(str(value), MAX_VALUE_CHARS))}</td>"


def _end(facts: Facts) -> str:
    response = facts.response
    rows: list[tuple[str, object]] = [
        ("outcome", response.outcome),
        ("finish reason", response.finish_reason),
        ("as the wire said it", response.finish_reason_raw),
        ("provisional", response.provisional),
        ("response id", response.response_id),
        ("model", response.model),
        ("choices", len(response.choices) or 1),
        ("recorded end", facts.ending if facts.has_times else "a body has none"),
    ]
    if response.cancel_cause is not None:
        rows.append(("cancelled by", response.cancel_cause))
    return _table("How it ended", rows)


def _usage(facts: Facts) -> str:
    usage = facts.response.usage
    return _table("Usage", ((name.replace("_", " "), getattr(usage, name)) for name in USAGE_COUNTS))


def _calls(facts: Facts) -> str:
    calls = facts.response.tool_calls
    if not calls:
        return ""
    drawn = "".join(
        f"<details{' open' if len(calls) == 1 else ''}><summary>{safe(cut(call.name, MAX_VALUE_CHARS))} "
        f'<span class="{"good" if call.valid else "bad"}">{"valid" if call.valid else "not valid"}</span></summary>'
        f'<pre class="code">{safe(cut(call.arguments, MAX_ARGUMENT_CHARS))}</pre></details>'
        for call in calls[:MAX_ROWS]
    )
    return f"<section><h2>{safe(count_text(len(calls), 'tool call'))}</h2>{drawn}</section>"


def _checks(facts: Facts) -> str:
    response = facts.response
    if not response.violations:
        holds = f"All {len(CHECKS)} checks hold, and the wire broke no rule."
        return f'<section><h2>Checks</h2><p class="good">{holds}</p></section>'
    failed = {one.code for one in response.failed_checks}
    rows = [
        (f"{one.code}{f' × {one.count:,}' if one.count > 1 else ''}", f"{one.message}{_of(one.code, failed)}")
        for one in response.violations
    ]
    broken = count_text(len(response.failed_checks), "failed check")
    others = count_text(len(rows) - len(response.failed_checks), "violation")
    return _table("Checks", rows, f'<p class="bad">{broken}, {others}</p>')


def _of(code: str, failed: set[str]) -> str:
    return " (a failed check)" if code in failed else " (the wire, or a policy, broke a rule)"


def _error(facts: Facts) -> str:
    error = facts.response.error
    if error is None:
        return ""
    shown = error_json_object(error)
    return _table(
        "Error", ((name.replace("_", " "), value) for name, value in shown.items() if name != "correlation_id")
    )


def _report(facts: Facts) -> str:
    report = facts.response.report
    if report is None:
        return ""
    rows = []
    for field in fields(report):
        value = getattr(report, field.name)
        shown = (
            f"{len(value):,}{': ' if value else ''}{', '.join(value[:MAX_ROWS])}" if isinstance(value, list) else value
        )
        rows.append((field.name.replace("_", " "), "nothing" if field.name == "missing" and value is None else shown))
    return _table("How far it came", rows)
