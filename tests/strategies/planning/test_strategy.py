"""Plans before they run: the planner's, as the user edits it, or the user's own."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from coder.core.events import CandidateForked, NoteMade, PlanAnswered, PlanAsked
from coder.core.notes import GiveUp, Note, Plan, Step
from coder.core.values import Candidate
from coder.core.verdict import TestReport
from coder.models.scripted import ScriptedCall, ScriptedModel
from coder.models.scripted import ScriptStep as Scene
from coder.session.context import CandidateRun, SessionContext
from coder.strategies.plan import plan_and_execute
from tests.session.fakes import RED, events, kit

PLAN = Plan(summary="The value is two.", steps=(Step(intent="It is two.", files=("a.py",)),))
MINE = Plan(summary="The value is three.", steps=(Step(intent="It is three."), Step(intent="It is tidied.")))


def plan_scene(note: Plan) -> Scene:
    return Scene(
        calls=(
            ScriptedCall(name="hand_over", arguments=note.model_dump(mode="json", exclude={"components"})),
        )
    )


def edit_scene(value: int, was: int = 1) -> Scene:
    diff = f"--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-VALUE = {was}\n+VALUE = {value}\n"
    return Scene(text="Changed.", calls=(ScriptedCall(name="apply_patch", arguments={"diff": diff}),))


async def do_nothing(run: CandidateRun) -> Candidate:
    return run.candidate


def run_plan(context: SessionContext, answer: Plan | None = None) -> tuple[list[str], list[Note]]:
    """Return the last message of each request, and all notes; a plan that is asked about gets this answer."""

    async def answer_questions() -> None:
        async for record in context.log.follow():
            if isinstance(record.event, PlanAsked):
                context.approval.deliver_answer(PlanAnswered(question=record.event.question, plan=answer))

    async def run_strategy() -> None:
        person = asyncio.ensure_future(answer_questions())
        context.log.append(CandidateForked(candidate="c1"))
        await plan_and_execute(finish=do_nothing, explain=do_nothing)(
            context.on(context.repository.create_candidate("c1"))
        )
        context.log.close()
        await person

    asyncio.run(run_strategy())
    assert isinstance(context.model, ScriptedModel)
    messages = ["\n".join(message.text for message in request.messages) for request in context.model.requests]
    return messages, [event.note for event in events(context.log, NoteMade)]


def with_red_checks(context: SessionContext) -> SessionContext:
    red = replace(
        context.workspace(context.repository.create_candidate("c1")),
        run=lambda _tests, _progress: TestReport(command="pytest", results=(RED,)),
    )
    return replace(context, workspace=lambda _candidate: red)


def test_runs_plan_as_user_edited_it(tmp_path: Path) -> None:
    as_planned = plan_scene(Plan(summary="As planned."))
    scenes = [plan_scene(PLAN), edit_scene(3), as_planned, edit_scene(4, was=3)]
    context = kit(tmp_path, scenes, attended=True, reviews=True)
    messages, notes = run_plan(context, MINE)
    assert "It is three." in messages[1] and "It is two." not in messages[1]
    assert "It is tidied." in messages[3]
    assert [note for note in notes if isinstance(note, Plan)][:2] == [PLAN, MINE]


def test_refused_plan_ends_session(tmp_path: Path) -> None:
    _, notes = run_plan(kit(tmp_path, [plan_scene(PLAN)], attended=True, reviews=True), None)
    assert notes[1:] == [GiveUp(summary="You did not want this plan, so nothing was changed.")]
    assert (tmp_path / "a.py").read_text() == "VALUE = 1\n"


def test_user_plan_needs_no_planner(tmp_path: Path) -> None:
    context = kit(tmp_path, [edit_scene(3), edit_scene(4, was=3)])
    messages, notes = run_plan(replace(context, task=context.task.model_copy(update={"plan": MINE})))
    assert notes[0] == MINE
    assert "It is three." in messages[0]
    assert context.task.issue in messages[0] and len(messages) == 2


def test_planner_learns_of_failed_step_check(tmp_path: Path) -> None:
    checked = PLAN.model_copy(
        update={"steps": (PLAN.steps[0].model_copy(update={"check": RED.id}), Step(intent="It is tidied."))}
    )
    amended = Plan(summary="Two was wrong.", steps=(Step(intent="It is three."),))
    context = kit(
        tmp_path,
        [plan_scene(checked), edit_scene(2), plan_scene(amended), edit_scene(3, was=2)],
    )
    messages, notes = run_plan(with_red_checks(context))
    assert "This did not work: It is two." in messages[2] and "Its check fails." in messages[2]
    # The executor gets it as well.
    assert "that change is still in place" in messages[3] and "Its check fails." in messages[3]
    assert [note for note in notes if isinstance(note, Plan)] == [checked, amended]


def test_failed_step_checks_stay_within_attempts(tmp_path: Path) -> None:
    checked = PLAN.model_copy(update={"steps": (PLAN.steps[0].model_copy(update={"check": RED.id}),)})
    scenes = [
        scene for value in range(2, 9) for scene in (plan_scene(checked), edit_scene(value, was=value - 1))
    ]
    context = kit(tmp_path, scenes)
    messages, _ = run_plan(with_red_checks(context))
    assert len(messages) == 2 * context.task.budget.attempts
    assert "2 more attempts." in messages[2] and "1 more attempt." in messages[4]


TWO_STEPS = PLAN.model_copy(update={"steps": (PLAN.steps[0], Step(intent="It is tidied."))})


@pytest.mark.parametrize(
    ("revision", "expected_step"),
    [
        (Plan(summary="As planned."), "It is tidied."),
        (Plan(summary="Three is better.", steps=(Step(intent="It is three."),)), "It is three."),
    ],
)
def test_planner_judges_step_and_may_revise_rest(tmp_path: Path, revision: Plan, expected_step: str) -> None:
    scenes = [plan_scene(TWO_STEPS), edit_scene(2), plan_scene(revision), edit_scene(3, was=2)]
    messages, notes = run_plan(kit(tmp_path, scenes))
    assert len(messages) == 4
    assert "Done: It is two." in messages[2] and "+VALUE = 2" in messages[2]
    assert f"# Your step\n{expected_step}" in messages[3]
    assert [note for note in notes if isinstance(note, Plan)] == [TWO_STEPS, revision]
