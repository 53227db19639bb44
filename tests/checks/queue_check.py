"""Nothing in the package is unbounded: a check over its syntax trees.

Run it as ``python -m tests.checks.queue_check rxstream``. It knows four kinds of growth (queues without a bound, Rx
operators that hold items themselves, text that grows by ``+=`` on an attribute, a loop or a socket in a pure room) and
says for each what to take instead. What is bounded in a way that a syntax tree does not show carries the reason, on
the statement's lines or in a comment directly above it::

    self._buffer += data  # bounded: _check_size holds it to max_line_bytes

A queue class that takes a bound is not excused by a comment: give it the bound.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.checks.growth_rules import (
    FLUENT_HOLDING,
    FOREIGN_TO_PURE_ROOMS,
    GROWING_NAMES,
    HOLDING,
    NEVER,
    OPTIONAL_BOUND,
    PURE_ROOMS,
    REQUIRED_BOUND,
    TAKES_CLASSES,
)

COMPOUND = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.If,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.With,
    ast.AsyncWith,
    ast.Try,
    ast.TryStar,
    ast.Match,
)


@dataclass(frozen=True, order=True)
class Finding:
    """One place that may grow without a bound."""

    line: int
    what: str
    instead: str


def check_source(source: str, room: str = "") -> list[Finding]:
    """Return what may grow without a bound in one module's text.

    Args:
        source: the module's text.
        room: the part of the package it belongs to, such as ``framing``; pure rooms have rules of their own.
    """
    tree = ast.parse(source)
    visitor = _GrowthVisitor(_origins(tree), _excuses(source), is_pure=room in PURE_ROOMS)
    visitor.visit(tree)
    return sorted(set(visitor.findings))


def check_package(root: Path) -> Iterator[tuple[Path, Finding]]:
    """Yield every finding of the package whose folder is ``root``."""
    for path in sorted(root.rglob("*.py")):
        room = path.relative_to(root).parts[0].removesuffix(".py")
        for finding in check_source(path.read_text(encoding="utf-8"), room):
            yield path, finding


def _origins(tree: ast.Module) -> dict[str, str]:
    """Map each imported local name to where it comes from, in dots."""
    origins: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                origins[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            origins |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return origins


def _excuses(source: str) -> set[int]:
    """Return the lines a ``# bounded: why`` speaks for: its own, and the line of code below its block of comments."""
    excused: set[int] = set()
    carried = False
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            is_alone = not token.line[: token.start[1]].strip()
            if re.match(r"#\s*bounded:\s*\w", token.string):
                excused.add(token.start[0])
                carried = is_alone
        elif carried and token.type not in (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            excused.add(token.start[0])
            carried = False
    return excused


class _GrowthVisitor(ast.NodeVisitor):
    """Walks one module and collects findings."""

    def __init__(self, origins: dict[str, str], excuses: set[int], *, is_pure: bool) -> None:
        self.findings: list[Finding] = []
        self._origins = origins
        self._excuses = excuses
        self._is_pure = is_pure
        self._statement: ast.stmt | None = None

    def visit(self, node: ast.AST) -> None:
        outer = self._statement
        if isinstance(node, ast.stmt):
            self._statement = None if isinstance(node, COMPOUND) else node
        super().visit(node)
        self._statement = outer

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._check_import(node, alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.module and not node.level:
            self._check_import(node, node.module)

    def visit_Call(self, node: ast.Call) -> None:
        origin = self._origin(node.func)
        self._check_bound(node, origin)
        self._check_fluent(node, origin)
        self._check_waiting_sources(node, origin)
        if origin not in TAKES_CLASSES:
            for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                self._check_factory(argument, "handed on, it is called without a bound")
        self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for base in node.bases:
            self._check_factory(base, "a subclass hides the bound")
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        self._check_reference(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self._check_reference(node)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.op, ast.Add):
            self._check_growth(node, node.target, node.value)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.Add):
            for target in node.targets:
                if ast.unparse(target) == ast.unparse(node.value.left):
                    self._check_growth(node, target, node.value.right)
        self.generic_visit(node)

    def _check_import(self, node: ast.stmt, module: str) -> None:
        top = module.partition(".")[0]
        if self._is_pure and top in FOREIGN_TO_PURE_ROOMS:
            self._report(node, f"a pure room imports {top}", "move what needs it to the operator or source above")

    def _check_bound(self, node: ast.Call, origin: str) -> None:
        rule = REQUIRED_BOUND.get(origin) or OPTIONAL_BOUND.get(origin)
        if rule is None:
            return
        bound = rule.bound_of(node)
        is_missing = bound is None and origin in REQUIRED_BOUND
        if is_missing or (bound is not None and self._is_endless(bound)):
            self._report(node, f"{origin} without a bound", rule.instead, is_excusable=rule.is_excusable)

    def _check_waiting_sources(self, node: ast.Call, origin: str) -> None:
        if origin == "reactivex.operators.merge" and any(keyword.arg == "max_concurrent" for keyword in node.keywords):
            self._report(node, f"{origin}(max_concurrent=...) holds sources", HOLDING["concat_map"], is_excusable=True)

    def _check_fluent(self, node: ast.Call, origin: str) -> None:
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if method in FLUENT_HOLDING and not origin:
            self._report(node, f".{method}() holds items itself", HOLDING[method], is_excusable=True)

    def _check_factory(self, node: ast.expr, why: str) -> None:
        origin = self._origin(node)
        if rule := REQUIRED_BOUND.get(origin):
            self._report(node, f"{origin}: {why}", rule.instead, is_excusable=rule.is_excusable)

    def _check_reference(self, node: ast.expr) -> None:
        origin = self._origin(node)
        if origin in NEVER:
            self._report(node, f"{origin} cannot be bounded", NEVER[origin])
        library, _, name = origin.rpartition(".")
        if library in ("reactivex", "reactivex.operators") and name in HOLDING:
            self._report(node, f"{origin} holds items itself", HOLDING[name], is_excusable=True)

    def _check_growth(self, node: ast.stmt, target: ast.expr, added: ast.expr) -> None:
        name = _stored_name(target)
        if name.rpartition("_")[2] in GROWING_NAMES and not _is_number(added):
            instead = "keep the pieces in a list under a limit and join them once"
            self._report(node, f"{ast.unparse(target)} grows by +=: quadratic for str", instead, is_excusable=True)

    def _report(self, node: ast.stmt | ast.expr, what: str, instead: str, *, is_excusable: bool = False) -> None:
        span = self._statement or node
        lines = range(span.lineno, (span.end_lineno or span.lineno) + 1)
        if not (is_excusable and self._excuses.intersection(lines)):
            self.findings.append(Finding(node.lineno, what, instead))

    def _origin(self, node: ast.expr) -> str:
        """Return where a name comes from, as ``asyncio.Queue``; empty when it was not imported."""
        if isinstance(node, ast.Subscript):  # asyncio.Queue[int]
            return self._origin(node.value)
        if isinstance(node, ast.Attribute):
            owner = self._origin(node.value)
            return f"{owner}.{node.attr}" if owner else ""
        if isinstance(node, ast.Name):
            return self._origins.get(node.id, node.id if node.id in TAKES_CLASSES else "")
        return ""

    def _is_endless(self, bound: ast.expr) -> bool:
        if isinstance(bound, ast.UnaryOp) and isinstance(bound.op, ast.USub):
            return isinstance(bound.operand, ast.Constant)
        if isinstance(bound, ast.Constant):
            return not isinstance(bound.value, int | float) or bound.value <= 0
        if isinstance(bound, ast.Call) and isinstance(bound.func, ast.Name) and bound.func.id == "float":
            return True
        return self._origin(bound) in ("math.inf", "sys.maxsize")


def _stored_name(target: ast.expr) -> str:
    """Return the name of an attribute or of a constant key; a plain local grows in place and has none."""
    if isinstance(target, ast.Attribute):
        return target.attr
    if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
        return str(target.slice.value)
    return ""


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"


def main(arguments: Sequence[str]) -> int:
    """Check the package folders named; return 0 when all is bounded, 1 with findings, 2 with nothing to check."""
    roots = [Path(argument) for argument in arguments]
    files = sum(1 for root in roots for _ in root.rglob("*.py"))
    if not files:
        print("usage: python -m tests.checks.queue_check PACKAGE_FOLDER ...", file=sys.stderr)
        return 2
    findings = [finding for root in roots for finding in check_package(root)]
    for path, finding in findings:
        print(f"{path}:{finding.line}: {finding.what}; instead: {finding.instead}")
    print(f"queue check: {files} files, {len(findings) or 'nothing'} unbounded")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
