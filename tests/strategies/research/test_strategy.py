"""Researches with a scripted model: who is asked what, in which order, and what becomes of it."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from coder.core.events import (
    Budget,
    CandidateDropped,
    CandidateForked,
    NoteMade,
    PhaseEntered,
    ToolFinished,
)
from coder.core.notes import CheckedClaim, ResearchReport, ResearchResult, format_report
from coder.core.state import active_candidates
from coder.core.values import Request, Usage
from coder.models.scripted import Scene, ScriptedCall, ScriptStep
from coder.session.context import SessionContext
from coder.session.continuation import Continuation, read_continuation
from coder.strategies.follow import answer_question
from coder.strategies.research import research_question
from tests.session.fakes import events, kit

QUESTION = "How is VALUE used?"
CITED = {"text": "`VALUE` is 1", "places": ["a.py:1"]}
TOPICS = ("definition", "tests")


def hand_over(when: str, **arguments: Any) -> ScriptStep:
    return ScriptStep(
        when=when,
        calls=(ScriptedCall(name="hand_over", arguments=arguments),),
        usage=Usage(output_tokens=10, cost_usd=Decimal(0)),
    )


def plan(*titles: str) -> ScriptStep:
    topics = [{"title": title, "question": f"Look at the {title}."} for title in titles]
    return hand_over("You are the planner", kind="research_plan", summary="In parts.", subtopics=topics)


def research(title: str, *claims: dict[str, Any]) -> ScriptStep:
    return hand_over(
        f"Your part: {title}\n", kind="research", summary=f"The {title}.", claims=list(claims or (CITED,))
    )


def evaluation(decision: str, *gaps: str) -> ScriptStep:
    topics = [{"title": gap, "question": f"Look at the {gap}."} for gap in gaps]
    return hand_over(
        "You are the evaluator", kind="evaluation", summary=f"So: {decision}.", decision=decision, gaps=topics
    )


def report(*findings: dict[str, Any], details: str = "`VALUE` is 1 (`a.py:1`).") -> ScriptStep:
    return hand_over(
        "You are the writer",
        kind="report",
        answer="`VALUE` is 1 (`a.py:1`).",
        findings=list(findings or (CITED,)),
        details=details,
        recommendations=["Keep `VALUE` (a.py:1)."],
        open_questions=["Why 1?"],
    )


def run(
    root: Path,
    scenes: Sequence[Scene],
    *,
    iterations: int = 3,
    continued: Continuation | None = None,
    budget: Budget | None = None,
) -> SessionContext:
    context = kit(root, scenes, issue=QUESTION, budget=budget)
    task = context.task.model_copy(update={"deep": True, "mode": "ask", "iterations": iterations})
    context = replace(context, task=task, continued=continued)
    candidate = context.repository.create_candidate("c1")
    context.log.append(CandidateForked(candidate="c1"))
    asyncio.run(research_question(context.on(candidate)))
    return context


def forks(context: SessionContext) -> list[str]:
    return [
        record.event.candidate
        for record in context.log.records
        if isinstance(record.event, CandidateForked) and record.event.candidate != "c1"
    ]


def written_report(context: SessionContext) -> ResearchReport:
    note = context.log.records[-1].event
    assert isinstance(note, NoteMade)
    assert isinstance(note.note, ResearchReport)
    return note.note


def test_deepens_once_then_synthesizes(tmp_path: Path) -> None:
    scenes = [
        plan(*TOPICS),
        research("definition"),
        research("tests"),
        evaluation("deepen", "history"),
        research("history"),
        evaluation("synthesize"),
        report(),
    ]
    context = run(tmp_path, scenes)
    assert forks(context) == [
        "c1/plan",
        "c1/research-1/1",
        "c1/research-1/2",
        "c1/evaluate-1",
        "c1/research-2/1",
        "c1/evaluate-2",
    ]
    assert active_candidates(context.log.records) == ("c1",)
    page = format_report(written_report(context), QUESTION)
    assert [line for line in page.splitlines() if line.startswith("## ")] == [
        "## Key findings",
        "## In depth",
        "## Recommendations",
        "## Open questions",
        "## Citations",
    ]
    assert "1. `VALUE` is 1 (`a.py:1`)" in page
    assert "4 opened at head: 4 confirmed" in page
    assert set(context.budget.roles) == {"planner", "researcher", "reviewer", "synthesizer"}


def test_researchers_read_only_and_overlap(tmp_path: Path) -> None:
    look = ScriptStep(when="Your part: ", calls=(ScriptedCall(name="read", arguments={"path": "a.py"}),))
    patch = ScriptStep(when="Your part: ", calls=(ScriptedCall(name="apply_patch", arguments={"diff": "x"}),))
    scenes = [
        plan(*TOPICS),
        look,
        look,
        patch,
        patch,
        *map(research, TOPICS),
        evaluation("synthesize"),
        report(),
    ]
    context = run(tmp_path, scenes)
    events = [
        (record.event.candidate, type(record.event))
        for record in context.log.records
        if isinstance(record.event, PhaseEntered | ToolFinished) and "research-" in record.event.candidate
    ]
    first_entries = [("c1/research-1/1", PhaseEntered), ("c1/research-1/2", PhaseEntered)]
    assert events[:2] == first_entries
    names = [name for name, _ in events]
    assert names.index("c1/research-1/2") < len(names) - 1 - names[::-1].index("c1/research-1/1")
    refused = [
        record.event.message.ok
        for record in context.log.records
        if isinstance(record.event, ToolFinished) and record.event.message.name == "apply_patch"
    ]
    assert refused == [False, False]


def test_wrong_citations_are_dropped_and_doubtful_ones_marked(tmp_path: Path) -> None:
    invented = {"text": "`VALUE` is a lie", "places": ["a.py:77"]}
    doubtful = {"text": "`Thing` is cached", "places": ["a.py:1"]}
    details = "`VALUE` is 1 (`a.py:1`). It is never changed (`b.py:3`)."
    scenes = [
        plan("definition"),
        research("definition", CITED, invented, doubtful),
        evaluation("synthesize"),
        report(CITED, invented, doubtful, details=details),
    ]
    context = run(tmp_path, scenes)
    notes = [event.note for event in events(context.log, NoteMade)]
    result = next(note for note in notes if isinstance(note, ResearchResult))
    assert [claim.text for claim in result.claims] == ["`VALUE` is 1", "`Thing` is cached"]
    assert [claim.text for claim in result.dropped] == ["`VALUE` is a lie"]
    page = format_report(written_report(context), QUESTION)
    assert "`Thing` is cached (`a.py:1`) **Unconfirmed**" in page
    assert "- Dropped: `VALUE` is a lie" in page
    assert "It is never changed ([citation dropped: no such place])." in page
    assert "1 unconfirmed, 2 dropped (no such place)" in page


def test_dead_researcher_leaves_its_part_open(tmp_path: Path) -> None:
    dies = ScriptStep.model_validate(
        {"when": "Your part: tests\n", "error": {"message": "The model is gone."}}
    )
    scenes = [plan(*TOPICS), research("definition"), dies, evaluation("synthesize"), report()]
    context = run(tmp_path, scenes)
    dropped = events(context.log, CandidateDropped)
    assert dropped == [CandidateDropped(candidate="c1/research-1/2", reason="The model is gone.")]
    requests: list[Request] = context.model.requests  # type: ignore[attr-defined]
    asked = next(request for request in requests if "You are the evaluator" in request.messages[-1].text)
    assert "Parts that nobody answered\n- tests: Look at the tests." in asked.messages[-1].text
    assert written_report(context).findings


def test_interrupted_research_goes_on_with_its_notes(tmp_path: Path) -> None:
    dies = ScriptStep.model_validate({"when": "Your part: tests\n", "error": {"message": "Stopped."}})
    before = run(tmp_path, [plan(*TOPICS), research("definition"), dies, evaluation("synthesize"), report()])
    records = [
        record
        for record in before.log.records
        if not (isinstance(record.event, NoteMade) and record.event.note.kind in ("report", "evaluation"))
        and getattr(record.event, "candidate", "") != "c1"
    ]
    earlier = read_continuation("earlier", records).model_copy(update={"question": QUESTION})
    scenes = [research("tests"), evaluation("synthesize"), report()]
    context = run(tmp_path, scenes, continued=earlier)
    assert len(context.model.requests) == 3  # type: ignore[attr-defined]
    writer = context.model.requests[-1].messages[-1].text  # type: ignore[attr-defined]
    assert ("## The definition." in writer, "## The tests." in writer) == (True, True)


def test_another_question_builds_on_known_findings(tmp_path: Path) -> None:
    earlier = Continuation(
        session="earlier",
        question="Something else?",
        answer="It was 0.",
        research={
            "c1/research-1/1": ResearchResult(
                summary="Known already.",
                claims=(CheckedClaim(text="`VALUE` was 0", places=("a.py:9",)),),
            )
        },
    )
    context = run(
        tmp_path,
        [plan("tests"), research("tests"), evaluation("synthesize"), report()],
        continued=earlier,
    )
    planner = context.model.requests[0].messages[0].text  # type: ignore[attr-defined]
    assert "# Known from before" in planner
    assert "Something else?" in planner
    assert "It was 0." in planner
    assert "- dropped by the check of citations: `VALUE` was 0" in planner


def test_plain_question_after_an_interruption_hears_of_the_findings(tmp_path: Path) -> None:
    earlier = Continuation(
        session="earlier",
        question=QUESTION,
        research={"c1/research-1/1": ResearchResult(summary="Known already.")},
    )
    context = replace(kit(tmp_path, [ScriptStep(text="It is 1.")], issue="And why?"), continued=earlier)
    asyncio.run(answer_question(context.on(context.repository.create_candidate("c1"))))
    (request,) = context.model.requests  # type: ignore[attr-defined]
    assert "Known already." in request.messages[0].text
    assert request.system.startswith("You answer questions")
