"""What reviewers flag in a change: which of it can be mended, what may change for it, and which places are independent."""

import ast
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path

from coder.core.notes import Finding, Findings
from coder.core.values.candidate import Patch
from coder.python.parsing import parsed

AROUND = 8
"""Lines around a flagged one that may change with it, where no definition encloses it."""


def flagged(findings: Findings, patch: Patch) -> tuple[Finding, ...]:
    """What can be mended: findings that matter, at places of the change."""
    return tuple(
        finding
        for finding in findings.findings
        if finding.severity != "minor" and finding.path in patch.paths
    )


def places(findings: Sequence[Finding]) -> str:
    """Where they are, in a line."""
    return ", ".join(dict.fromkeys(finding.place for finding in findings))


def apart(tree: Path, findings: Sequence[Finding]) -> tuple[tuple[Finding, ...], ...]:
    """The findings in groups that touch no common line of the files in `tree`, so that each may be mended without the others."""
    groups: list[list[Finding]] = []
    path, reach = "", 0
    placed = [(finding, span(finding, text_of(tree, finding.path))) for finding in findings]
    for finding, lines in sorted(placed, key=lambda item: (item[0].path, item[1].start)):
        if finding.path != path or lines.start >= reach:
            groups.append([])
            path, reach = finding.path, 0
        groups[-1].append(finding)
        reach = max(reach, lines.stop)
    return tuple(map(tuple, groups))


def astray(findings: Sequence[Finding], before: Path, after: Path) -> list[str]:
    """`path:line` of each change outside of the flagged places, by the lines as they were in the tree `before`."""
    told = []
    for path in dict.fromkeys(finding.path for finding in findings):
        old, new = text_of(before, path), text_of(after, path)
        allowed = [span(finding, old) for finding in findings if finding.path == path]
        told += [
            f"{path}:{line}" for line in changed(old, new) if not any(line in lines for lines in allowed)
        ]
    return told


def text_of(tree: Path, path: str) -> str:
    """A file's text, every byte of it told apart; empty where it is gone."""
    file = tree / path
    return (
        file.read_bytes().decode("utf-8", "surrogateescape")
        if file.is_file() and not file.is_symlink()
        else ""
    )


def span(finding: Finding, text: str) -> range:
    """Lines that may change for a finding: the innermost definition around it, or a few lines; all, where it names no line."""
    if not finding.line:
        return range(len(text.splitlines()) + 2)
    try:
        nodes = [
            node
            for node in ast.walk(parsed(text))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        ]
    except (SyntaxError, ValueError, RecursionError):
        nodes = []
    spans = [range(node.lineno, (node.end_lineno or node.lineno) + 2) for node in nodes]
    around = [lines for lines in spans if finding.line in lines]
    return min(around, key=len) if around else range(finding.line - AROUND, finding.line + AROUND + 1)


def changed(old: str, new: str) -> Iterator[int]:
    """Numbers of old lines that were changed, or before which something new stands; a new import is nobody's fault."""
    before, after = old.splitlines(), new.splitlines()
    for tag, first, last, start, end in SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes():
        if tag == "equal" or (
            tag == "insert"
            and all(line.startswith(("import ", "from ")) or not line.strip() for line in after[start:end])
        ):
            continue
        yield from range(first + 1, max(last, first + 1) + 1)
