"""VERIFY: the phase without a model."""

import asyncio

from coder.core.candidate import Candidate, Patch
from coder.core.events import Verified
from coder.core.state import verdicts
from coder.core.verdict import Verdict, VerdictKind
from coder.loop.kit import Kit


async def judge(kit: Kit, candidate: Candidate, patch: Patch, named: tuple[str, ...]) -> Verdict:
    """Verify a change and log the verdict; what a good verdict stands for already is not verified again."""
    judged = verdicts(kit.log.records, candidate.id)
    if judged and judged[-1].tree == patch.tree and judged[-1].good and set(named) <= set(judged[-1].targets):
        return judged[-1]
    verdict = await asyncio.to_thread(kit.verifier.verify, patch, named, kit.log.progress(candidate.id))
    verdict = verdict.model_copy(update={"tree": patch.tree})
    if verdict.kind is VerdictKind.PROVEN:
        verdict = await asyncio.to_thread(kit.verifier.guard, verdict, kit.log.progress(candidate.id))
    kit.log.append(Verified(candidate=candidate.id, attempt=attempt_number(kit, candidate), verdict=verdict))
    return verdict


def attempt_number(kit: Kit, candidate: Candidate) -> int:
    """From 1; each verification that was not good has spent one."""
    return 1 + sum(not verdict.good for verdict in verdicts(kit.log.records, candidate.id))
