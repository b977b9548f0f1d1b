"""Strategy of a research: plan, researchers in parallel, an evaluator that names gaps, a report."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from coder.core.errors import LimitReached, ModelError
from coder.core.events import CandidateDropped, CandidateForked, NoteMade, Warned
from coder.core.notes import GiveUp, Note
from coder.core.research import Evaluation, ResearchNote, ResearchPlan, ResearchResult, Subtopic
from coder.core.values.candidate import Candidate
from coder.session.context import SessionContext
from coder.session.phase import PhaseSpec, run_phase
from coder.strategies.research.phases import (
    check_result,
    evaluation_phase,
    planning_phase,
    research_phase,
    synthesis_phase,
)
from coder.tools.registry import (
    EVALUATING_TOOLS,
    RESEARCH_PLANNING_TOOLS,
    RESEARCHING_TOOLS,
    SYNTHESIZING_TOOLS,
)
from coder.tools.tool import Tool


@dataclass
class _Findings:
    """Results so far, and the topics of the newest round that nobody answered."""

    known: tuple[ResearchResult, ...]
    """Of an earlier session."""
    results: list[ResearchResult] = field(default_factory=list)
    unanswered: list[Subtopic] = field(default_factory=list)
    failures: list[ModelError | LimitReached] = field(default_factory=list)

    @property
    def all_results(self) -> tuple[ResearchResult, ...]:
        return (*self.known, *self.results)


async def research_question(context: SessionContext, candidate: Candidate) -> Candidate:
    """Research the question of the task, and end with a report as the candidate's note.

    An interrupted research of the same question that this session continues is not repeated: its notes are
    taken over, with their citations checked again.
    """
    findings = _Findings(known=await _known_results(context, candidate))
    plan = await _plan(context, candidate, findings.known)
    if isinstance(plan, GiveUp):
        context.log.append(NoteMade(candidate=candidate.id, phase="plan", note=plan, implied=True))
        return candidate
    judgement = await _research_rounds(context, candidate, plan.subtopics, findings)
    if not any(result.claims for result in findings.all_results):
        if findings.failures:
            raise findings.failures[-1]
        note = GiveUp(summary="The researchers found nothing that the repository shows.")
        context.log.append(NoteMade(candidate=candidate.id, phase="research", note=note, implied=True))
        return candidate
    # A conversation that goes on holds the findings of the session before.
    is_conversation_kept = context.continued is not None and bool(context.continued.messages)
    results = findings.results if is_conversation_kept else findings.all_results
    writer = replace(context, role="synthesizer", system="system_research", tools=SYNTHESIZING_TOOLS)
    await run_phase(writer, candidate, synthesis_phase(results, evaluation=judgement), 1)
    return candidate


async def _plan(
    context: SessionContext, candidate: Candidate, known: tuple[ResearchResult, ...]
) -> ResearchPlan | GiveUp:
    note = await _run_reader(
        context,
        candidate,
        "plan",
        role="planner",
        tools=RESEARCH_PLANNING_TOOLS,
        purpose=planning_phase(known),
        approach="plan",
    )
    if isinstance(note, ResearchPlan | GiveUp):
        return note
    context.log.append(Warned(text="The planner made no plan: the question is researched as a whole."))
    whole = Subtopic(title="the whole question", question=context.task.issue)
    return ResearchPlan(summary=context.task.issue, subtopics=(whole,))


async def _research_rounds(
    context: SessionContext, candidate: Candidate, topics: Sequence[Subtopic], findings: _Findings
) -> str:
    """Research in rounds until the evaluator asks for no more; return its newest judgement."""
    judgement = ""
    for number in range(1, context.task.iterations + 1):
        await _research_round(context, candidate, topics, findings, number=number, gap=judgement)
        if not any(result.claims for result in findings.all_results):
            return ""
        if number == context.task.iterations:
            if number > 1 or findings.unanswered:
                context.log.append(
                    Warned(text=f"Round {number} was the last that is allowed: its findings are not judged.")
                )
            return judgement
        evaluation = await _evaluate(context, candidate, findings, number)
        judgement = evaluation.summary if evaluation else judgement
        if evaluation is None or evaluation.decision == "synthesize":
            return judgement
        topics = evaluation.gaps
    return judgement


async def _research_round(
    context: SessionContext,
    candidate: Candidate,
    topics: Sequence[Subtopic],
    findings: _Findings,
    *,
    number: int,
    gap: str,
) -> None:
    """Research all topics at once, each with an equal share of the budget; a share is left for the report."""
    shares = [context.budget.share(len(topics) + 1) for _ in topics]

    async def research(order: int, topic: Subtopic) -> ResearchResult | None:
        name = f"research-{number}/{order}"
        try:
            note = await _run_reader(
                replace(context, budget=shares[order - 1]),
                candidate,
                name,
                role="researcher",
                tools=RESEARCHING_TOOLS,
                purpose=research_phase(topic, gap=gap),
                approach=topic.title,
                round_number=number,
            )
        except (ModelError, LimitReached) as error:
            findings.failures.append(error)
            reason = str(error)
        else:
            if isinstance(note, ResearchResult):
                return note
            reason = note.summary if note is not None else "It handed over nothing."
        context.log.append(CandidateDropped(candidate=f"{candidate.id}/{name}", reason=reason))
        return None

    tasks = [asyncio.ensure_future(research(order, topic)) for order, topic in enumerate(topics, start=1)]
    try:
        notes = await asyncio.gather(*tasks)
    finally:
        for task in tasks:  # a bug in one must not leave the others at work
            task.cancel()
    findings.results += [note for note in notes if note is not None]
    findings.unanswered = [topic for topic, note in zip(topics, notes, strict=True) if note is None]


async def _evaluate(
    context: SessionContext, candidate: Candidate, findings: _Findings, number: int
) -> Evaluation | None:
    try:
        note = await _run_reader(
            context,
            candidate,
            f"evaluate-{number}",
            role="reviewer",
            tools=EVALUATING_TOOLS,
            purpose=evaluation_phase(findings.unanswered, findings.all_results),
            approach="evaluate",
            round_number=number,
        )
    except (ModelError, LimitReached) as error:
        context.log.append(Warned(text=f"Nobody judged the findings: {error}"))
        return None
    return note if isinstance(note, Evaluation) else None


async def _run_reader(
    context: SessionContext,
    candidate: Candidate,
    name: str,
    *,
    role: str,
    tools: tuple[Tool, ...],
    purpose: PhaseSpec,
    approach: str,
    round_number: int = 1,
) -> Note | None:
    """Run one role in a conversation of its own over the candidate's worktree, and return its note."""
    reader = candidate.model_copy(update={"id": f"{candidate.id}/{name}"})
    context.log.append(CandidateForked(candidate=reader.id, role=role, approach=approach))
    if (earlier := _interrupted_notes(context).get(reader.id)) is not None:
        if isinstance(earlier, ResearchResult):
            earlier = await check_result(context, reader, earlier)
        context.log.append(
            NoteMade(candidate=reader.id, phase=purpose.phase.name, note=earlier, implied=True)
        )
        return earlier
    reading = replace(context, role=role, system="system_research", tools=tools)
    return await run_phase(reading, reader, purpose, round_number)


def _interrupted_notes(context: SessionContext) -> dict[str, ResearchNote]:
    """Return the notes of an unfinished research of the same question that this session continues."""
    earlier = context.continued
    if earlier is None or not earlier.is_unfinished_research(context.task.issue):
        return {}
    return dict(earlier.research)


async def _known_results(context: SessionContext, candidate: Candidate) -> tuple[ResearchResult, ...]:
    """Return the findings of the session that this one continues, unless it goes on with that research.

    Their citations are checked again, because the repository may have changed.
    """
    earlier = context.continued
    if earlier is None or earlier.is_unfinished_research(context.task.issue):
        return ()
    results = [note for note in earlier.research.values() if isinstance(note, ResearchResult)]
    return tuple([await check_result(context, candidate, result) for result in results])
