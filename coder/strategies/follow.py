"""Execution of a route: a table from (phase, outcome) to the next phase."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from coder.core.errors import LimitReached, ModelError, PatchError, UserError
from coder.core.events import FilesChanged, PhaseEntered
from coder.core.notes import Diagnosis, GiveUp
from coder.core.paths import is_bystander
from coder.core.phases import PhaseName
from coder.core.state import candidate_notes, named_tests
from coder.core.values import Candidate, Patch
from coder.core.verdict import Finding, TestReport, VerdictKind
from coder.patching import apply
from coder.session.context import SessionContext, Strategy
from coder.session.judging import (
    BESIDE,
    LEFT_OUT,
    attempt_number,
    attempts_left,
    judge_change,
    offer_missing_packages,
    refuse_missing_tests,
)
from coder.session.phase import PhaseSpec, run_phase
from coder.strategies.candidate_status import (
    has_source,
    is_abandoned,
    is_settled,
    log_diagnoses,
    start_over,
    was_asked_for_more,
)
from coder.strategies.phases import PHASE_SPECS

PhaseOutcome = bool | Literal["passing", "spent"]
"""Whether the phase succeeded; `passing` if so far nothing shows a fix, `spent` if no attempt is left."""
Route = Mapping[tuple[PhaseName, PhaseOutcome], PhaseName]
LOCATE_ROUTE: Route = {("locate", True): "reproduce"}
"""Shared trunk of all branches: find what to change, then the test that shows the issue."""
SINGLE_CHANGE_ROUTE: Route = {
    ("reproduce", True): "edit",
    ("reproduce", False): "edit",
    ("edit", True): "verify",
    ("verify", "passing"): "repair",
    ("repair", True): "verify",
}
"""Make one change and judge it; PASSING goes back to the model once."""
REPAIR_ROUTE: Route = {("diagnose", True): "repair", ("repair", True): "verify"}
"""Repair after a failed verdict, up to the next verdict."""
RETRY_ROUTE: Route = {**REPAIR_ROUTE, ("verify", False): "diagnose", ("verify", "spent"): "explain"}
CHANGE_ROUTE: Route = {("locate", True): "edit", ("edit", True): "verify", **RETRY_ROUTE}
"""A change that no failing test has to ask for."""
LINEAR_ROUTE: Route = {**LOCATE_ROUTE, **SINGLE_CHANGE_ROUTE, **RETRY_ROUTE}
"""Self-debugging loop; a missing row ends it, after a good verdict or with nothing left to try."""


def follow_route(
    route: Route, start: PhaseName = "locate", specs: Mapping[PhaseName, PhaseSpec] = PHASE_SPECS
) -> Strategy:
    """Return a strategy that follows `route` from `start` until attempts are spent or no row matches."""

    async def strategy(context: SessionContext, candidate: Candidate) -> Candidate:
        phase: PhaseName | None = start
        if start == "locate" and await _resumes_change(context, candidate):
            phase = route.get((start, True))
        while phase is not None:
            outcome = await _step(context, candidate, phase, specs)
            phase = None if outcome is None else route.get((phase, outcome))
        return candidate

    return strategy


async def _resumes_change(context: SessionContext, candidate: Candidate) -> bool:
    """Tell whether a resumed request had changed source, which is judged before a model is asked."""
    if context.continued is None or not context.continued.is_resumed:
        return False
    context.workspace(candidate)  # created here, as phases that read would, since it needs the event loop
    return has_source(await context.read_patch(candidate))


async def answer_question(context: SessionContext, candidate: Candidate) -> Candidate:
    """Let the model look until it answers; a continued conversation keeps its system prompt."""
    asking = context if context.has_conversation else replace(context, system="system_ask")
    await run_phase(asking, candidate, PHASE_SPECS["answer"], 1)
    return candidate


async def _step(
    context: SessionContext, candidate: Candidate, phase: PhaseName, specs: Mapping[PhaseName, PhaseSpec]
) -> PhaseOutcome | None:
    """Run one phase and return its outcome; None ends the route."""
    attempt = attempt_number(context)
    if phase == "verify":
        return await run_verify_phase(context, candidate, attempt)
    if phase == "explain":
        await _explain(context, candidate, min(attempt, context.task.budget.attempts))
        return None
    may_restart = context.task.mode != "build"  # it would undo the components, which others have written
    note = await run_phase(context, candidate, specs[phase], attempt)
    if isinstance(note, Diagnosis) and note.start_over and may_restart:
        await start_over(context, candidate)
    return None if isinstance(note, GiveUp) else note is not None


async def run_verify_phase(
    context: SessionContext, candidate: Candidate, attempt: int
) -> PhaseOutcome | None:
    """Return whether the change is good; None if it could not be tested.

    If the other branches have spent all attempts, the change is not judged.
    """
    async with context.models.rate_limiter.attempt_slot(lambda: attempts_left(context)) as is_granted:
        if not is_granted:
            return "spent"
        context.log.append(PhaseEntered(candidate=candidate.id, phase="verify", attempt=attempt))
        patch = await context.read_patch(candidate)
        test_ids = named_tests(context.log.records, candidate.id)
        verdict = await judge_change(context, candidate, patch, test_ids)
        lacks_packages = verdict.has_environment_problem or verdict.kind is VerdictKind.NOT_TESTED
        if lacks_packages and await offer_missing_packages(
            context, TestReport(command="", results=verdict.still_red)
        ):
            verdict = await judge_change(context, candidate, patch, test_ids)
    if verdict.kind is VerdictKind.NOT_TESTED:
        return None
    if verdict.is_deliverable:
        is_open = context.task.mode == "fix" and not is_settled(context, candidate)
        return "passing" if is_open and not was_asked_for_more(context, candidate) else True
    log_diagnoses(context, candidate)
    return False if attempts_left(context) >= 1 else "spent"


async def _explain(context: SessionContext, candidate: Candidate, attempt: int) -> None:
    """Ask the summariser for a summary; the report does not depend on it."""
    try:
        await run_phase(replace(context, role="summariser"), candidate, PHASE_SPECS["explain"], attempt)
    except (LimitReached, ModelError) as error:
        context.log.warn(f"The model was not asked for a last word: {error}")


def run_in_sequence(*strategies: Strategy) -> Strategy:
    """Return a strategy that runs the next strategy while there is still something to do."""

    async def strategy(context: SessionContext, candidate: Candidate) -> Candidate:
        for part in strategies:
            candidate = await part(context, candidate)
            if (
                is_abandoned(context, candidate)
                or is_settled(context, candidate)
                or not candidate_notes(context.log.records, candidate.id)
            ):
                break
        return candidate

    return strategy


def judge_existing_change(
    change: Patch, test_ids: tuple[str, ...] = (), *, exclusions: tuple[str, ...] = ()
) -> Strategy:
    """Return a strategy that judges one existing change, given as a tree or else as a diff.

    `exclusions` is uncommitted work that the change lacks, for which it is FIXED at most.
    """

    async def strategy(context: SessionContext, candidate: Candidate) -> Candidate:
        await asyncio.to_thread(_apply_change, context, candidate, change)
        patch = await context.read_patch(candidate)
        context.log.append(FilesChanged(candidate=candidate.id, paths=patch.paths, diff=patch.diff))
        await refuse_missing_tests(context, candidate, patch)
        context.log.append(PhaseEntered(candidate=candidate.id, phase="verify", attempt=1))
        findings, notes = _describe_exclusions(exclusions)
        await judge_change(context, candidate, patch, test_ids, findings=findings, notes=notes)
        return candidate

    return strategy


def _describe_exclusions(exclusions: tuple[str, ...]) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """Return a finding for each part of the work that was left out, and one note on what lies beside it."""
    beside = [exclusion for exclusion in exclusions if is_bystander(exclusion)]
    findings = tuple(
        Finding(rule=LEFT_OUT, effect="open", text=f"not judged: {exclusion}")
        for exclusion in exclusions
        if exclusion not in beside
    )
    return findings, (f"{BESIDE}{', '.join(beside)}",) if beside else ()


def _apply_change(context: SessionContext, candidate: Candidate, change: Patch) -> None:
    if change.tree:
        context.repository.rollback(candidate, change.tree)
        return
    try:
        apply(change.diff, candidate.worktree)
    except PatchError as error:
        raise UserError(f"The diff does not fit {context.repository.base[:10]}: {error}") from None
