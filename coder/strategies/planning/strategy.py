"""Strategy that plans, then executes: one conversation plans and judges steps, another one executes them."""

from dataclasses import replace

from coder.core.events import NoteMade, Warned
from coder.core.notes import Done, GiveUp, Plan
from coder.core.state import verdicts
from coder.core.values.candidate import Candidate
from coder.session.context import Kit, Strategy
from coder.session.phase import run
from coder.strategies.candidate_status import mendable
from coder.strategies.planning.phases import amending, execution, failed_check, first_plan, planner_of
from coder.strategies.verify_phase import attempt_number, attempts_left
from coder.tools.registry import PLANNING


def planned(*, finish: Strategy, last: Strategy) -> Strategy:
    """Return a strategy that makes a plan and executes its steps; the planner is asked again after a failure.

    `finish` judges the whole change; `last` runs when attempts are spent. A step whose check fails spends no
    attempt, and as many steps may fail as there are attempts.
    """

    async def strategy(context: Kit, candidate: Candidate) -> Candidate:
        planner = planner_of(context, candidate)
        planner_context = replace(context, role="planner", system="system_plan", tools=PLANNING)
        plan = await first_plan(planner_context, planner)
        previous_failure, failures = "", 0
        while isinstance(plan, Plan) and plan.steps and not context.task.plan_only:
            step, remaining_steps = plan.steps[0], plan.steps[1:]
            purpose = execution(plan, step, failed=previous_failure)
            note = await run(context, candidate, purpose, attempt_number(context))
            failure = (
                ""
                if isinstance(note, Done)
                else f"The step was not done: {note.summary if note else 'no change was made'}"
            )
            failure = failure or await failed_check(context, candidate, step)
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
                if not mendable(context, candidate):
                    return candidate
                if attempts_left(context) < 1:
                    return await last(context, candidate)
                failure = context.verifier.explain(verdicts(context.log.records, candidate.id)[-1])
            if failures >= context.task.budget.attempts:
                return await last(context, candidate)
            remaining_attempts = min(attempts_left(context), context.task.budget.attempts - failures)
            previous_failure = failure
            plan = await run(
                planner_context,
                planner,
                amending(candidate, step, remaining_steps, failure, left=remaining_attempts),
                1,
            )
        if isinstance(plan, GiveUp):
            context.log.append(NoteMade(candidate=candidate.id, phase="plan", note=plan, implied=True))
        return candidate

    return strategy
