"""How far ahead a candidate is, by evidence."""

import asyncio

from coder.core.candidate import Candidate
from coder.core.decisions import CandidateScored
from coder.core.state import named_tests, notes, opinions, verdicts
from coder.core.verdict import Verdict, VerdictKind
from coder.loop.kit import Kit

Score = tuple[int, ...]
WORST: Score = (-1,)


async def score(kit: Kit, candidate: Candidate) -> Score:
    """Greater is better: proven and accepted, kind of verdict, what is still red, what broke, what no test guards, size."""
    judged = verdicts(kit.log.records, candidate.id)
    patch = await asyncio.to_thread(kit.repository.patch, candidate)
    if not judged or judged[-1].tree != patch.tree:
        return WORST
    newest = judged[-1]
    size = sum(line[:1] in "+-" and line[:3] not in ("+++", "---") for line in patch.diff.splitlines() if line)
    unguarded = len(newest.guarded.unguarded) if newest.guarded else 0
    found = (int(accepted(kit, candidate)), _rank(newest), -len(newest.still_red), -len(newest.broken), -unguarded, -size)
    kit.log.append(CandidateScored(candidate=candidate.id, score=found, reason=f"{newest.label}, {size} lines changed"))
    return found


def accepted(kit: Kit, candidate: Candidate) -> bool:
    """Is it proven, and does no reviewer ask for changes?"""
    judged = verdicts(kit.log.records, candidate.id)
    proven = bool(judged) and judged[-1].kind is VerdictKind.PROVEN
    return proven and all(opinion.approve for opinion in opinions(kit.log.records, candidate.id).values())


def settled(kit: Kit, candidate: Candidate) -> bool:
    """Is there nothing better to be had? Where no test can show the issue, none can prove a fix."""
    judged = verdicts(kit.log.records, candidate.id)
    return accepted(kit, candidate) or (bool(judged) and judged[-1].good and not named_tests(kit.log.records, candidate.id))


def trace(kit: Kit, candidate: Candidate) -> str:
    """What a failed attempt teaches others, in two lines."""
    said = [note.summary for note in notes(kit.log.records, candidate.id)]
    judged = verdicts(kit.log.records, candidate.id)
    idea = said[-1].partition("\n")[0][:200] if said else "no change"
    return f"{idea}: {judged[-1].reason[:300]}" if judged else idea


def _rank(verdict: Verdict) -> int:
    if verdict.good:
        return 4 if verdict.kind is VerdictKind.PROVEN else 3
    return {VerdictKind.PASSING: 2, VerdictKind.BROKEN: 1}.get(verdict.kind, 0)
