"""Before a model is asked: where a test fails already, ten seconds of search that may save the whole bill, and are a hint if not."""

import asyncio
from dataclasses import replace

from coder.core.events import FilesChanged, NoteMade, PhaseEntered, Verified
from coder.core.notes import Done, Sites
from coder.core.values.candidate import Candidate
from coder.core.values.proposal import Proposal, Proposals
from coder.core.values.verdict import VerdictKind
from coder.patching import apply
from coder.session.baseline import baseline
from coder.session.context import Kit, Strategy
from coder.strategies.offline import propose, speaking_of
from coder.strategies.verify_phase import asked_for, attempt_number, weigh

FIRST_SECONDS = 10.0


def offline_first(strategy: Strategy, *, seconds: float = FIRST_SECONDS) -> Strategy:
    """The strategy, unless an edit that a short search finds is PROVEN; what it found else goes into the first message, as unproven.

    `seconds` are for the suite on the untouched code, and as many again for the search.
    """

    async def first(kit: Kit, candidate: Candidate) -> Candidate:
        tests = () if kit.task.plan_only or kit.task.plan else await _failing(kit, candidate, seconds)
        if not tests:
            return await strategy(kit, candidate)
        kit.log.append(PhaseEntered(candidate=candidate.id, phase="locate", attempt=1))
        found = await propose(kit, candidate, tests, most=seconds)
        if (
            found.proposals
            and not found.alternatives
            and await _proven(kit, candidate, found.proposals[0], found, tests)
        ):
            return candidate
        return await strategy(replace(kit, hints=found), candidate)

    return first


async def _failing(kit: Kit, candidate: Candidate, seconds: float) -> tuple[str, ...]:
    """Tests that fail already for the right reason and that the issue names, or shares a word with."""
    report = await baseline(kit, candidate, wait_seconds=seconds)
    reds = tuple(result.id for result in report.reds) if report is not None and report.problem is None else ()
    asked = asked_for(kit) if reds else ()
    meant = asked or speaking_of(kit.task.issue, reds)
    if not meant:
        return ()
    patch = await asyncio.to_thread(kit.repository.patch, candidate)
    return (await asyncio.to_thread(kit.verifier.reproduces, patch, meant)).tests


async def _proven(
    kit: Kit, candidate: Candidate, proposal: Proposal, found: Proposals, tests: tuple[str, ...]
) -> bool:
    """Is it PROVEN? If not, nothing is told of it: it is no attempt of the model's."""
    await asyncio.to_thread(apply, proposal.diff, candidate.worktree)
    patch = await asyncio.to_thread(kit.repository.patch, candidate)
    verdict = await weigh(kit, candidate, patch, tests)
    if verdict.kind is not VerdictKind.PROVEN:
        await asyncio.to_thread(kit.repository.rollback, candidate, candidate.base)
        return False
    places = tuple(suspect.place for suspect in found.suspects)
    kit.log.append(
        NoteMade(
            candidate=candidate.id, phase="locate", note=Sites(summary=found.note, places=places, tests=tests)
        )
    )
    attempt = attempt_number(kit)
    kit.log.append(PhaseEntered(candidate=candidate.id, phase="edit", attempt=attempt))
    kit.log.append(FilesChanged(candidate=candidate.id, paths=patch.paths, diff=patch.diff))
    kit.log.append(NoteMade(candidate=candidate.id, phase="edit", note=Done(summary=proposal.summary)))
    kit.log.append(PhaseEntered(candidate=candidate.id, phase="verify", attempt=attempt))
    kit.log.append(Verified(candidate=candidate.id, attempt=attempt, verdict=verdict))
    return True
