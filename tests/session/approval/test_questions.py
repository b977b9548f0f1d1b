import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from coder.core.events import (
    Event,
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

COMMENT = HunkComment(hunk=0, text="use 3")
DIFF = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n@@ -9 +9 @@\n-3\n+4\n"
PLAN = Plan(summary="The sign goes.", steps=(Step(intent="It is gone."),))
MINE = PLAN.model_copy(update={"summary": "Mine."})
GO = QuestionAsked(question="q1", text="Go?", options=("yes", "no"), default="no")
REVIEW = ReviewAsked(question="q1", diff=DIFF)
PLANNED = PlanAsked(question="q1", plan=PLAN)
ASK: dict[type[Event], Callable[[Approval], Awaitable[Any]]] = {
    QuestionAsked: lambda approval: approval.ask("Go?", options=("yes", "no"), default="no"),
    ReviewAsked: lambda approval: approval.review_diff(ReviewAsked(question="", diff=DIFF)),
    PlanAsked: lambda approval: approval.review_plan(PLAN),
}


@pytest.mark.parametrize(
    ("asked", "default", "answer"),
    [
        (GO, "no", QuestionAnswered(question="q1", option="no", by="default")),
        (REVIEW, None, ReviewAnswered(question="q1", accepted=(0, 1), by="default")),
        (PLANNED, PLAN, PlanAnswered(question="q1", plan=PLAN, by="default")),
    ],
    ids=["question", "review", "plan"],
)
async def test_takes_default_when_unattended(asked: Event, default: object, answer: Event) -> None:
    log = EventLog(clock=ticking_clock())
    result = await ASK[type(asked)](Approval(log, attended=False))
    assert result == (default if default is not None else answer)
    assert [record.event for record in log.records] == [asked, answer]


@pytest.mark.parametrize(
    ("asked", "other", "reply", "answer"),
    [
        (
            GO,
            QuestionAnswered(question="q9", option="no"),
            QuestionAnswered(question="q1", option="yes"),
            QuestionAnswered(question="q1", option="yes", by="person"),
        ),
        (
            REVIEW,
            QuestionAnswered(question="q1", option="yes"),
            ReviewAnswered(question="q1", accepted=(1,), comments=(COMMENT,)),
            ReviewAnswered(question="q1", accepted=(1,), comments=(COMMENT,), by="person"),
        ),
        *(
            (
                PLANNED,
                ReviewAnswered(question="q1", accepted=()),
                PlanAnswered(question="q1", plan=plan),
                PlanAnswered(question="q1", plan=plan, by="person"),
            )
            for plan in (PLAN, MINE, None)
        ),
    ],
    ids=["question", "review", "plan", "changed plan", "refused plan"],
)
async def test_waits_for_the_answer_to_its_own_question(
    asked: Event, other: Any, reply: Any, answer: Event
) -> None:
    log = EventLog(clock=ticking_clock())
    approval = Approval(log, attended=True)
    asking = asyncio.ensure_future(ASK[type(asked)](approval))
    await asyncio.sleep(0)
    approval.deliver_answer(other)
    assert not asking.done()
    approval.deliver_answer(reply)
    result = await asking
    match answer:
        case QuestionAnswered():
            assert result == answer.option
        case PlanAnswered():
            assert result == answer.plan
        case _:
            assert result == answer
    assert [record.event for record in log.records] == [asked, answer]
