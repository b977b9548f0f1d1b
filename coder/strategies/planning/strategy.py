"""Strategy that plans, then executes: one conversation plans and judges steps, another one executes them."""

from dataclasses import replace

from coder.core.events import NoteMade, Warned
from coder.core.notes import Done, GiveUp, Plan
from coder.core.state import candidate_verdicts
from coder.core.values.candidate import Candidate
from coder.session.context import SessionContext, Strategy
from coder.session.phase import run_phase
from coder.strategies.candidate_status import is_repairable
from coder.strategies.planning.phases import (
    check_failure,
    fork_planner,
    obtain_plan,
    replanning_phase,
    step_phase,
)
from coder.strategies.verify_phase import attempt_number, attempts_left
from coder.tools.registry import PLANNING_TOOLS


def plan_and_execute(*, finish: Strategy, explain: Strategy) -> Strategy:
    """Return a strategy that makes a plan and executes its steps; the planner is asked again after a failure.

    `finish` judges the whole change; `explain` runs when attempts are spent. A step whose check fails spends
    no attempt, and as many steps may fail as there are attempts.
    """

    async def strategy(context: SessionContext, candidate: Candidate) -> Candidate:
        planner = fork_planner(context, candidate)
        planner_context = replace(context, role="planner", system="system_plan", tools=PLANNING_TOOLS)
        plan = await obtain_plan(planner_context, planner)
        previous_failure, failures = "", 0
        while isinstance(plan, Plan) and plan.steps and not context.task.plan_only:
            step, remaining_steps = plan.steps[0], plan.steps[1:]
            purpose = step_phase(plan, step, failure=previous_failure)
            note = await run_phase(context, candidate, purpose, attempt_number(context))
            failure = (
                ""
                if isinstance(note, Done)
                else f"The step was not done: {note.summary if note else 'no change was made'}"
            )
            failure = failure or await check_failure(context, candidate, step)
            previous_failure = ""
            if failure:
                failures += 1
                context.log.append(
                    Warned(
                        text=(
                            "A step failed, and the planner is asked again: "
                            f"{' '.join(failure.split())[:300]}"
                        )
                    )
                )
            if not failure and remaining_steps:
                plan = plan.model_copy(update={"steps": remaining_steps})
                continue
            if not failure:
                await finish(context, candidate)
                if not is_repairable(context, candidate):
                    return candidate
                if attempts_left(context) < 1:
                    return await explain(context, candidate)
                failure = context.verifier.explain_failure(
                    candidate_verdicts(context.log.records, candidate.id)[-1]
                )
            if failures >= context.task.budget.attempts:
                return await explain(context, candidate)
            remaining_attempts = min(attempts_left(context), context.task.budget.attempts - failures)
            previous_failure = failure
            plan = await run_phase(
                planner_context,
                planner,
                replanning_phase(
                    candidate, step, remaining_steps, failure, remaining_attempts=remaining_attempts
                ),
                1,
            )
        if isinstance(plan, GiveUp):
            context.log.append(NoteMade(candidate=candidate.id, phase="plan", note=plan, implied=True))
        return candidate

    return strategy
