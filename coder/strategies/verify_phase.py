"""VERIFY phase, which asks no model."""

import asyncio

from coder.core.events import Verified
from coder.core.state import candidate_verdicts, unrelated_tests
from coder.core.values.candidate import Candidate, Patch
from coder.core.values.paths import extract_node_ids
from coder.core.values.verdict import Verdict, VerdictKind
from coder.session.context import SessionContext


async def judge_change(
    context: SessionContext, candidate: Candidate, patch: Patch, test_ids: tuple[str, ...]
) -> Verdict:
    """Verify a change and log the verdict.

    A change that an earlier good verdict covers is not verified again.
    """
    judgements = candidate_verdicts(context.log.records, candidate.id)
    known_verdict = next(
        (
            earlier
            for earlier in reversed(judgements)
            if earlier.tree == patch.tree and earlier.is_deliverable and set(test_ids) <= set(earlier.targets)
        ),
        None,
    )
    if known_verdict is not None and known_verdict is judgements[-1]:
        return known_verdict
    verdict = known_verdict or await verify_change(context, candidate, patch, test_ids)
    context.log.append(Verified(candidate=candidate.id, attempt=attempt_number(context), verdict=verdict))
    return verdict


async def verify_change(
    context: SessionContext, candidate: Candidate, patch: Patch, test_ids: tuple[str, ...]
) -> Verdict:
    """Return the verdict on a change, with additional checks of a good one, without logging it.

    The tests that the user asked for must be green as well, whatever `test_ids` names.
    """
    progress = context.log.progress_listener(candidate.id)
    target_tests = tuple(dict.fromkeys((*test_ids, *requested_tests(context))))
    async with context.rate_limiter.verification_slot():
        verdict = await asyncio.to_thread(context.verifier.verify, patch, target_tests, progress)
        verdict = verdict.model_copy(update={"tree": patch.tree})
        if verdict.is_deliverable and not verdict.cut_short:
            verdict = await asyncio.to_thread(context.verifier.assess_coverage, verdict, progress)
    return verdict


def requested_tests(context: SessionContext) -> tuple[str, ...]:
    """Return the tests that the issue or the test command names."""
    return extract_node_ids(f"{context.task.issue}\n{context.task.test_command or ''}")


def excluded_tests(context: SessionContext, candidate: Candidate) -> tuple[str, ...]:
    """Return the tests that the user or the model says are not about the issue: they are never its targets.

    The model cannot exclude a test that the user's test command names.
    """
    commanded_tests = extract_node_ids(context.task.test_command or "")
    by_model = unrelated_tests(context.log.records, candidate.id)
    return tuple(
        dict.fromkeys(
            (*context.task.unrelated_tests, *(test for test in by_model if test not in commanded_tests))
        )
    )


def attempt_number(context: SessionContext) -> int:
    """Return the number of the current attempt, from 1.

    Each failed verification of any branch spends one; INCONCLUSIVE ones and those that failed for the
    environment do not.
    """
    judgements = (
        record.event.verdict for record in context.log.records if isinstance(record.event, Verified)
    )
    return 1 + sum(
        not (
            verdict.is_deliverable
            or verdict.has_environment_problem
            or verdict.kind is VerdictKind.INCONCLUSIVE
        )
        for verdict in judgements
    )


def attempts_left(context: SessionContext) -> int:
    """Return how many failed verifications are still allowed; below 1 there are none."""
    return context.task.budget.attempts + 1 - attempt_number(context)
