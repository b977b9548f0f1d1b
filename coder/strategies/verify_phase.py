"""VERIFY: the phase without a model."""

import asyncio

from coder.core.events import Verified
from coder.core.state import verdicts
from coder.core.values.candidate import Candidate, Patch
from coder.core.values.paths import node_ids
from coder.core.values.verdict import Verdict, VerdictKind
from coder.session.context import Kit


async def judge(kit: Kit, candidate: Candidate, patch: Patch, named: tuple[str, ...]) -> Verdict:
    """Verify a change and log the verdict; what a good verdict stands for already is not verified again."""
    judged = verdicts(kit.log.records, candidate.id)
    known = next(
        (
            old
            for old in reversed(judged)
            if old.tree == patch.tree and old.good and set(named) <= set(old.targets)
        ),
        None,
    )
    if known is not None and known is judged[-1]:
        return known
    verdict = known or await weigh(kit, candidate, patch, named)
    kit.log.append(Verified(candidate=candidate.id, attempt=attempt_number(kit), verdict=verdict))
    return verdict


async def weigh(kit: Kit, candidate: Candidate, patch: Patch, named: tuple[str, ...]) -> Verdict:
    """The verdict on a change, with the second look at a good one; the log hears nothing of it.

    The tests that the user asked for have to be green as well, whichever are `named`.
    """
    progress = kit.log.progress(candidate.id)
    wanted = tuple(dict.fromkeys((*named, *asked_for(kit))))
    async with kit.pace.verification():
        verdict = await asyncio.to_thread(kit.verifier.verify, patch, wanted, progress)
        verdict = verdict.model_copy(update={"tree": patch.tree})
        if verdict.good:
            verdict = await asyncio.to_thread(kit.verifier.guard, verdict, progress)
    return verdict


def asked_for(kit: Kit) -> tuple[str, ...]:
    """The tests that the issue or the test command names."""
    return node_ids(f"{kit.task.issue}\n{kit.task.test_command or ''}")


def attempt_number(kit: Kit) -> int:
    """Return the number of the attempt under way, from 1.

    Each red verification of any branch has spent one; INCONCLUSIVE ones, and those that the machine alone is to blame for, spend none.
    """
    judged = (record.event.verdict for record in kit.log.records if isinstance(record.event, Verified))
    return 1 + sum(
        not (verdict.good or verdict.unable or verdict.kind is VerdictKind.INCONCLUSIVE) for verdict in judged
    )


def attempts_left(kit: Kit) -> int:
    """Return how many red verifications may still be made; below 1 there are none."""
    return kit.task.budget.attempts + 1 - attempt_number(kit)
