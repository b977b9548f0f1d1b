"""Plan, then execute: a planner's steps, one edit each."""

import asyncio
from dataclasses import replace
from typing import NamedTuple

from coder.core.events import CandidateForked, NoteMade, PhaseEntered
from coder.core.notes import Done, GiveUp, Note, Plan, Step
from coder.core.paths import extract_node_ids, is_test_path
from coder.core.plan import format_plan
from coder.core.state import candidate_messages, candidate_verdicts, newest_verdict
from coder.core.values import EDIT, PLAN, Candidate, Patch
from coder.core.verdict_summary import summarize_failures
from coder.patching.git_hunks import rebuild_diff, split_git_diff
from coder.session.context import CandidateRun, Strategy
from coder.session.judging import attempt_number, attempts_left, is_repairable, preflight_objections
from coder.session.phase import PhaseSpec, PhaseState, add_user_message, render_prompt, run_phase
from coder.strategies.follow import PHASE_SPECS, UNCHANGED
from coder.tools.registry import PLANNING_TOOLS


def plan_and_execute(*, finish: Strategy, explain: Strategy) -> Strategy:
    """Return a strategy that makes a plan and executes its steps; the planner reads what came of each.

    It may revise what is left of the plan, and must after a failure; a plan of the user's own is only changed
    after a failure. `finish` judges the whole change; `explain` runs when attempts are spent. A step whose
    check fails spends no attempt, and as many steps may fail as there are attempts.
    """

    async def strategy(run: CandidateRun) -> Candidate:
        planner = fork_planner(run)
        planner_context = replace(run, role="planner", system="system_plan", tools=PLANNING_TOOLS)
        plan = await obtain_plan(planner_context.on(planner))
        failure, failures = "", 0
        while isinstance(plan, Plan) and plan.steps and not run.task.plan_only:
            step, remaining_steps = plan.steps[0], plan.steps[1:]
            result = await execute_step(run, plan, previous_failure=failure)
            failure = result.failure
            if failure:
                failures += 1
                why = " ".join(failure.split())[:300]
                run.log.warn(f"A step failed, and the planner is asked again: {why}")
            elif remaining_steps:
                plan = plan.model_copy(update={"steps": remaining_steps})
                if run.task.plan is None:
                    phase = judging_phase(run.candidate, step, remaining_steps, result)
                    plan = revise_plan(plan, await run_phase(planner_context.on(planner), phase, 1))
                continue
            else:
                await finish(run)
                if not is_repairable(run):
                    return run.candidate
                if attempts_left(run) < 1:
                    return await explain(run)
                failure = summarize_failures(candidate_verdicts(*run.own)[-1])
            if failures >= run.task.budget.attempts:
                return await explain(run)
            result = result._replace(failure=failure)
            left = min(attempts_left(run), run.task.budget.attempts - failures)
            phase = judging_phase(run.candidate, step, remaining_steps, result, remaining_attempts=left)
            plan = await run_phase(planner_context.on(planner), phase, 1)
        if isinstance(plan, GiveUp):
            run.log.append(NoteMade(candidate=run.candidate.id, phase="plan", note=plan, implied=True))
        return run.candidate

    return strategy


DIFF_CHARACTERS = 6_000


class StepResult(NamedTuple):
    failure: str
    """Empty if it was done and its check passes."""
    checked: str = ""
    before: Patch = Patch(diff="")


async def execute_step(run: CandidateRun, plan: Plan, *, previous_failure: str) -> StepResult:
    step = plan.steps[0]
    before = await run.read_patch()
    spec = step_phase(plan, step, failure=previous_failure)
    note = await run_phase(run, spec, attempt_number(run))
    if not isinstance(note, Done):
        reason = note.summary if note else "no change was made"
        return StepResult(failure=f"The step was not done: {reason}", before=before)
    return (await check_step(run, step))._replace(before=before)


def revise_plan(plan: Plan, revision: Note | None) -> Plan | GiveUp:
    """Return what is left of a plan as the planner revised it; unchanged if it names no steps."""
    if isinstance(revision, GiveUp) or (isinstance(revision, Plan) and revision.steps):
        return revision
    return plan


def fork_planner(run: CandidateRun) -> Candidate:
    """Fork a reader of the candidate's worktree with a conversation of its own."""
    planner = run.candidate.model_copy(update={"id": f"{run.candidate.id}/plan"})
    run.log.append(CandidateForked(candidate=planner.id, role="planner", approach="plan"))
    return planner


async def obtain_plan(run: CandidateRun) -> Note | None:
    """Return the initial plan: the user's own, or the planner's after the user's review."""
    if run.task.plan is not None:
        run.log.append(PhaseEntered(candidate=run.candidate.id, phase="plan", attempt=1))
        await _adopt(run, run.task.plan)
        return run.task.plan
    plan = await run_phase(run, planning_phase(), 1)
    if not isinstance(plan, Plan) or not run.needs_review:
        return plan
    approved_plan = await run.approval.review_plan(plan)
    if approved_plan not in (plan, None):
        await _adopt(run, approved_plan)
    return approved_plan or GiveUp(summary="You did not want this plan, so nothing was changed.")


async def _adopt(run: CandidateRun, plan: Plan) -> None:
    """Tell the planner of a plan that is not its own, since it will be asked about the steps."""
    message = render_prompt("plan_given", plan=format_plan(plan))
    if not candidate_messages(*run.own):
        message = f"{await PHASE_SPECS['locate'].opening(run)}\n\n{message}"
    add_user_message(run, message)
    run.log.append(NoteMade(candidate=run.candidate.id, phase="plan", note=plan))


def planning_phase() -> PhaseSpec:
    """Return the phase that ends with the whole plan."""

    async def opening(run: CandidateRun) -> str:
        return f"{await PHASE_SPECS['locate'].opening(run)}\n\n{render_prompt('plan')}"

    async def settle(_run: CandidateRun, state: PhaseState) -> Note | str | None:
        if isinstance(state.note, Plan) and not state.note.steps:
            return "A plan needs at least one step: give `steps`."
        return state.note

    return PhaseSpec(phase=PLAN, opening=opening, settle=settle)


def judging_phase(
    candidate: Candidate,
    step: Step,
    remaining_steps: tuple[Step, ...],
    result: StepResult,
    *,
    remaining_attempts: int = 0,
) -> PhaseSpec:
    """Return the phase in which the planner reads what came of a step and may revise what is left.

    After a failure, of the step or of the whole change, it must.
    """

    async def opening(run: CandidateRun) -> str:
        patch = await run.on(candidate).read_patch()
        unplanned_paths = [path for path in patch.paths if step.files and path not in step.files]
        diff = patch.diff
        if not result.failure:
            unplanned_paths = [path for path in unplanned_paths if path not in result.before.paths]
            diff = added_hunks(result.before.diff, patch.diff)
        return render_prompt(
            "step_result",
            step=step,
            rest=remaining_steps,
            failed=result.failure,
            checked=result.checked,
            diff=diff[:DIFF_CHARACTERS],
            beside=unplanned_paths,
            left=remaining_attempts,
        )

    async def settle(_run: CandidateRun, state: PhaseState) -> Note | str | None:
        if result.failure and isinstance(state.note, Plan) and not state.note.steps:
            return "What is left must change, for it failed as it was planned: give `steps`, or give up."
        return state.note

    return PhaseSpec(phase=PLAN, opening=opening, settle=settle)


def added_hunks(before: str, after: str) -> str:
    """Return the hunks of a diff that an earlier diff of the same base does not have."""
    known = {*split_git_diff(before)}
    hunks = enumerate(split_git_diff(after))
    return rebuild_diff(after, [number for number, hunk in hunks if hunk not in known])


async def check_step(run: CandidateRun, step: Step) -> StepResult:
    """Run the tests that a step names in the candidate's worktree.

    A step that changes nothing but tests is not checked, since a test made before its fix fails.
    """
    tests = extract_node_ids(step.check)
    if not tests or all(is_test_path(path) for path in step.files):
        return StepResult(failure="", checked="No test was run after it.")
    report = await asyncio.to_thread(
        run.workspace(run.candidate).run, tests, run.log.progress_listener(run.candidate.id)
    )
    if report.problem:
        return StepResult(failure=f"Its check could not be run: {report.problem.text}")
    failures = [
        f"{result.id}: {result.failure.message[:300]}" if result.failure else result.id
        for result in report.failures
    ]
    failure = "\n".join(["Its check fails.", *failures]) if failures else ""
    return StepResult(failure=failure, checked=f"Its check passes: {', '.join(tests)}")


def step_phase(plan: Plan, step: Step, *, failure: str = "") -> PhaseSpec:
    """Return the phase that ends when the executor changed something for this step.

    `failure` describes the failure of the work before it.
    """

    async def opening(run: CandidateRun) -> str:
        message = render_prompt("step", plan=plan, step=step, failed=failure)
        if candidate_messages(*run.own):
            return message
        return f"{await PHASE_SPECS['locate'].opening(run)}\n\n{message}"

    async def settle(run: CandidateRun, state: PhaseState) -> Note | str | None:
        newest = newest_verdict(*run.own)
        if state.entry or isinstance(state.note, GiveUp):
            return None if state.entry else state.note
        if state.changed and (objection := await asyncio.to_thread(preflight_objections, run, state)):
            return objection
        if state.note is not None and newest and newest.tree == state.patch.tree:
            return UNCHANGED
        return state.note or (Done(summary=step.intent) if state.changed else None)

    return PhaseSpec(phase=EDIT, opening=opening, settle=settle)
