"""Plan, then execute: one conversation plans and judges each step, another one does a step at a time."""

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
    """Return a strategy that has a plan made and its steps done one by one; the planner is asked again where a step or the whole fails.

    `finish` has the whole judged; with attempts spent there is a `last` word. A step whose check fails spends none of them, and as many
    may fail as there are attempts.
    """

    async def strategy(kit: Kit, candidate: Candidate) -> Candidate:
        planner = planner_of(kit, candidate)
        thinking = replace(kit, role="planner", system="system_plan", tools=PLANNING)
        plan = await first_plan(thinking, planner)
        told, failures = "", 0
        while isinstance(plan, Plan) and plan.steps and not kit.task.plan_only:
            step, rest = plan.steps[0], plan.steps[1:]
            purpose = execution(plan, step, failed=told)
            note = await run(kit, candidate, purpose, attempt_number(kit))
            failed = (
                ""
                if isinstance(note, Done)
                else f"The step was not done: {note.summary if note else 'no change was made'}"
            )
            failed = failed or await failed_check(kit, candidate, step)
            told = ""
            if failed:
                failures += 1
                kit.log.append(
                    Warned(
                        text=(
                            f"A step failed, and the planner is asked again: {' '.join(failed.split())[:300]}"
                        )
                    )
                )
            if not failed and rest:
                plan = plan.model_copy(update={"steps": rest})
                continue
            if not failed:
                await finish(kit, candidate)
                if not mendable(kit, candidate):
                    return candidate
                if attempts_left(kit) < 1:
                    return await last(kit, candidate)
                failed = kit.verifier.explain(verdicts(kit.log.records, candidate.id)[-1])
            if failures >= kit.task.budget.attempts:
                return await last(kit, candidate)
            left = min(attempts_left(kit), kit.task.budget.attempts - failures)
            told = failed
            plan = await run(thinking, planner, amending(candidate, step, rest, failed, left=left), 1)
        if isinstance(plan, GiveUp):
            kit.log.append(NoteMade(candidate=candidate.id, phase="plan", note=plan, implied=True))
        return candidate

    return strategy
