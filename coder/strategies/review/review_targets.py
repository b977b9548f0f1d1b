"""Targets of a review: findings that can be repaired, lines that may change for them, independent places."""

import ast
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path

from coder.core.notes import Finding, Findings
from coder.core.values.candidate import Patch
from coder.python.parsing import parse_module

MARGIN_LINES = 8
"""Lines around a flagged line that may change with it, if no definition encloses it."""


def repairable_findings(findings: Findings, patch: Patch) -> tuple[Finding, ...]:
    """Return findings that can be repaired: not minor, and in files of the change."""
    return tuple(
        finding
        for finding in findings.findings
        if finding.severity != "minor" and finding.path in patch.paths
    )


def format_places(findings: Sequence[Finding]) -> str:
    """Return the places of the findings in one line."""
    return ", ".join(dict.fromkeys(finding.place for finding in findings))


def group_independent_findings(tree: Path, findings: Sequence[Finding]) -> tuple[tuple[Finding, ...], ...]:
    """Group findings so that groups share no line of the files in `tree` and are repaired independently."""
    groups: list[list[Finding]] = []
    path, end = "", 0
    ranges = [(finding, editable_lines(finding, read_exact_text(tree, finding.path))) for finding in findings]
    for finding, lines in sorted(ranges, key=lambda entry: (entry[0].path, entry[1].start)):
        if finding.path != path or lines.start >= end:
            groups.append([])
            path, end = finding.path, 0
        groups[-1].append(finding)
        end = max(end, lines.stop)
    return tuple(map(tuple, groups))


def changes_outside_findings(findings: Sequence[Finding], before: Path, after: Path) -> list[str]:
    """Return `path:line` of each change outside of the flagged places, by the lines of the tree `before`."""
    locations = []
    for path in dict.fromkeys(finding.path for finding in findings):
        old, new = read_exact_text(before, path), read_exact_text(after, path)
        allowed_ranges = [editable_lines(finding, old) for finding in findings if finding.path == path]
        locations += [
            f"{path}:{line}"
            for line in changed_lines(old, new)
            if not any(line in lines for lines in allowed_ranges)
        ]
    return locations


def read_exact_text(tree: Path, path: str) -> str:
    """Return a file's text with undecodable bytes preserved; empty if there is no such file."""
    file = tree / path
    return (
        file.read_bytes().decode("utf-8", "surrogateescape")
        if file.is_file() and not file.is_symlink()
        else ""
    )


def editable_lines(finding: Finding, text: str) -> range:
    """Return the lines that may change for a finding.

    The innermost definition around it, or a few lines; all lines if it names none.
    """
    if not finding.line:
        return range(len(text.splitlines()) + 2)
    try:
        nodes = [
            node
            for node in ast.walk(parse_module(text))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        ]
    except (SyntaxError, ValueError, RecursionError):
        nodes = []
    spans = [range(node.lineno, (node.end_lineno or node.lineno) + 2) for node in nodes]
    enclosing = [lines for lines in spans if finding.line in lines]
    return (
        min(enclosing, key=len)
        if enclosing
        else range(finding.line - MARGIN_LINES, finding.line + MARGIN_LINES + 1)
    )


def changed_lines(old: str, new: str) -> Iterator[int]:
    """Yield the numbers of old lines that were changed or precede an insertion; new imports do not count."""
    before, after = old.splitlines(), new.splitlines()
    for tag, first, last, start, end in SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes():
        if tag == "equal" or (
            tag == "insert"
            and all(line.startswith(("import ", "from ")) or not line.strip() for line in after[start:end])
        ):
            continue
        yield from range(first + 1, max(last, first + 1) + 1)
