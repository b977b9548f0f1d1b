"""Status and score of a candidate, folded from the log and its worktree."""

import asyncio

from coder.core.events import CandidateScored, FilesChanged
from coder.core.state import gave_up, lineage, named_tests, notes, opinions, verdicts
from coder.core.values.candidate import Candidate
from coder.core.values.verdict import Verdict, VerdictKind
from coder.session.context import Kit
from coder.strategies.phases import has_source

Score = tuple[int, ...]
WORST: Score = (-1,)
DIFF_CHARACTERS, FAILURE_CHARACTERS = 3_000, 2_000
"""Of a failed change and of its failure, in what the other branches hear of it."""


async def score(kit: Kit, candidate: Candidate) -> Score:
    """Greater is better: proven and accepted, kind of verdict, what is still red, what broke, what no test guards, size."""
    judged = verdicts(kit.log.records, candidate.id)
    patch = await asyncio.to_thread(kit.repository.patch, candidate)
    if not judged or judged[-1].tree != patch.tree:
        return WORST
    newest = judged[-1]
    size = sum(
        line[:1] in "+-" and line[:3] not in ("+++", "---") for line in patch.diff.splitlines() if line
    )
    unguarded = len(newest.guarded.unguarded) if newest.guarded else 0
    found = (
        int(accepted(kit, candidate)),
        _rank(newest),
        -len(newest.still_red),
        -len(newest.broken),
        -unguarded,
        -size,
    )
    kit.log.append(
        CandidateScored(candidate=candidate.id, score=found, reason=f"{newest.label}, {size} lines changed")
    )
    return found


def accepted(kit: Kit, candidate: Candidate) -> bool:
    """Is it proven, and does no reviewer ask for changes?"""
    judged = verdicts(kit.log.records, candidate.id)
    proven = bool(judged) and judged[-1].kind is VerdictKind.PROVEN
    return proven and all(opinion.approve for opinion in opinions(kit.log.records, candidate.id).values())


def settled(kit: Kit, candidate: Candidate) -> bool:
    """Is there nothing better to be had? Where no test can show the issue, none can prove a fix."""
    judged = verdicts(kit.log.records, candidate.id)
    return accepted(kit, candidate) or (
        bool(judged) and judged[-1].good and not named_tests(kit.log.records, candidate.id)
    )


def trace(kit: Kit, candidate: Candidate) -> str:
    """Return what a failed attempt teaches others: its idea, its diff and how it failed, at most about 1,500 tokens."""
    idea = next(
        (note.summary.partition("\n")[0][:200] for note in reversed(notes(kit.log.records, candidate.id))),
        "no change",
    )
    changes = (
        record.event.diff
        for record in reversed(lineage(kit.log.records, candidate.id))
        if isinstance(record.event, FilesChanged)
    )
    judged = verdicts(kit.log.records, candidate.id)
    failure = kit.verifier.explain(judged[-1]) if judged else "It was not tested."
    return f"{idea}\n{next(changes, '')[:DIFF_CHARACTERS]}\n{failure[:FAILURE_CHARACTERS]}"


def _rank(verdict: Verdict) -> int:
    if verdict.good:
        return 4 if verdict.kind is VerdictKind.PROVEN else 3
    return {VerdictKind.PASSING: 2, VerdictKind.BROKEN: 1}.get(verdict.kind, 0)


def given_up(kit: Kit, candidate: Candidate) -> bool:
    """Is giving up its newest note?"""
    return gave_up(kit.log.records, candidate.id)


def good(kit: Kit, candidate: Candidate) -> bool:
    """May its change be delivered?"""
    judged = verdicts(kit.log.records, candidate.id)
    return bool(judged) and judged[-1].good


def mendable(kit: Kit, candidate: Candidate) -> bool:
    """Was its newest change judged and found wanting, so that another one may do better?"""
    judged = verdicts(kit.log.records, candidate.id)
    return (
        bool(judged)
        and not judged[-1].good
        and judged[-1].kind is not VerdictKind.INCONCLUSIVE
        and not given_up(kit, candidate)
    )


async def red(kit: Kit, candidate: Candidate) -> bool:
    """Was its change, as it is now, judged and found wanting?"""
    judged = verdicts(kit.log.records, candidate.id)
    return (
        bool(judged)
        and not judged[-1].good
        and judged[-1].tree == (await asyncio.to_thread(kit.repository.patch, candidate)).tree
    )


async def stands(kit: Kit, candidate: Candidate) -> bool:
    """Is its change, as it is now, judged and good?"""
    judged = verdicts(kit.log.records, candidate.id)
    return (
        bool(judged)
        and judged[-1].good
        and judged[-1].tree == (await asyncio.to_thread(kit.repository.patch, candidate)).tree
    )


async def fresh(kit: Kit, candidate: Candidate) -> bool:
    """Has it changed the code in a way that nobody has judged?"""
    patch = await asyncio.to_thread(kit.repository.patch, candidate)
    return has_source(patch) and all(
        verdict.tree != patch.tree for verdict in verdicts(kit.log.records, candidate.id)
    )
