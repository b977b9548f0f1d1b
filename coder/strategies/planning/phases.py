"""PLAN and its steps: what the planner is told, and what the executor is."""

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


def planner_of(kit: Kit, candidate: Candidate) -> Candidate:
    """A reader of the candidate's worktree with a conversation of its own."""
    planner = candidate.model_copy(update={"id": f"{candidate.id}/plan"})
    kit.log.append(CandidateForked(candidate=planner.id, role="planner", approach="plan"))
    return planner


async def first_plan(kit: Kit, planner: Candidate) -> Note | None:
    """The plan to begin with: the person's own, or the planner's as the person wants it."""
    if kit.task.plan is not None:
        kit.log.append(PhaseEntered(candidate=planner.id, phase="plan", attempt=1))
        await _adopt(kit, planner, kit.task.plan)
        return kit.task.plan
    plan = await run(kit, planner, planning(), 1)
    if not isinstance(plan, Plan) or not kit.reviews:
        return plan
    wanted = await kit.approval.plan(plan)
    if wanted not in (plan, None):
        await _adopt(kit, planner, wanted)
    return wanted or GiveUp(summary="You did not want this plan, so nothing was changed.")


async def _adopt(kit: Kit, planner: Candidate, plan: Plan) -> None:
    """Let the planner hear of a plan that is not its own: it will be asked about the steps."""
    told = kit.prompts.render("plan_given", plan=written(plan))
    if not conversation(kit.log.records, planner.id):
        told = f"{await PURPOSES['locate'].opening(kit, planner)}\n\n{told}"
    say(kit, planner, told)
    kit.log.append(NoteMade(candidate=planner.id, phase="plan", note=plan))


def planning() -> Purpose:
    """The purpose that ends in the whole plan."""

    async def opening(kit: Kit, planner: Candidate) -> str:
        return f"{await PURPOSES['locate'].opening(kit, planner)}\n\n{kit.prompts.render('plan')}"

    async def settle(_kit: Kit, _planner: Candidate, standing: Standing) -> Note | str | None:
        if isinstance(standing.note, Plan) and not standing.note.steps:
            return "A plan needs at least one step: give `steps`."
        return standing.note

    return Purpose(phase=PLAN, opening=opening, settle=settle)


def amending(candidate: Candidate, step: Step, rest: tuple[Step, ...], failed: str, *, left: int) -> Purpose:
    """Return the purpose that ends in what is left to do after a step, or the whole, failed."""

    async def opening(kit: Kit, _candidate: Candidate) -> str:
        patch = await asyncio.to_thread(kit.repository.patch, candidate)
        beside = [path for path in patch.paths if step.files and path not in step.files]
        diff = patch.diff[:DIFF_CHARACTERS]
        return kit.prompts.render(
            "step_failed", step=step, rest=rest, failed=failed, diff=diff, beside=beside, left=left
        )

    async def settle(_kit: Kit, _planner: Candidate, standing: Standing) -> Note | str | None:
        if isinstance(standing.note, Plan) and not standing.note.steps:
            return "What is left must change, for it failed as it was planned: give `steps`, or give up."
        return standing.note

    return Purpose(phase=PLAN, opening=opening, settle=settle)


async def failed_check(kit: Kit, candidate: Candidate, step: Step) -> str:
    """Return how the tests that a step names fail in the candidate's own worktree; empty where they pass.

    A step that changes nothing but tests is not checked: a test that comes before its fix is red.
    """
    tests = node_ids(step.check)
    if not tests or all(is_test_path(path) for path in step.files):
        return ""
    report = await asyncio.to_thread(kit.workspace(candidate).run, tests, kit.log.progress(candidate.id))
    if report.problem:
        return f"Its check could not be run: {report.problem.text}"
    said = [
        f"{result.id}: {result.failure.message[:300]}" if result.failure else result.id
        for result in report.reds
    ]
    return "\n".join(["Its check fails.", *said]) if said else ""


def execution(plan: Plan, step: Step, *, failed: str = "") -> Purpose:
    """The purpose that ends when the executor has changed something for this step; `failed` is how what came before it did."""

    async def opening(kit: Kit, candidate: Candidate) -> str:
        told = kit.prompts.render("step", plan=plan, step=step, failed=failed)
        if conversation(kit.log.records, candidate.id):
            return told
        return f"{await PURPOSES['locate'].opening(kit, candidate)}\n\n{told}"

    async def settle(kit: Kit, candidate: Candidate, standing: Standing) -> Note | str | None:
        judged = verdicts(kit.log.records, candidate.id)
        if standing.entry or isinstance(standing.note, GiveUp):
            return None if standing.entry else standing.note
        if standing.changed and (objection := await asyncio.to_thread(objections, kit, candidate, standing)):
            return objection
        if standing.note is not None and judged and judged[-1].tree == standing.patch.tree:
            return (
                "Nothing has changed since the last verification. Change the code with apply_patch, or "
                "hand_over(kind='give_up')."
            )
        return standing.note or (Done(summary=step.intent) if standing.changed else None)

    return Purpose(phase=EDIT, opening=opening, settle=settle)
