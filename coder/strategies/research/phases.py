"""Phases of a research: plan, research one part, evaluate, synthesize."""

import asyncio
from collections.abc import Sequence

from coder.core.notes import Note
from coder.core.notes.research import ResearchPlan, ResearchReport, ResearchResult, Subtopic
from coder.core.phases import EVALUATE, PLAN_RESEARCH, RESEARCH, SYNTHESIZE
from coder.core.values.candidate import Candidate
from coder.retrieval.orientation import issue_overview
from coder.session.context import SessionContext
from coder.session.phase import PhaseSpec, PhaseState
from coder.strategies.research.citations import (
    CitationChecker,
    check_claims,
    check_text,
    count_uncited_paragraphs,
)

FIRST_LOOK_CHARACTERS = 10_000
"""Limit of what a search for the question shows the planner."""
PART_LOOK_CHARACTERS = 7_000
"""The same for a part and its researcher."""
SHORT_COMMIT = 12


def planning_phase(known: Sequence[ResearchResult]) -> PhaseSpec:
    """Return the phase that splits the question; `known` are findings of an earlier session."""

    async def opening(context: SessionContext, reader: Candidate) -> str:
        return context.prompts.render(
            "research_plan",
            task=context.task,
            instructions=context.instructions,
            known=known,
            earlier=context.continued,
            look=await _look(context, reader, context.task.issue, FIRST_LOOK_CHARACTERS),
        )

    async def settle(_context: SessionContext, _reader: Candidate, state: PhaseState) -> Note | str | None:
        if isinstance(state.note, ResearchPlan) and not state.note.subtopics and not known:
            return "A plan needs at least one part of the question: give `subtopics`."
        return state.note

    return PhaseSpec(phase=PLAN_RESEARCH, opening=opening, settle=settle)


def research_phase(topic: Subtopic, *, gap: str) -> PhaseSpec:
    """Return the phase of one researcher; `gap` is the judgement that asks for a further round, if any."""
    turns = 0

    async def opening(context: SessionContext, reader: Candidate) -> str:
        look = await _look(context, reader, f"{topic.title}\n{topic.question}", PART_LOOK_CHARACTERS)
        return context.prompts.render("research", task=context.task, topic=topic, gap=gap, look=look)

    async def settle(context: SessionContext, reader: Candidate, state: PhaseState) -> Note | str | None:
        nonlocal turns
        if isinstance(state.note, ResearchResult):
            return await check_result(context, reader, state.note)
        turns += not state.entry
        if state.note is None and turns == RESEARCH.max_turns - 1:
            return "This is your last reply: hand over what you have found, and what is still open."
        return state.note

    return PhaseSpec(phase=RESEARCH, opening=opening, settle=settle)


def evaluation_phase(topics: Sequence[Subtopic], results: Sequence[ResearchResult]) -> PhaseSpec:
    """Return the phase that judges the findings; `topics` are those of this round that nobody answered."""

    async def opening(context: SessionContext, _reader: Candidate) -> str:
        return context.prompts.render("evaluate", task=context.task, results=results, unanswered=topics)

    return PhaseSpec(phase=EVALUATE, opening=opening, settle=_settle_with_note)


def synthesis_phase(results: Sequence[ResearchResult], *, evaluation: str) -> PhaseSpec:
    """Return the phase that writes the report; its citations are checked as those of the researchers."""

    async def opening(context: SessionContext, _candidate: Candidate) -> str:
        return context.prompts.render("synthesize", task=context.task, results=results, evaluation=evaluation)

    async def settle(context: SessionContext, candidate: Candidate, state: PhaseState) -> Note | None:
        if isinstance(state.note, ResearchReport):
            checker = CitationChecker(context.workspace(candidate))
            return await asyncio.to_thread(check_report, context, checker, state.note)
        return state.note

    return PhaseSpec(phase=SYNTHESIZE, opening=opening, settle=settle)


async def check_result(
    context: SessionContext, candidate: Candidate, result: ResearchResult
) -> ResearchResult:
    """Return a researcher's result with its citations checked."""
    checker = CitationChecker(context.workspace(candidate))
    claims, dropped, _ = await asyncio.to_thread(check_claims, checker, result.claims)
    return result.model_copy(update={"claims": claims, "dropped": (*result.dropped, *dropped)})


def check_report(context: SessionContext, checker: CitationChecker, report: ResearchReport) -> ResearchReport:
    """Return a report with the citations of all its parts checked, and the commit that they refer to."""
    findings, dropped, counts = check_claims(checker, report.findings)
    texts = [report.summary, report.details, *report.recommendations, *report.open_questions]
    checked_texts: list[str] = []
    for text in texts:
        checked, text_counts = check_text(checker, text)
        counts = counts.plus(text_counts)
        checked_texts.append(checked)
    summary, details, *others = checked_texts
    advice_count = len(report.recommendations)
    dirty = " with the uncommitted work" if context.repository.dirty else ""
    return report.model_copy(
        update={
            "summary": summary,
            "findings": findings,
            "details": details,
            "recommendations": tuple(others[:advice_count]),
            "open_questions": tuple(others[advice_count:]),
            "dropped": dropped,
            "citations": counts,
            "uncited": count_uncited_paragraphs(report.details),
            "commit": f"{context.repository.head[:SHORT_COMMIT]}{dirty}",
            "sources": tuple(f"`{source.path}`: {source.origin}" for source in context.task.sources),
        }
    )


async def _settle_with_note(
    _context: SessionContext, _candidate: Candidate, state: PhaseState
) -> Note | None:
    return state.note


async def _look(context: SessionContext, reader: Candidate, text: str, characters: int) -> str:
    workspace = context.workspace(reader)
    return await asyncio.to_thread(issue_overview, workspace, text, (), characters)
