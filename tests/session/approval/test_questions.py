import asyncio

import pytest

from coder.core.events import (
    Amend,
    Answer,
    Decide,
    PlanAnswered,
    PlanAsked,
    QuestionAnswered,
    QuestionAsked,
    ReviewAnswered,
    ReviewAsked,
)
from coder.core.notes import Plan, Step
from coder.core.values import HunkComment
from coder.session.approval import Approval
from coder.session.log import EventLog
from tests.session.fakes import ticking_clock


def test_takes_default_when_unattended() -> None:
    log = EventLog(clock=ticking_clock())
    option = asyncio.run(Approval(log, attended=False).ask("Go?", options=("yes", "no"), default="no"))
    assert option == "no"
    assert [record.event for record in log.records] == [
        QuestionAsked(question="q1", text="Go?", options=("yes", "no"), default="no"),
        QuestionAnswered(question="q1", option="no", by="default"),
    ]


def test_waits_for_the_answer_to_its_own_question() -> None:
    async def scenario() -> tuple[str, EventLog]:
        log = EventLog(clock=ticking_clock())
        approval = Approval(log, attended=True)
        asking = asyncio.ensure_future(approval.ask("Go?", options=("yes", "no"), default="no"))
        await asyncio.sleep(0)
        approval.deliver_answer(Answer(question="q9", option="no"))
        assert not asking.done()
        approval.deliver_answer(Answer(question="q1", option="yes"))
        return await asking, log

    option, log = asyncio.run(scenario())
    assert option == "yes"
    assert log.records[-1].event == QuestionAnswered(question="q1", option="yes", by="person")


COMMENT = HunkComment(hunk=0, text="use 3")
DIFF = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n@@ -9 +9 @@\n-3\n+4\n"


def test_unattended_review_accepts_every_hunk() -> None:
    log = EventLog(clock=ticking_clock())
    assert asyncio.run(
        Approval(log, attended=False).review_diff(ReviewAsked(question="", diff=DIFF))
    ).accepted == (0, 1)
    assert log.records[-1].event == ReviewAnswered(question="q1", accepted=(0, 1), by="default")


def test_a_review_waits_for_the_decision() -> None:
    async def scenario() -> tuple[ReviewAnswered, EventLog]:
        log = EventLog(clock=ticking_clock())
        approval = Approval(log, attended=True)
        reviewing = asyncio.ensure_future(approval.review_diff(ReviewAsked(question="", diff=DIFF)))
        await asyncio.sleep(0)
        approval.deliver_answer(Answer(question="q1", option="yes"))
        assert not reviewing.done()
        approval.deliver_answer(Decide(question="q1", accepted=(1,), comments=(COMMENT,)))
        return await reviewing, log

    answer, log = asyncio.run(scenario())
    assert (answer.accepted, answer.comments) == ((1,), (COMMENT,))
    assert [record.event for record in log.records] == [
        ReviewAsked(question="q1", diff=DIFF),
        ReviewAnswered(question="q1", accepted=(1,), comments=(COMMENT,), by="person"),
    ]


PLAN = Plan(summary="The sign goes.", steps=(Step(intent="It is gone."),))


def test_unattended_plan_runs_unchanged() -> None:
    log = EventLog(clock=ticking_clock())
    assert asyncio.run(Approval(log, attended=False).review_plan(PLAN)) == PLAN
    assert log.records[-1].event == PlanAnswered(question="q1", plan=PLAN, by="default")


@pytest.mark.parametrize("answer", [PLAN, PLAN.model_copy(update={"summary": "Mine."}), None])
def test_plan_waits_for_user_edit(answer: Plan | None) -> None:
    async def scenario() -> tuple[Plan | None, EventLog]:
        log = EventLog(clock=ticking_clock())
        approval = Approval(log, attended=True)
        asking = asyncio.ensure_future(approval.review_plan(PLAN))
        await asyncio.sleep(0)
        approval.deliver_answer(Decide(question="q1", accepted=()))
        assert not asking.done()
        approval.deliver_answer(Amend(question="q1", plan=answer))
        return await asking, log

    context, log = asyncio.run(scenario())
    assert context == answer
    assert [record.event for record in log.records] == [
        PlanAsked(question="q1", plan=PLAN),
        PlanAnswered(question="q1", plan=answer, by="person"),
    ]
