"""Restart of an attempt: a failed change is rolled back, its tests stay, and another way is tried."""

import asyncio

from coder.core.events import Verified
from coder.core.state import lineage
from coder.core.values.candidate import Candidate, Patch
from coder.core.values.paths import is_test_path
from coder.core.values.verdict import TestResult
from coder.patching import apply
from coder.patching.git_hunks import hunks, rebuilt
from coder.session.context import Kit
from coder.session.phase import keep
from coder.session.turn import say
from coder.strategies.diagnosis import newest_diagnoses, reds

DIFF_CHARACTERS = 4_000


def is_stuck(context: Kit, candidate: Candidate) -> bool:
    """Tell whether the two newest changes failed in the same tests with the same messages.

    False if the diagnosis of a failure has changed since.
    """
    failures: list[frozenset[tuple[str, str]]] = []
    for record in lineage(context.log.records, candidate.id):
        match record.event:
            case Verified(verdict=verdict) if not verdict.good:
                failures.append(frozenset((result.id, _headline(result)) for result in reds(verdict)))
            case _:
                pass
    if len(failures) < 2 or failures[-1] != failures[-2]:
        return False
    return all(diagnosis.was is None for diagnosis in newest_diagnoses(context, candidate))


def _headline(result: TestResult) -> str:
    return result.failure.message.partition("\n")[0] if result.failure else result.outcome


async def start_over(context: Kit, candidate: Candidate) -> None:
    """Roll the candidate back to its base and its tests, and tell the model."""
    failed_patch = await asyncio.to_thread(context.repository.patch, candidate)
    await asyncio.to_thread(context.repository.rollback, candidate, candidate.base)
    await asyncio.to_thread(bring_tests, candidate, failed_patch)
    await keep(context, candidate, await asyncio.to_thread(context.repository.patch, candidate))
    tests = any(map(is_test_path, failed_patch.paths))
    say(
        context,
        candidate,
        context.prompts.render("start_over", diff=failed_patch.diff[:DIFF_CHARACTERS], tests=tests),
    )


def bring_tests(candidate: Candidate, patch: Patch) -> None:
    """Apply the part of a patch that changes tests, in a worktree that equals the base."""
    tests = [number for number, hunk in enumerate(hunks(patch.diff)) if is_test_path(hunk.path)]
    if tests:
        apply(rebuilt(patch.diff, tests), candidate.worktree)
