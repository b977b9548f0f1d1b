"""The person's own look at a fix before it is delivered: whole, in part, or not at all."""

import asyncio

from coder.core.candidate import Candidate, Patch
from coder.core.errors import UserError
from coder.core.events import FilesChanged, Verified
from coder.core.hunks import hunks, rebuilt
from coder.core.state import named_tests
from coder.core.verdict import Verdict
from coder.loop.kit import Kit
from coder.tools.patching import PatchError, apply


async def review(kit: Kit, candidate: Candidate, patch: Patch, verdict: Verdict) -> tuple[Patch, Verdict] | None:
    """What the person accepts of a change, with the verdict on just that; None where it is nothing.

    A part of a change is another change: it is made anew in the candidate's worktree and verified again.

    Raises:
        UserError: the part does not fit without the rest.
    """
    accepted = await kit.approval.review(patch.diff)
    if len(accepted) == len(hunks(patch.diff)):
        return patch, verdict
    if not accepted:
        return None
    await asyncio.to_thread(kit.repository.rollback, candidate, candidate.base)
    try:
        await asyncio.to_thread(apply, rebuilt(patch.diff, accepted), candidate.worktree)
    except PatchError as error:
        raise UserError(f"What you accepted does not fit without the rest, so nothing was delivered. {error}") from None
    part = await asyncio.to_thread(kit.repository.patch, candidate)
    kit.log.append(FilesChanged(candidate=candidate.id, paths=part.paths, diff=part.diff))
    again = await asyncio.to_thread(kit.verifier.verify, part, named_tests(kit.log.records, candidate.id), kit.log.progress(candidate.id))
    again = again.model_copy(update={"tree": part.tree})
    kit.log.append(Verified(candidate=candidate.id, attempt=1, verdict=again))
    return part, again
