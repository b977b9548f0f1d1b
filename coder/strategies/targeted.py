"""Repair of what reviewers flagged, and of nothing else."""

import ast
import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from coder.core.candidate import Candidate, Patch
from coder.core.events import FilesChanged
from coder.core.notes import Done, Finding, Findings, Note
from coder.core.phases import REPAIR
from coder.core.syntax import parsed
from coder.loop.kit import Kit, Strategy
from coder.loop.phase import Purpose, Standing
from coder.strategies.follow import follow
from coder.strategies.purposes import PURPOSES

AROUND = 8
"""Lines around a flagged one that may change with it, where no definition encloses it."""


def flagged(findings: Findings, patch: Patch) -> tuple[Finding, ...]:
    """What can be mended: findings that matter, at places of the change."""
    return tuple(one for one in findings.findings if one.severity != "minor" and one.path in patch.paths)


def narrowed(kit: Kit, wanted: Sequence[Findings], patch: Patch) -> Kit:
    """The kit of whoever mends: only flagged files may be written to."""
    only = tuple(dict.fromkeys(finding.path for one in wanted for finding in flagged(one, patch)))
    return replace(kit, workspace=lambda candidate: replace(kit.workspace(candidate), only=only))


def mend(wanted: tuple[Findings, ...], patch: Patch) -> Strategy:
    """A strategy that has the flagged places mended, and the whole verified again."""
    findings = tuple(finding for one in wanted for finding in flagged(one, patch))

    async def opening(kit: Kit, _candidate: Candidate) -> str:
        return kit.prompts.render("mend", findings=findings)

    async def settle(kit: Kit, candidate: Candidate, standing: Standing) -> Note | str | None:
        if standing.entry or not standing.changed:
            return None if standing.note is None else "Nothing was changed. Mend what was found, or hand_over(kind='give_up')."
        astray = await asyncio.to_thread(_astray, kit, candidate, findings, patch)
        if not astray:
            return standing.note or Done(summary=f"What was found in {', '.join(dict.fromkeys(one.place for one in findings))} is mended.")
        await asyncio.to_thread(kit.repository.rollback, candidate, patch.tree)
        kit.log.append(FilesChanged(candidate=candidate.id, paths=patch.paths, diff=patch.diff))
        return kit.prompts.render("astray", astray=astray, findings=findings)

    purposes = {**PURPOSES, "repair": Purpose(phase=REPAIR, opening=opening, settle=settle)}
    return follow({("repair", True): "verify"}, "repair", purposes)


def _astray(kit: Kit, candidate: Candidate, findings: Sequence[Finding], patch: Patch) -> list[str]:
    """`path:line` of each change outside of the flagged places, by the lines as they were when they were flagged."""
    with kit.repository.checkout(patch.tree) as before:
        told = []
        for path in dict.fromkeys(finding.path for finding in findings):
            old, new = (
                (root / path).read_text("utf-8", "replace") if (root / path).is_file() else "" for root in (before, candidate.worktree)
            )
            allowed = [span for finding in findings if finding.path == path for span in _spans(finding, old)]
            told += [f"{path}:{line}" for line in _changed(old, new) if not any(line in span for span in allowed)]
    return told


def _spans(finding: Finding, text: str) -> Iterator[range]:
    """Lines that may change for one finding: the innermost definition around it, or a few lines; all, where it names no line."""
    if not finding.line:
        yield range(0, len(text.splitlines()) + 2)
        return
    try:
        nodes = [node for node in ast.walk(parsed(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    except (SyntaxError, ValueError, RecursionError):
        nodes = []
    spans = [range(node.lineno, (node.end_lineno or node.lineno) + 2) for node in nodes]
    around = [span for span in spans if finding.line in span] or [range(finding.line - AROUND, finding.line + AROUND + 1)]
    yield min(around, key=len)


def _changed(old: str, new: str) -> Iterator[int]:
    """Numbers of old lines that were changed, or before which something new stands; a new import is nobody's fault."""
    before, after = old.splitlines(), new.splitlines()
    for tag, first, last, start, end in SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes():
        if tag == "equal" or (
            tag == "insert" and all(line.startswith(("import ", "from ")) or not line.strip() for line in after[start:end])
        ):
            continue
        yield from range(first + 1, max(last, first + 1) + 1)
