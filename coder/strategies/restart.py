"""Starting over: a failed change is taken back, its tests stay, and another way is tried."""

import asyncio

from coder.core.candidate import Candidate, Patch
from coder.core.hunks import hunks, rebuilt
from coder.core.paths import is_test_path
from coder.core.state import lineage
from coder.loop.kit import Kit
from coder.loop.phase import keep
from coder.loop.turn import say
from coder.strategies.diagnosis import diagnoses
from coder.tools.patching import apply

FAILED_ALIKE = 2
"""Red verifications in a row that say the same, after which more of the same change is not worth trying."""
DIFF_CHARACTERS = 4_000


def is_stuck(kit: Kit, candidate: Candidate) -> bool:
    """Has the newest change failed in no other way than those before it?"""
    found = diagnoses(lineage(kit.log.records, candidate.id), candidate.id)
    return bool(found) and all(diagnosed.attempts >= FAILED_ALIKE and diagnosed.was is None for diagnosed in found)


async def start_over(kit: Kit, candidate: Candidate) -> None:
    """Roll the candidate back to its base and its tests, and say so to the model."""
    failed = await asyncio.to_thread(kit.repository.patch, candidate)
    await asyncio.to_thread(kit.repository.rollback, candidate, candidate.base)
    await asyncio.to_thread(bring_tests, candidate, failed)
    await keep(kit, candidate, await asyncio.to_thread(kit.repository.patch, candidate))
    say(kit, candidate, kit.prompts.render("start_over", diff=failed.diff[:DIFF_CHARACTERS]))


def bring_tests(candidate: Candidate, patch: Patch) -> None:
    """Apply the part of a patch that changes tests, in a worktree that holds nothing but the base."""
    tests = [number for number, hunk in enumerate(hunks(patch.diff)) if is_test_path(hunk.path)]
    if tests:
        apply(rebuilt(patch.diff, tests), candidate.worktree)
