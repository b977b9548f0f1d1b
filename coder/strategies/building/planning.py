"""The plan of a build: the user's own, that of an interrupted session, or the planner's."""

import asyncio
from dataclasses import replace

from coder.core.events import CandidateForked, NoteMade
from coder.core.notes import GiveUp, Note, Plan
from coder.core.phases import PLAN
from coder.core.values.candidate import Candidate
from coder.core.values.plan import find_plan_fault
from coder.retrieval.orientation import issue_overview
from coder.session.context import SessionContext
from coder.session.phase import PhaseSpec, PhaseState, run_phase
from coder.tools.registry import ARCHITECT_TOOLS

OVERVIEW_CHARACTERS = 10_000


async def obtain_components(context: SessionContext, candidate: Candidate) -> Note | None:
    """Return the plan of the components after the user's review, or the note that there is none."""
    existing_plan = context.task.plan or (context.continued.plan if context.continued else None)
    planner = candidate.model_copy(update={"id": f"{candidate.id}/plan"})
    context.log.append(CandidateForked(candidate=planner.id, role="planner", approach="plan"))
    if existing_plan is not None:
        context.log.append(NoteMade(candidate=planner.id, phase="plan", note=existing_plan))
        return existing_plan
    planner_context = replace(
        context, role="planner", system="system_build_plan", tools=ARCHITECT_TOOLS, continued=None
    )
    purpose = PhaseSpec(phase=PLAN, opening=_open_plan, settle=_settle_plan)
    plan = await run_phase(planner_context, planner, purpose, 1)
    if not isinstance(plan, Plan) or not context.needs_review:
        return plan
    approved_plan = await context.approval.review_plan(plan)
    if approved_plan not in (plan, None):
        context.log.append(NoteMade(candidate=planner.id, phase="plan", note=approved_plan))
    return approved_plan or GiveUp(summary="You did not want this plan, so nothing was built.")


async def describe_repository(context: SessionContext, candidate: Candidate) -> str:
    """Return the overview of the repository that the code is built into; empty if it holds no files."""
    workspace = context.workspace(candidate)
    if not any(path.name != ".git" for path in candidate.worktree.iterdir()):
        return ""
    return await asyncio.to_thread(issue_overview, workspace, context.task.issue, (), OVERVIEW_CHARACTERS)


async def _open_plan(context: SessionContext, planner: Candidate) -> str:
    return context.prompts.render(
        "build_plan",
        task=context.task,
        instructions=context.instructions,
        look=await describe_repository(context, planner),
    )


async def _settle_plan(_context: SessionContext, _planner: Candidate, state: PhaseState) -> Note | str | None:
    if isinstance(state.note, Plan) and (fault := find_plan_fault(state.note)):
        return f"This plan cannot be built: {fault}. Hand over a corrected one."
    return state.note
