"""Restart of an attempt: a failed change is rolled back, its tests stay, and another way is tried."""

import asyncio

from coder.core.events import Verified
from coder.core.state import candidate_records
from coder.core.values.candidate import Candidate, Patch
from coder.core.values.paths import is_test_path
from coder.core.values.verdict import TestResult
from coder.patching import apply
from coder.patching.git_hunks import rebuild_diff, split_git_diff
from coder.session.context import SessionContext
from coder.session.phase import record_change
from coder.session.turn import add_user_message
from coder.strategies.diagnosis import failing_results, newest_diagnoses

DIFF_CHARACTERS = 4_000


def is_stuck(context: SessionContext, candidate: Candidate) -> bool:
    """Tell whether the two newest changes failed in the same tests with the same messages.

    False if the diagnosis of a failure has changed since.
    """
    failures: list[frozenset[tuple[str, str]]] = []
    for record in candidate_records(context.log.records, candidate.id):
        match record.event:
            case Verified(verdict=verdict) if not verdict.is_deliverable:
                failures.append(
                    frozenset((result.id, _headline(result)) for result in failing_results(verdict))
                )
            case _:
                pass
    if len(failures) < 2 or failures[-1] != failures[-2]:
        return False
    return all(diagnosis.was is None for diagnosis in newest_diagnoses(context, candidate))


def _headline(result: TestResult) -> str:
    return result.failure.message.partition("\n")[0] if result.failure else result.outcome


async def start_over(context: SessionContext, candidate: Candidate) -> None:
    """Roll the candidate back to its base and its tests, and tell the model."""
    failed_patch = await asyncio.to_thread(context.repository.candidate_patch, candidate)
    await asyncio.to_thread(context.repository.rollback, candidate, candidate.base)
    await asyncio.to_thread(apply_test_hunks, candidate, failed_patch)
    await record_change(
        context, candidate, await asyncio.to_thread(context.repository.candidate_patch, candidate)
    )
    tests = any(map(is_test_path, failed_patch.paths))
    add_user_message(
        context,
        candidate,
        context.prompts.render("start_over", diff=failed_patch.diff[:DIFF_CHARACTERS], tests=tests),
    )


def apply_test_hunks(candidate: Candidate, patch: Patch) -> None:
    """Apply the part of a patch that changes tests, in a worktree that equals the base."""
    tests = [number for number, hunk in enumerate(split_git_diff(patch.diff)) if is_test_path(hunk.path)]
    if tests:
        apply(rebuild_diff(patch.diff, tests), candidate.worktree)
