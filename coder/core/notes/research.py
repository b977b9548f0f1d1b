"""Notes of a research: subtopics, claims with their citations, evaluations, and the report."""

from collections.abc import Iterator, Sequence
from typing import Literal

from coder.core.values.base import Value


class Subtopic(Value):
    """One part of a question, for one researcher."""

    title: str
    question: str
    """Description of the part, for somebody who knows the whole question but no other part."""


class ResearchPlan(Value):
    """The planner's note: the parts of the question."""

    kind: Literal["research_plan"] = "research_plan"
    summary: str
    subtopics: tuple[Subtopic, ...]


class Claim(Value):
    """A statement, and the places that show it."""

    text: str
    places: tuple[str, ...]
    """`path:line`, `path:first-last`, or `commit <hash>`."""


class CheckedClaim(Claim):
    """A claim after its citations were opened."""

    problem: str = ""
    """Why it is not confirmed; empty where a cited place shares its names or words."""

    @property
    def line(self) -> str:
        """The claim with its places and its problem, in one line of Markdown."""
        cited = ", ".join(f"`{place}`" for place in self.places)
        doubt = f" **Unconfirmed**: {self.problem}." if self.problem else ""
        return f"{' '.join(self.text.split())}{f' ({cited})' if cited else ''}{doubt}"


class ResearchResult(Value):
    """A researcher's note: the claims that answer its subtopic."""

    kind: Literal["research"] = "research"
    summary: str
    claims: tuple[CheckedClaim, ...] = ()
    open_questions: tuple[str, ...] = ()
    dropped: tuple[CheckedClaim, ...] = ()
    """Claims none of whose citations exists."""


class Evaluation(Value):
    """The evaluator's note: whether the findings answer the question."""

    kind: Literal["evaluation"] = "evaluation"
    summary: str
    decision: Literal["synthesize", "deepen"]
    gaps: tuple[Subtopic, ...] = ()
    """Only these are researched again."""


class CitationCounts(Value):
    """Citations of a report by the result of opening them."""

    confirmed: int = 0
    unconfirmed: int = 0
    """The lines exist, but share neither names nor enough words with the statement."""
    missing: int = 0
    """There is no such line or commit."""

    def plus(self, other: "CitationCounts") -> "CitationCounts":
        return CitationCounts(
            confirmed=self.confirmed + other.confirmed,
            unconfirmed=self.unconfirmed + other.unconfirmed,
            missing=self.missing + other.missing,
        )


class ResearchReport(Value):
    """The note of a research: the report."""

    kind: Literal["report"] = "report"
    summary: str
    """The executive answer: about three sentences."""
    findings: tuple[CheckedClaim, ...]
    details: str
    """Markdown with citations."""
    recommendations: tuple[str, ...] = ()
    open_questions: tuple[str, ...] = ()
    dropped: tuple[CheckedClaim, ...] = ()
    citations: CitationCounts = CitationCounts()
    uncited: int = 0
    """Paragraphs and list items of the details that cite nothing."""
    commit: str = ""
    """The commit that the citations refer to."""
    sources: tuple[str, ...] = ()
    """Documents and pages that were read beside the repository, with their paths in citations."""


ResearchNote = ResearchPlan | ResearchResult | Evaluation | ResearchReport


def count_unconfirmed(claims: Sequence[CheckedClaim]) -> int:
    return sum(bool(claim.problem) for claim in claims)


def describe_note(note: ResearchNote) -> list[str]:
    """Describe a note for a progress display: its parts, its judgement, or how many claims it has."""
    match note:
        case ResearchPlan(subtopics=topics) | Evaluation(gaps=topics):
            prefix = f"{note.decision}: " if isinstance(note, Evaluation) else ""
            return [f"{prefix}{note.summary}", *(f"- {topic.title}" for topic in topics)]
        case ResearchResult(claims=claims, dropped=dropped):
            counts = (
                f"{len(claims)} claim{'s' * (len(claims) != 1)}, {count_unconfirmed(claims)} unconfirmed, "
                f"{len(dropped)} dropped"
            )
            return [f"{counts}: {note.summary}"]
        case ResearchReport():
            return []


def format_report(report: ResearchReport, question: str) -> str:
    """Render a report as Markdown."""
    return "\n\n".join(_sections(report, question))


def _sections(report: ResearchReport, question: str) -> Iterator[str]:
    yield f"# {' '.join(question.split())[:200]}"
    yield report.summary.strip()
    findings = [claim.line for claim in report.findings]
    yield _number_section("Key findings", findings or ["None that the repository shows."])
    yield f"## In depth\n{report.details.strip()}"
    if report.recommendations:
        yield _number_section("Recommendations", report.recommendations)
    if report.open_questions:
        yield _list_section("Open questions", report.open_questions)
    if report.sources:
        yield _list_section("Sources beside the repository", report.sources)
    yield _citation_section(report)


def _citation_section(report: ResearchReport) -> str:
    counts = report.citations
    total = counts.confirmed + counts.unconfirmed + counts.missing
    at = f" at {report.commit}" if report.commit else ""
    lines = [
        f"## Citations\n{total} opened{at}: {counts.confirmed} confirmed (their lines share names or words "
        f"with the statement), {counts.unconfirmed} unconfirmed, {counts.missing} dropped (no such place). "
        "This is a check of words, not of truth."
    ]
    if report.uncited:
        lines.append(f"- Paragraphs and list items in depth that cite nothing: {report.uncited}")
    lines += [f"- Dropped: {claim.line}" for claim in report.dropped]
    return "\n".join(lines)


def _number_section(title: str, texts: Sequence[str]) -> str:
    return "\n".join(
        [f"## {title}", *(f"{number}. {' '.join(text.split())}" for number, text in enumerate(texts, 1))]
    )


def _list_section(title: str, texts: Sequence[str]) -> str:
    return "\n".join([f"## {title}", *(f"- {' '.join(text.split())}" for text in texts)])
