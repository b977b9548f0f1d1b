"""Research of a question in rounds."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from coder.core.errors import LimitReached, ModelError, UserError
from coder.core.events import CandidateDropped, CandidateForked, NoteMade, Source
from coder.core.notes import (
    CitationCounts,
    Evaluation,
    GiveUp,
    Note,
    ResearchNote,
    ResearchPlan,
    ResearchReport,
    ResearchResult,
    Subtopic,
)
from coder.core.values import EVALUATE, PLAN_RESEARCH, RESEARCH, SYNTHESIZE, Candidate, Value
from coder.retrieval.orientation import issue_overview
from coder.session.context import CandidateRun, SessionContext, run_part
from coder.session.phase import PhaseSpec, PhaseState, render_prompt, run_phase
from coder.strategies.citations import CitationChecker, check_claims, check_text, count_uncited_paragraphs
from coder.strategies.fan_out import PartOutcome, fan_out
from coder.tools.registry import (
    EVALUATING_TOOLS,
    RESEARCH_PLANNING_TOOLS,
    RESEARCHING_TOOLS,
    SYNTHESIZING_TOOLS,
)
from coder.tools.tool import Tool


async def research_question(run: CandidateRun) -> Candidate:
    """Research the question of the task, and end with a report as the candidate's note.

    An interrupted research of the same question that this session continues is not repeated: its notes are
    taken over, with their citations checked again.
    """
    research = _Research(run, await _known_results(run))
    plan = await _plan(run, research.known)
    if isinstance(plan, GiveUp):
        run.log.append(NoteMade(candidate=run.candidate.id, phase="plan", note=plan, implied=True))
        return run.candidate
    await fan_out(
        run,
        _make_parts(1, plan.subtopics),
        work=lambda shared, part: run_part(shared.on(run.candidate), part),
        evaluate=research.evaluate,
        rounds=run.task.iterations,
        reserved_shares=1,
    )
    if not research.has_claims:
        note = GiveUp(summary="The researchers found nothing that the repository shows.")
        run.log.append(NoteMade(candidate=run.candidate.id, phase="research", note=note, implied=True))
        return run.candidate
    # A conversation that goes on holds the findings of the session before.
    is_conversation_kept = run.continued is not None and bool(run.continued.messages)
    results = research.results if is_conversation_kept else research.all_results
    writer = replace(run, role="synthesizer", system="system_research", tools=SYNTHESIZING_TOOLS)
    await run_phase(writer, synthesis_phase(results, evaluation=research.judgement), 1)
    return run.candidate


async def _plan(run: CandidateRun, known: tuple[ResearchResult, ...]) -> ResearchPlan | GiveUp:
    note = await _run_reader(run, "plan", planning_phase(known))
    if isinstance(note, ResearchPlan | GiveUp):
        return note
    run.log.warn("The planner made no plan: the question is researched as a whole.")
    whole = Subtopic(title="the whole question", question=run.task.issue)
    return ResearchPlan(summary=run.task.issue, subtopics=(whole,))


class ResearchPart(Value):
    name: str
    topic: Subtopic
    gap: str

    async def perform(self, run: CandidateRun) -> Note | None:
        spec = research_phase(self.topic, gap=self.gap)
        return await _run_reader(run, self.name, spec, approach=self.topic.title)


def _make_parts(number: int, topics: Sequence[Subtopic], *, gap: str = "") -> list[ResearchPart]:
    return [
        ResearchPart(name=f"research-{number}/{order}", topic=topic, gap=gap)
        for order, topic in enumerate(topics, start=1)
    ]


@dataclass
class _Research:
    """Results so far, and their newest evaluation."""

    run: CandidateRun
    known: tuple[ResearchResult, ...]
    """Results of an earlier session."""
    results: list[ResearchResult] = field(default_factory=list)
    judgement: str = ""

    @property
    def all_results(self) -> tuple[ResearchResult, ...]:
        return (*self.known, *self.results)

    @property
    def has_claims(self) -> bool:
        return any(result.claims for result in self.all_results)

    async def evaluate(
        self, number: int, outcomes: Sequence[PartOutcome[ResearchPart]]
    ) -> Sequence[ResearchPart]:
        """Take over the results of a round, and return the parts of the next one; none to write the report.

        The last round is not evaluated, because nothing could follow from it.

        Raises:
            LimitReached, ModelError: the model failed, and nothing was found.
        """
        unanswered = [outcome for outcome in outcomes if not isinstance(outcome.note, ResearchResult)]
        self.results += [outcome.note for outcome in outcomes if isinstance(outcome.note, ResearchResult)]
        for outcome in unanswered:
            summary = outcome.note.summary if outcome.note is not None else "It handed over nothing."
            name, reason = f"{self.run.candidate.id}/{outcome.part.name}", str(outcome.error or summary)
            self.run.log.append(CandidateDropped(candidate=name, reason=reason))
        errors = [outcome.error for outcome in unanswered if outcome.error is not None]
        if not self.has_claims:
            if errors:
                raise errors[-1]
            return ()
        if number == self.run.task.iterations:
            if number > 1 or unanswered:
                text = f"Round {number} was the last that is allowed: its findings are not judged."
                self.run.log.warn(text)
            return ()
        return await self._find_gaps(number, [outcome.part.topic for outcome in unanswered])

    async def _find_gaps(self, number: int, unanswered: Sequence[Subtopic]) -> Sequence[ResearchPart]:
        """Ask the evaluator; where it cannot be had, the report is written."""
        spec = evaluation_phase(unanswered, self.all_results)
        try:
            note = await _run_reader(self.run, f"evaluate-{number}", spec)
        except (ModelError, LimitReached) as error:
            self.run.log.warn(f"Nobody judged the findings: {error}")
            return ()
        if not isinstance(note, Evaluation):
            return ()
        self.judgement = note.summary
        gaps = () if note.decision == "synthesize" else note.gaps
        return _make_parts(number + 1, gaps, gap=note.summary)


READERS: Mapping[str, tuple[str, tuple[Tool, ...]]] = {
    "plan": ("planner", RESEARCH_PLANNING_TOOLS),
    "research": ("researcher", RESEARCHING_TOOLS),
    "evaluate": ("reviewer", EVALUATING_TOOLS),
}
"""Role and tools by the phase of a reader."""


async def _run_reader(run: CandidateRun, name: str, spec: PhaseSpec, *, approach: str = "") -> Note | None:
    """Run one role in a conversation of its own over the candidate's worktree, and return its note."""
    reader = run.candidate.model_copy(update={"id": f"{run.candidate.id}/{name}"})
    role, tools = READERS[spec.phase.name]
    approach = approach or spec.phase.name
    run.log.append(CandidateForked(candidate=reader.id, role=role, approach=approach))
    if (earlier := _interrupted_notes(run).get(reader.id)) is not None:
        if isinstance(earlier, ResearchResult):
            earlier = await check_result(run.on(reader), earlier)
        run.log.append(NoteMade(candidate=reader.id, phase=spec.phase.name, note=earlier, implied=True))
        return earlier
    reading = replace(run, role=role, system="system_research", tools=tools)
    return await run_phase(reading.on(reader), spec, 1)


def _interrupted_notes(context: SessionContext) -> dict[str, ResearchNote]:
    """Return the notes of an unfinished research of the same question that this session continues."""
    earlier = context.continued
    if earlier is None or not earlier.is_unfinished_research(context.task.issue):
        return {}
    return dict(earlier.research)


async def _known_results(run: CandidateRun) -> tuple[ResearchResult, ...]:
    """Return the findings of the session that this one continues, unless it goes on with that research.

    Their citations are checked again, because the repository may have changed.
    """
    earlier = run.continued
    if earlier is None or earlier.is_unfinished_research(run.task.issue):
        return ()
    results = [note for note in earlier.research.values() if isinstance(note, ResearchResult)]
    return tuple([await check_result(run, result) for result in results])


FIRST_LOOK_CHARACTERS = 10_000
"""Limit of what a search for the question shows the planner."""
PART_LOOK_CHARACTERS = 7_000
"""The same for a part and its researcher."""
SHORT_COMMIT = 12


def planning_phase(known: Sequence[ResearchResult]) -> PhaseSpec:
    """Return the phase that splits the question; `known` are findings of an earlier session."""

    async def opening(run: CandidateRun) -> str:
        return render_prompt(
            "research_plan",
            task=run.task,
            instructions=run.instructions,
            known=known,
            earlier=run.continued,
            look=await _look(run, run.task.issue, FIRST_LOOK_CHARACTERS),
        )

    async def settle(_run: CandidateRun, state: PhaseState) -> Note | str | None:
        if isinstance(state.note, ResearchPlan) and not state.note.subtopics and not known:
            return "A plan needs at least one part of the question: give `subtopics`."
        return state.note

    return PhaseSpec(phase=PLAN_RESEARCH, opening=opening, settle=settle)


def research_phase(topic: Subtopic, *, gap: str) -> PhaseSpec:
    """Return the phase of one researcher; `gap` is the judgement that asks for a further round, if any."""
    turns = 0

    async def opening(run: CandidateRun) -> str:
        look = await _look(run, f"{topic.title}\n{topic.question}", PART_LOOK_CHARACTERS)
        return render_prompt("research", task=run.task, topic=topic, gap=gap, look=look)

    async def settle(run: CandidateRun, state: PhaseState) -> Note | str | None:
        nonlocal turns
        if isinstance(state.note, ResearchResult):
            return await check_result(run, state.note)
        turns += not state.entry
        if state.note is None and turns == RESEARCH.max_turns - 1:
            return "This is your last reply: hand over what you have found, and what is still open."
        return state.note

    return PhaseSpec(phase=RESEARCH, opening=opening, settle=settle)


def evaluation_phase(topics: Sequence[Subtopic], results: Sequence[ResearchResult]) -> PhaseSpec:
    """Return the phase that judges the findings; `topics` are those of this round that nobody answered."""

    async def opening(run: CandidateRun) -> str:
        return render_prompt("evaluate", task=run.task, results=results, unanswered=topics)

    return PhaseSpec(phase=EVALUATE, opening=opening)


def synthesis_phase(results: Sequence[ResearchResult], *, evaluation: str) -> PhaseSpec:
    """Return the phase that writes the report; its citations are checked as those of the researchers."""

    async def opening(run: CandidateRun) -> str:
        return render_prompt("synthesize", task=run.task, results=results, evaluation=evaluation)

    async def settle(run: CandidateRun, state: PhaseState) -> Note | None:
        if isinstance(state.note, ResearchReport):
            checker = CitationChecker(run.workspace(run.candidate))
            return await asyncio.to_thread(check_report, run, checker, state.note)
        return state.note

    return PhaseSpec(phase=SYNTHESIZE, opening=opening, settle=settle)


async def check_result(run: CandidateRun, result: ResearchResult) -> ResearchResult:
    checker = CitationChecker(run.workspace(run.candidate))
    claims, dropped = await asyncio.to_thread(check_claims, checker, result.claims)
    return result.model_copy(update={"claims": claims, "dropped": (*result.dropped, *dropped)})


def check_report(context: SessionContext, checker: CitationChecker, report: ResearchReport) -> ResearchReport:
    """Return a report with the citations of all its parts checked, and the commit that they refer to."""
    findings, dropped = check_claims(checker, report.findings)
    dirty = " with the uncommitted work" if context.repository.dirty else ""
    checked = {
        "summary": check_text(checker, report.summary),
        "findings": findings,
        "details": check_text(checker, report.details),
        "recommendations": tuple(check_text(checker, text) for text in report.recommendations),
        "open_questions": tuple(check_text(checker, text) for text in report.open_questions),
        "dropped": dropped,
        "uncited": count_uncited_paragraphs(report.details),
        "commit": f"{context.repository.head[:SHORT_COMMIT]}{dirty}",
        "sources": tuple(f"`{source.path}`: {source.origin}" for source in context.task.sources),
    }
    counts = CitationCounts.model_validate(checker.counts)
    return report.model_copy(update={**checked, "citations": counts})


async def _look(run: CandidateRun, text: str, characters: int) -> str:
    workspace = run.workspace(run.candidate)
    return (await asyncio.to_thread(issue_overview, workspace, text, (), characters)).text


def write_sources(worktree: Path, sources: Sequence[Source]) -> None:
    """Write the sources of a question into its worktree, which is never delivered.

    Raises:
        UserError: the repository has a file where one would lie.
    """
    for top in {source.path.partition("/")[0] for source in sources}:
        try:
            (worktree / top).mkdir()
        except FileExistsError:
            raise UserError(
                f"The repository has {top!r} itself, where texts beside it would lie: ask without "
                "--document and --url."
            ) from None
    for source in sources:
        path = worktree / source.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source.text, encoding="utf-8")
