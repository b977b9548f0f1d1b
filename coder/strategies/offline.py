"""Repair without a model: a proposer searches for edits, and the verifier judges them."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from coder.core.events import FilesChanged, NoteMade, PhaseEntered, Verified
from coder.core.notes import Done, GiveUp, Note, Sites
from coder.core.phases import PhaseName
from coder.core.values import Candidate, Proposal, Proposals
from coder.core.verdict import ReproductionResult, TestResult, Verdict, VerdictKind
from coder.patching import apply
from coder.retrieval.issue_terms import extract_issue_terms
from coder.retrieval.orientation import related_failures
from coder.session.baseline import measure_baseline
from coder.session.context import SessionContext, Strategy
from coder.strategies.verify_phase import (
    attempt_number,
    examine_change,
    judge_change,
    requested_tests,
    verify_change,
)

SEARCH_SECONDS = 120.0
COUNTED_SECONDS = 600.0
"""Time limit if candidates are counted: only a safeguard, so that a slow machine finds the same edits."""
SEARCH_SHARE = 0.6
"""Share of the remaining time for the search, since the result must still be proven."""
MAX_ATTEMPTS = 3
MAX_NEW_GUARDS = 20
"""Most broken tests to add as guards after each search; these suffice to exclude similar edits."""
NEEDS_A_TEST = (
    "Repair without a model needs a test that fails because of the issue, and none does. Name one in the "
    "issue or with --test "
    "(such as --test 'pytest tests/test_x.py::test_y'), write one, or configure a model."
)
DECIDING_TEST_HINT = "A test of a call in which they differ would decide."
SINGLE_EDIT_HINT = "If it is what you want, apply it by hand; a further test of the same fault speaks for it."
NARROWING_HINT = (
    "A further failing test, smaller than these, narrows the place down; more than one small edit needs a "
    "model."
)


def search_repair() -> Strategy:
    """Return a strategy that tries proposals in their order and keeps the first that is FIXED.

    Tests that a proposal broke must stay green in the next search.
    """

    async def strategy(context: SessionContext, candidate: Candidate) -> Candidate:
        _log_phase(context, candidate, "locate")
        failing = await failing_tests(context, candidate)
        attempts = min(MAX_ATTEMPTS, context.task.budget.attempts)
        tests, guards = failing.tests, tuple[str, ...]()
        tried_proposals: list[Proposal] = []
        while True:
            search_result = await propose_edits(context, candidate, tests, guards=guards)
            matching_tests = _related_tests(
                context.task.issue, [TestResult(id=test, outcome="failed") for test in tests]
            )
            if not search_result.proposals and matching_tests not in (
                (),
                tests,
            ):  # there may be several faults, and the issue names one of them
                tests, search_result = (
                    matching_tests,
                    await propose_edits(context, candidate, matching_tests, guards=guards),
                )
            places = tuple(suspect.place for suspect in search_result.suspects)
            if not tests:
                note: Note = GiveUp(summary=_missing_test_message(failing), places=places)
                _log_note(context, candidate, "locate", note)
                return candidate
            note = Sites(summary=_describe_proposals(search_result), places=places, tests=tests)
            _log_note(context, candidate, "locate", note)
            broken_tests: list[str] = []
            for proposal in [
                untried for untried in search_result.proposals if untried not in tried_proposals
            ][: attempts - len(tried_proposals)]:
                verdict = await _judge_proposal(context, candidate, proposal, tests)
                is_untested = verdict.kind is VerdictKind.NOT_TESTED
                if is_untested or verdict.is_good_enough or verdict.untied:
                    return candidate
                tried_proposals.append(proposal)
                broken_tests += [result.id for result in verdict.broken if result.id not in guards]
            if not broken_tests or len(tried_proposals) >= attempts:
                break
            guards = (*guards, *broken_tests[:MAX_NEW_GUARDS])
            _log_phase(context, candidate, "locate")
        _log_note(
            context, candidate, "repair", GiveUp(summary=_failure_summary(search_result), places=places)
        )
        return candidate

    return strategy


async def failing_tests(context: SessionContext, candidate: Candidate) -> ReproductionResult:
    """Return tests that fail on the base for the right reason, and why others do not count.

    Tests that the issue or the command names, else all. If some are named, do not wait for the baseline: the
    session measures it during the search.
    """
    named_tests = requested_tests(context, candidate)
    report = None if named_tests else await measure_baseline(context, candidate, whole=True)
    tests = named_tests or (tuple(result.id for result in report.project_failures) if report else ())
    if not tests:
        return ReproductionResult()
    patch = await asyncio.to_thread(context.repository.candidate_patch, candidate)
    return await asyncio.to_thread(context.verifier.check_reproduction, patch, tests)


def _missing_test_message(failing: ReproductionResult) -> str:
    if not failing.rejected:
        return NEEDS_A_TEST
    return f"No failing test shows the bug: {'; '.join(failing.rejected[:2]).rstrip('.')}.\n{NEEDS_A_TEST}"


def _related_tests(issue: str, failing: Sequence[TestResult]) -> tuple[str, ...]:
    return tuple(result.id for result in related_failures(extract_issue_terms(issue), failing))


async def propose_edits(
    context: SessionContext,
    candidate: Candidate,
    tests: Sequence[str],
    *,
    max_seconds: float | None = None,
    guards: Sequence[str] = (),
) -> Proposals:
    """Run the proposer for a share of the remaining time, at most `max_seconds`."""
    remaining = context.budget.seconds_left
    max_seconds = max_seconds or (
        SEARCH_SECONDS if context.task.budget.candidates is None else COUNTED_SECONDS
    )
    seconds = max_seconds if remaining is None else min(max_seconds, remaining * SEARCH_SHARE)
    may_write = context.workspace(candidate).may_write
    progress = context.log.progress_listener(candidate.id)

    def search() -> Proposals:
        with context.repository.restore_on_exit(candidate):
            return context.make_proposer().propose(
                candidate.worktree,
                tests,
                context.task.issue,
                seconds=seconds,
                progress=progress,
                may_write=may_write,
                guards=guards,
            )

    return await asyncio.to_thread(search)


async def _judge_proposal(
    context: SessionContext, candidate: Candidate, proposal: Proposal, tests: tuple[str, ...]
) -> Verdict:
    """Apply and judge a proposal; roll it back unless it is a fix, or one but for its tie to the issue."""
    _log_phase(context, candidate, "edit")
    await asyncio.to_thread(apply, proposal.diff, candidate.worktree)
    patch = await asyncio.to_thread(context.repository.candidate_patch, candidate)
    context.log.append(FilesChanged(candidate=candidate.id, paths=patch.paths, diff=patch.diff))
    _log_note(context, candidate, "edit", Done(summary=proposal.summary))
    _log_phase(context, candidate, "verify")
    verdict = await judge_change(context, candidate, patch, tests)
    if not verdict.is_good_enough and not verdict.untied:
        await asyncio.to_thread(context.repository.rollback, candidate, candidate.base)
        context.log.append(FilesChanged(candidate=candidate.id, paths=(), diff=""))
    return verdict


def _describe_proposals(proposals: Proposals) -> str:
    """Describe the search and the other edits that pass the tests."""
    if not proposals.proposals or not proposals.alternatives:
        return proposals.note
    others = map(_format_proposal, proposals.alternatives)
    return "\n".join([proposals.note, "Other candidates that pass, and where they differ:", *others])


def _format_proposal(proposal: Proposal) -> str:
    return f"- {proposal.summary}{f' ({proposal.apart})' if proposal.apart else ''}"


def _failure_summary(proposals: Proposals) -> str:
    suspects = ", ".join(suspect.place.rpartition("::")[2] for suspect in proposals.suspects[:3])
    where = f" The fault is most likely in {suspects}." if suspects else ""
    if proposals.proposals:
        return f"No proposal was proven ({proposals.note}).{where}"
    if proposals.alternatives:
        alternatives = "\n\n".join(
            f"{_format_proposal(alternative)}\n{alternative.diff}" for alternative in proposals.alternatives
        )
        found = (
            "Several edits turn the failing tests green, and none can be told to be right"
            if len(proposals.alternatives) > 1
            else "One edit turns the failing tests green, and too little shows that it is right"
        )
        hint = DECIDING_TEST_HINT if len(proposals.alternatives) > 1 else SINGLE_EDIT_HINT
        return f"{found} ({proposals.note}).{where} {hint}\n\n{alternatives}"
    missing = f"No simple edit was found that turns the failing tests green ({proposals.note})."
    return f"{missing}{where} {NARROWING_HINT}"


def _log_phase(context: SessionContext, candidate: Candidate, phase: PhaseName) -> None:
    context.log.append(PhaseEntered(candidate=candidate.id, phase=phase, attempt=attempt_number(context)))


def _log_note(context: SessionContext, candidate: Candidate, phase: PhaseName, note: Note) -> None:
    context.log.append(NoteMade(candidate=candidate.id, phase=phase, note=note))


FIRST_SECONDS = 10.0
OFFLINE_NOTE = "written by the built-in engine; the model was not asked"


def offline_first(strategy: Strategy, *, seconds: float = FIRST_SECONDS) -> Strategy:
    """Return a strategy that first runs a short search, and asks the model unless an edit is FIXED.

    Other findings go into the first message as unproven hints. The search takes at most `seconds`.
    """

    async def search_first(context: SessionContext, candidate: Candidate) -> Candidate:
        tests = (
            ()
            if context.task.plan_only or context.task.plan
            else await _failing_issue_tests(context, candidate)
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


async def _failing_issue_tests(context: SessionContext, candidate: Candidate) -> tuple[str, ...]:
    """Return tests that fail for the right reason and that the issue names or is related to."""
    report = await measure_baseline(context, candidate, wait_seconds=0.1)  # the session has waited for it
    reds = report.project_failures if report is not None and report.problem is None else ()
    named_tests = requested_tests(context, candidate) if reds else ()
    issue_tests = named_tests or _related_tests(context.task.issue, reds)
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
    if verdict.is_examinable:
        verdict = await examine_change(context, candidate, verdict)
    if not verdict.is_good_enough:
        await asyncio.to_thread(context.repository.rollback, candidate, candidate.base)
        return False
    verdict = verdict.model_copy(update={"notes": (*verdict.notes, OFFLINE_NOTE)})
    places = tuple(suspect.place for suspect in proposals.suspects)
    note = Sites(summary=proposals.note, places=places, tests=tests)
    _log_note(context, candidate, "locate", note)
    attempt = attempt_number(context)
    _log_phase(context, candidate, "edit")
    context.log.append(FilesChanged(candidate=candidate.id, paths=patch.paths, diff=patch.diff))
    _log_note(context, candidate, "edit", Done(summary=proposal.summary))
    _log_phase(context, candidate, "verify")
    context.log.append(Verified(candidate=candidate.id, attempt=attempt, verdict=verdict))
    return True
