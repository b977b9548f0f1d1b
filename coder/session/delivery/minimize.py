"""Minimization of a proven change: hunks that change no verdict are removed, and the rest is proven again."""

import asyncio
from collections.abc import Iterator, Sequence

from coder.core.values.candidate import Candidate, Patch
from coder.core.values.verdict import Verdict
from coder.patching import PatchError
from coder.patching.git_hunks import split_git_diff
from coder.session.context import SessionContext
from coder.session.delivery.removable_hunks import hunk_location, removable_hunk_numbers
from coder.session.delivery.review import log_partial_change, verify_hunks

MAX_SINGLE_REMOVALS = 5
"""Number of hunks to try one by one, each with a whole verification, if not all of them can be removed."""


async def minimize_change(
    context: SessionContext, candidate: Candidate, patch: Patch, verdict: Verdict
) -> tuple[Patch, Verdict]:
    """Return the smallest part of the change that keeps the proof, and its verdict.

    The part is left in the candidate's worktree.
    """
    removable = removable_hunk_numbers(patch.diff, verdict.guarded, wording=True)
    all_numbers = range(len(split_git_diff(patch.diff)))
    best, removed_numbers = (patch, verdict), frozenset[int]()
    for attempt in _removal_attempts(removable):
        if removed_numbers == frozenset(removable):
            break
        remaining = [number for number in all_numbers if number not in removed_numbers | attempt]
        part = await _verify_part(context, candidate, patch, remaining, verdict)
        if part is not None:
            best, removed_numbers = part, removed_numbers | attempt
    await asyncio.to_thread(context.repository.rollback, candidate, best[0].tree)
    if not removed_numbers:
        return patch, verdict
    smaller, new_verdict = best
    new_verdict = await asyncio.to_thread(
        context.verifier.assess_coverage, new_verdict, context.log.progress_listener(candidate.id)
    )
    places = ", ".join(
        hunk_location(split_git_diff(patch.diff)[number]) for number in sorted(removed_numbers)
    )
    new_verdict = new_verdict.model_copy(
        update={"notes": (*new_verdict.notes, f"left out, for it changes no verdict: {places}")}
    )
    log_partial_change(context, candidate, smaller, new_verdict)
    return smaller, new_verdict


def _removal_attempts(removable: Sequence[int]) -> Iterator[frozenset[int]]:
    """Yield sets of hunks to remove: all at once, then each alone, from the end."""
    if removable:
        yield frozenset(removable)
    if len(removable) > 1:
        yield from (frozenset({number}) for number in reversed(removable[-MAX_SINGLE_REMOVALS:]))


async def _verify_part(
    context: SessionContext, candidate: Candidate, patch: Patch, remaining: Sequence[int], verdict: Verdict
) -> tuple[Patch, Verdict] | None:
    """Return a part of the change with its own verdict; None if the whole change has a better one."""
    if not remaining:
        return None
    try:
        part, new_verdict = await verify_hunks(context, candidate, patch, remaining)
    except PatchError:
        return None
    return (
        (part, new_verdict)
        if new_verdict.kind is verdict.kind and set(verdict.targets) <= set(new_verdict.targets)
        else None
    )
