"""Phases of planning: making a plan, revising it, and executing its steps."""

import asyncio

from coder.core.events import CandidateForked, NoteMade, PhaseEntered
from coder.core.notes import Done, GiveUp, Note, Plan, Step
from coder.core.phases import EDIT, PLAN
from coder.core.state import conversation, verdicts
from coder.core.values.candidate import Candidate
from coder.core.values.paths import is_test_path, node_ids
from coder.core.values.plan import written
from coder.session.context import Kit
from coder.session.phase import Purpose, Standing, run
from coder.session.turn import say
from coder.strategies.phases import PURPOSES
from coder.strategies.review.preflight import objections

DIFF_CHARACTERS = 6_000


def planner_of(context: Kit, candidate: Candidate) -> Candidate:
    """Fork a reader of the candidate's worktree with a conversation of its own."""
    planner = candidate.model_copy(update={"id": f"{candidate.id}/plan"})
    context.log.append(CandidateForked(candidate=planner.id, role="planner", approach="plan"))
    return planner


async def first_plan(context: Kit, planner: Candidate) -> Note | None:
    """Return the initial plan: the user's own, or the planner's after the user's review."""
    if context.task.plan is not None:
        context.log.append(PhaseEntered(candidate=planner.id, phase="plan", attempt=1))
        await _adopt(context, planner, context.task.plan)
        return context.task.plan
    plan = await run(context, planner, planning(), 1)
    if not isinstance(plan, Plan) or not context.reviews:
        return plan
    approved_plan = await context.approval.plan(plan)
    if approved_plan not in (plan, None):
        await _adopt(context, planner, approved_plan)
    return approved_plan or GiveUp(summary="You did not want this plan, so nothing was changed.")


async def _adopt(context: Kit, planner: Candidate, plan: Plan) -> None:
    """Tell the planner of a plan that is not its own, since it will be asked about the steps."""
    message = context.prompts.render("plan_given", plan=written(plan))
    if not conversation(context.log.records, planner.id):
        message = f"{await PURPOSES['locate'].opening(context, planner)}\n\n{message}"
    say(context, planner, message)
    context.log.append(NoteMade(candidate=planner.id, phase="plan", note=plan))


def planning() -> Purpose:
    """Return the phase that ends with the whole plan."""

    async def opening(context: Kit, planner: Candidate) -> str:
        return f"{await PURPOSES['locate'].opening(context, planner)}\n\n{context.prompts.render('plan')}"

    async def settle(_context: Kit, _planner: Candidate, state: Standing) -> Note | str | None:
        if isinstance(state.note, Plan) and not state.note.steps:
            return "A plan needs at least one step: give `steps`."
        return state.note

    return Purpose(phase=PLAN, opening=opening, settle=settle)


def amending(
    candidate: Candidate, step: Step, remaining_steps: tuple[Step, ...], failure: str, *, left: int
) -> Purpose:
    """Return the phase that plans the remaining work after a step or the whole change failed."""

    async def opening(context: Kit, _candidate: Candidate) -> str:
        patch = await asyncio.to_thread(context.repository.patch, candidate)
        unplanned_paths = [path for path in patch.paths if step.files and path not in step.files]
        diff = patch.diff[:DIFF_CHARACTERS]
        return context.prompts.render(
            "step_failed",
            step=step,
            rest=remaining_steps,
            failed=failure,
            diff=diff,
            beside=unplanned_paths,
            left=left,
        )

    async def settle(_context: Kit, _planner: Candidate, state: Standing) -> Note | str | None:
        if isinstance(state.note, Plan) and not state.note.steps:
            return "What is left must change, for it failed as it was planned: give `steps`, or give up."
        return state.note

    return Purpose(phase=PLAN, opening=opening, settle=settle)


async def failed_check(context: Kit, candidate: Candidate, step: Step) -> str:
    """Return how the tests that a step names fail in the candidate's worktree; empty if they pass.

    A step that changes nothing but tests is not checked, since a test made before its fix fails.
    """
    tests = node_ids(step.check)
    if not tests or all(is_test_path(path) for path in step.files):
        return ""
    report = await asyncio.to_thread(
        context.workspace(candidate).run, tests, context.log.progress(candidate.id)
    )
    if report.problem:
        return f"Its check could not be run: {report.problem.text}"
    failures = [
        f"{result.id}: {result.failure.message[:300]}" if result.failure else result.id
        for result in report.reds
    ]
    return "\n".join(["Its check fails.", *failures]) if failures else ""


def execution(plan: Plan, step: Step, *, failed: str = "") -> Purpose:
    """Return the phase that ends when the executor changed something for this step.

    `failed` describes the failure of the work before it.
    """

    async def opening(context: Kit, candidate: Candidate) -> str:
        message = context.prompts.render("step", plan=plan, step=step, failed=failed)
        if conversation(context.log.records, candidate.id):
            return message
        return f"{await PURPOSES['locate'].opening(context, candidate)}\n\n{message}"

    async def settle(context: Kit, candidate: Candidate, state: Standing) -> Note | str | None:
        judgements = verdicts(context.log.records, candidate.id)
        if state.entry or isinstance(state.note, GiveUp):
            return None if state.entry else state.note
        if state.changed and (objection := await asyncio.to_thread(objections, context, candidate, state)):
            return objection
        if state.note is not None and judgements and judgements[-1].tree == state.patch.tree:
            return (
                "Nothing has changed since the last verification. Change the code with apply_patch, or "
                "hand_over(kind='give_up')."
            )
        return state.note or (Done(summary=step.intent) if state.changed else None)

    return Purpose(phase=EDIT, opening=opening, settle=settle)
