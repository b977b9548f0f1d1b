"""Short search for a repair before the model is asked, if a test already fails; its findings become hints."""

import asyncio
from dataclasses import replace

from coder.core.events import FilesChanged, NoteMade, PhaseEntered, Verified
from coder.core.notes import Done, Sites
from coder.core.values.candidate import Candidate
from coder.core.values.proposal import Proposal, Proposals
from coder.patching import apply
from coder.session.baseline import measure_baseline
from coder.session.context import SessionContext, Strategy
from coder.strategies.offline import propose_edits, tests_matching_issue
from coder.strategies.verify_phase import attempt_number, requested_tests, verify_change

FIRST_SECONDS = 10.0
OFFLINE_NOTE = "written by the built-in engine; the model was not asked"


def offline_first(strategy: Strategy, *, seconds: float = FIRST_SECONDS) -> Strategy:
    """Return a strategy that first runs a short search, and asks the model unless an edit is PROVEN.

    Other findings go into the first message as unproven hints. `seconds` apply to the baseline, and again to
    the search.
    """

    async def search_first(context: SessionContext, candidate: Candidate) -> Candidate:
        tests = (
            ()
            if context.task.plan_only or context.task.plan
            else await _failing_issue_tests(context, candidate, seconds)
        )
        if not tests:
            return await strategy(context, candidate)
        context.log.append(PhaseEntered(candidate=candidate.id, phase="locate", attempt=1))
        search_result = await propose_edits(context, candidate, tests, max_seconds=seconds)
        if (
            search_result.proposals
            and not search_result.alternatives
            and await _prove(context, candidate, search_result.proposals[0], search_result, tests)
        ):
            return candidate
        return await strategy(replace(context, hints=search_result), candidate)

    return search_first


async def _failing_issue_tests(
    context: SessionContext, candidate: Candidate, seconds: float
) -> tuple[str, ...]:
    """Return tests that fail for the right reason and that the issue names or shares a word with."""
    report = await measure_baseline(context, candidate, wait_seconds=seconds)
    reds = (
        tuple(result.id for result in report.project_failures)
        if report is not None and report.problem is None
        else ()
    )
    named_tests = requested_tests(context, candidate) if reds else ()
    issue_tests = named_tests or tests_matching_issue(context.task.issue, reds)
    if not issue_tests:
        return ()
    patch = await asyncio.to_thread(context.repository.candidate_patch, candidate)
    return (await asyncio.to_thread(context.verifier.check_reproduction, patch, issue_tests)).tests


async def _prove(
    context: SessionContext,
    candidate: Candidate,
    proposal: Proposal,
    proposals: Proposals,
    tests: tuple[str, ...],
) -> bool:
    """Tell whether the proposal is good enough; else log nothing, since it is no attempt of the model's."""
    await asyncio.to_thread(apply, proposal.diff, candidate.worktree)
    patch = await asyncio.to_thread(context.repository.candidate_patch, candidate)
    verdict = await verify_change(context, candidate, patch, tests)
    if not verdict.is_good_enough:
        await asyncio.to_thread(context.repository.rollback, candidate, candidate.base)
        return False
    verdict = verdict.model_copy(update={"notes": (*verdict.notes, OFFLINE_NOTE)})
    places = tuple(suspect.place for suspect in proposals.suspects)
    context.log.append(
        NoteMade(
            candidate=candidate.id,
            phase="locate",
            note=Sites(summary=proposals.note, places=places, tests=tests),
        )
    )
    attempt = attempt_number(context)
    context.log.append(PhaseEntered(candidate=candidate.id, phase="edit", attempt=attempt))
    context.log.append(FilesChanged(candidate=candidate.id, paths=patch.paths, diff=patch.diff))
    context.log.append(NoteMade(candidate=candidate.id, phase="edit", note=Done(summary=proposal.summary)))
    context.log.append(PhaseEntered(candidate=candidate.id, phase="verify", attempt=attempt))
    context.log.append(Verified(candidate=candidate.id, attempt=attempt, verdict=verdict))
    return True
