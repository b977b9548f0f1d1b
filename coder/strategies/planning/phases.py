"""Phases of planning: making a plan, revising it, and executing its steps."""

import asyncio

from coder.core.events import CandidateForked, NoteMade, PhaseEntered
from coder.core.notes import Done, GiveUp, Note, Plan, Step
from coder.core.phases import EDIT, PLAN
from coder.core.state import candidate_messages, candidate_verdicts
from coder.core.values.candidate import Candidate
from coder.core.values.paths import extract_node_ids, is_test_path
from coder.core.values.plan import format_plan
from coder.session.context import SessionContext
from coder.session.phase import PhaseSpec, PhaseState, run_phase
from coder.session.turn import add_user_message
from coder.strategies.phases import PHASE_SPECS
from coder.strategies.review.preflight import preflight_objections

DIFF_CHARACTERS = 6_000


def fork_planner(context: SessionContext, candidate: Candidate) -> Candidate:
    """Fork a reader of the candidate's worktree with a conversation of its own."""
    planner = candidate.model_copy(update={"id": f"{candidate.id}/plan"})
    context.log.append(CandidateForked(candidate=planner.id, role="planner", approach="plan"))
    return planner


async def obtain_plan(context: SessionContext, planner: Candidate) -> Note | None:
    """Return the initial plan: the user's own, or the planner's after the user's review."""
    if context.task.plan is not None:
        context.log.append(PhaseEntered(candidate=planner.id, phase="plan", attempt=1))
        await _adopt(context, planner, context.task.plan)
        return context.task.plan
    plan = await run_phase(context, planner, planning_phase(), 1)
    if not isinstance(plan, Plan) or not context.needs_review:
        return plan
    approved_plan = await context.approval.review_plan(plan)
    if approved_plan not in (plan, None):
        await _adopt(context, planner, approved_plan)
    return approved_plan or GiveUp(summary="You did not want this plan, so nothing was changed.")


async def _adopt(context: SessionContext, planner: Candidate, plan: Plan) -> None:
    """Tell the planner of a plan that is not its own, since it will be asked about the steps."""
    message = context.prompts.render("plan_given", plan=format_plan(plan))
    if not candidate_messages(context.log.records, planner.id):
        message = f"{await PHASE_SPECS['locate'].opening(context, planner)}\n\n{message}"
    add_user_message(context, planner, message)
    context.log.append(NoteMade(candidate=planner.id, phase="plan", note=plan))


def planning_phase() -> PhaseSpec:
    """Return the phase that ends with the whole plan."""

    async def opening(context: SessionContext, planner: Candidate) -> str:
        return f"{await PHASE_SPECS['locate'].opening(context, planner)}\n\n{context.prompts.render('plan')}"

    async def settle(_context: SessionContext, _planner: Candidate, state: PhaseState) -> Note | str | None:
        if isinstance(state.note, Plan) and not state.note.steps:
            return "A plan needs at least one step: give `steps`."
        return state.note

    return PhaseSpec(phase=PLAN, opening=opening, settle=settle)


def replanning_phase(
    candidate: Candidate,
    step: Step,
    remaining_steps: tuple[Step, ...],
    failure: str,
    *,
    remaining_attempts: int,
) -> PhaseSpec:
    """Return the phase that plans the remaining work after a step or the whole change failed."""

    async def opening(context: SessionContext, _candidate: Candidate) -> str:
        patch = await asyncio.to_thread(context.repository.candidate_patch, candidate)
        unplanned_paths = [path for path in patch.paths if step.files and path not in step.files]
        diff = patch.diff[:DIFF_CHARACTERS]
        return context.prompts.render(
            "step_failed",
            step=step,
            rest=remaining_steps,
            failed=failure,
            diff=diff,
            beside=unplanned_paths,
            left=remaining_attempts,
        )

    async def settle(_context: SessionContext, _planner: Candidate, state: PhaseState) -> Note | str | None:
        if isinstance(state.note, Plan) and not state.note.steps:
            return "What is left must change, for it failed as it was planned: give `steps`, or give up."
        return state.note

    return PhaseSpec(phase=PLAN, opening=opening, settle=settle)


async def check_failure(context: SessionContext, candidate: Candidate, step: Step) -> str:
    """Return how the tests that a step names fail in the candidate's worktree; empty if they pass.

    A step that changes nothing but tests is not checked, since a test made before its fix fails.
    """
    tests = extract_node_ids(step.check)
    if not tests or all(is_test_path(path) for path in step.files):
        return ""
    report = await asyncio.to_thread(
        context.workspace(candidate).run, tests, context.log.progress_listener(candidate.id)
    )
    if report.problem:
        return f"Its check could not be run: {report.problem.text}"
    failures = [
        f"{result.id}: {result.failure.message[:300]}" if result.failure else result.id
        for result in report.failures
    ]
    return "\n".join(["Its check fails.", *failures]) if failures else ""


def step_phase(plan: Plan, step: Step, *, failure: str = "") -> PhaseSpec:
    """Return the phase that ends when the executor changed something for this step.

    `failure` describes the failure of the work before it.
    """

    async def opening(context: SessionContext, candidate: Candidate) -> str:
        message = context.prompts.render("step", plan=plan, step=step, failed=failure)
        if candidate_messages(context.log.records, candidate.id):
            return message
        return f"{await PHASE_SPECS['locate'].opening(context, candidate)}\n\n{message}"

    async def settle(context: SessionContext, candidate: Candidate, state: PhaseState) -> Note | str | None:
        judgements = candidate_verdicts(context.log.records, candidate.id)
        if state.entry or isinstance(state.note, GiveUp):
            return None if state.entry else state.note
        if state.changed and (
            objection := await asyncio.to_thread(preflight_objections, context, candidate, state)
        ):
            return objection
        if state.note is not None and judgements and judgements[-1].tree == state.patch.tree:
            return (
                "Nothing has changed since the last verification. Change the code with apply_patch, or "
                "hand_over(kind='give_up')."
            )
        return state.note or (Done(summary=step.intent) if state.changed else None)

    return PhaseSpec(phase=EDIT, opening=opening, settle=settle)
