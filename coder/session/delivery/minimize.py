"""Leaves out of a proven change what changes no verdict; what is left is proven again, cold."""

import asyncio
from collections.abc import Iterator, Sequence

from coder.core.values.candidate import Candidate, Patch
from coder.core.values.verdict import Verdict
from coder.patching import PatchError
from coder.patching.git_hunks import hunks
from coder.session.context import Kit
from coder.session.delivery.removable_hunks import droppable, place_of
from coder.session.delivery.review import announced, part_of

MOST_ALONE = 5
"""So many hunks are tried one by one, each for a whole verification, where not all of them can go."""


async def minimised(kit: Kit, candidate: Candidate, patch: Patch, verdict: Verdict) -> tuple[Patch, Verdict]:
    """The smallest part of the change found that keeps the proof, in the candidate's worktree, and the verdict on just that."""
    idle = droppable(patch.diff, verdict.guarded, wording=not kit.task.keep_comments)
    every = range(len(hunks(patch.diff)))
    best, dropped = (patch, verdict), frozenset[int]()
    for wanted in _tries(idle):
        if dropped == frozenset(idle):
            break
        left = [number for number in every if number not in dropped | wanted]
        part = await _holding(kit, candidate, patch, left, verdict)
        if part is not None:
            best, dropped = part, dropped | wanted
    await asyncio.to_thread(kit.repository.rollback, candidate, best[0].tree)
    if not dropped:
        return patch, verdict
    smaller, again = best
    again = await asyncio.to_thread(kit.verifier.guard, again, kit.log.progress(candidate.id))
    places = ", ".join(place_of(hunks(patch.diff)[number]) for number in sorted(dropped))
    again = again.model_copy(
        update={"notes": (*again.notes, f"left out, for it changes no verdict: {places}")}
    )
    announced(kit, candidate, smaller, again)
    return smaller, again


def _tries(idle: Sequence[int]) -> Iterator[frozenset[int]]:
    """All at once, then each alone, from the end."""
    if idle:
        yield frozenset(idle)
    if len(idle) > 1:
        yield from (frozenset({number}) for number in reversed(idle[-MOST_ALONE:]))


async def _holding(
    kit: Kit, candidate: Candidate, patch: Patch, left: Sequence[int], verdict: Verdict
) -> tuple[Patch, Verdict] | None:
    """A part of the change with its own verdict; None where that is worth less than the whole change's."""
    if not left:
        return None
    try:
        part, again = await part_of(kit, candidate, patch, left)
    except PatchError:
        return None
    return (
        (part, again) if again.kind is verdict.kind and set(verdict.targets) <= set(again.targets) else None
    )
