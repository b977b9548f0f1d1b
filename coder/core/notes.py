"""Typed notes: what a phase hands on."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field

from coder.core.values import Value


class Sites(Value):
    """Locate's note: where the change belongs."""

    kind: Literal["sites"] = "sites"
    summary: str
    places: tuple[str, ...] = ()
    """`path`, `path:line` or `path::Qualified.name`, most likely first."""
    tests: tuple[str, ...] = ()
    """Ids of tests that fail already because of the issue."""


class Reproduction(Value):
    """Reproduce's note: the tests that fail because of the issue and for no other reason."""

    kind: Literal["reproduction"] = "reproduction"
    summary: str
    tests: tuple[str, ...]
    unrelated_tests: tuple[str, ...] = ()
    """Ids of tests that the model says are not about the issue."""


class Step(Value):
    """One small change of a plan."""

    intent: str
    """State of the code afterwards."""
    files: tuple[str, ...] = ()
    """Paths that it changes."""
    check: str = ""
    """Check that it is done: a test's id, or a sentence."""


class Component(Value):
    """One module of code to build, with its interface and its tests."""

    name: str
    """Unique in its plan: letters, digits, hyphens and underscores."""
    purpose: str
    path: str
    """Its module, relative to the repository's root."""
    api: tuple[str, ...] = ()
    """Public interface, one signature each, such as `def load(path: Path) -> list[Task]`."""
    dependencies: tuple[str, ...] = ()
    """Names of the components that it imports."""
    tests: tuple[str, ...] = ()
    """Paths of its test files."""

    @property
    def files(self) -> tuple[str, ...]:
        """Paths that belong to it: its tests, then its module."""
        return (*self.tests, self.path)


class Plan(Value):
    """The planner's note: the remaining steps of a fix, in order, or the components of code to build."""

    kind: Literal["plan"] = "plan"
    summary: str
    steps: tuple[Step, ...] = ()
    components: tuple[Component, ...] = ()


class Done(Value):
    """Edit's and repair's note: the change is made."""

    kind: Literal["done"] = "done"
    summary: str
    """Description of the new behaviour, fit for a commit subject; empty where an earlier note says it."""
    unrelated_tests: tuple[str, ...] = ()
    """Ids of tests that the model says are not about the issue."""


class Diagnosis(Value):
    """Diagnose's note: why the last attempt failed and what to change."""

    kind: Literal["diagnosis"] = "diagnosis"
    summary: str
    places: tuple[str, ...] = ()
    start_over: bool = False
    """Undo what was changed outside the tests, and try another way."""
    unrelated_tests: tuple[str, ...] = ()
    """Ids of tests that the model says are not about the issue."""


Severity = Literal["blocker", "major", "minor"]


class ReviewFinding(Value):
    """One thing that a reviewer holds against a change."""

    severity: Severity
    path: str
    line: int = 0
    """In the changed file, from 1; 0 is the file as a whole."""
    text: str

    @property
    def place(self) -> str:
        """`path:line`, or the path of a finding on the whole file."""
        return f"{self.path}:{self.line}" if self.line else self.path


class Findings(Value):
    """Review's note: the verdict of an independent reviewer."""

    kind: Literal["findings"] = "findings"
    summary: str
    approve: bool
    """False requests changes before this goes anywhere."""
    findings: tuple[ReviewFinding, ...] = ()


class GiveUp(Value):
    """The end without a fix: what is known, for the next attempt."""

    kind: Literal["give_up"] = "give_up"
    summary: str
    places: tuple[str, ...] = ()
    """Suspected places, most suspicious first."""
    test: str = ""
    """Id of a failing test for the issue that is all of the change; empty if nothing is left behind."""


class Offers(Value):
    """Edits found by search that pass and differ: the first is judged, each can be applied."""

    kind: Literal["offers"] = "offers"
    summary: str
    diffs: tuple[str, ...]
    """Unified diffs, plainest first."""
    rows: tuple[str, ...] = ()
    """One line for each, and how to decide."""


class WrittenAnswer(Value):
    """The note of a question: the answer."""

    kind: Literal["answer"] = "answer"
    summary: str
    """Markdown."""


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


class ResearchReport(Value):
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


Note = Annotated[
    Sites
    | Reproduction
    | Plan
    | Done
    | Diagnosis
    | Findings
    | GiveUp
    | Offers
    | WrittenAnswer
    | ResearchPlan
    | ResearchResult
    | Evaluation
    | ResearchReport,
    Field(discriminator="kind"),
]
ResearchNote = ResearchPlan | ResearchResult | Evaluation | ResearchReport


def describe_note(note: ResearchNote) -> list[str]:
    """Describe a note for a progress display: its parts, its judgement, or how many claims it has."""
    match note:
        case ResearchPlan(subtopics=topics) | Evaluation(gaps=topics):
            prefix = f"{note.decision}: " if isinstance(note, Evaluation) else ""
            return [f"{prefix}{note.summary}", *(f"- {topic.title}" for topic in topics)]
        case ResearchResult(claims=claims, dropped=dropped):
            unconfirmed = sum(bool(claim.problem) for claim in claims)
            counts = f"{len(claims)} claim{'s' * (len(claims) != 1)}, {unconfirmed} unconfirmed"
            return [f"{counts}, {len(dropped)} dropped: {note.summary}"]
        case ResearchReport():
            return []


def format_report(report: ResearchReport, question: str) -> str:
    """Render a report as Markdown."""
    return "\n\n".join(_sections(report, question))


def _sections(report: ResearchReport, question: str) -> Iterator[str]:
    yield f"# {' '.join(question.split())[:200]}"
    yield report.summary.strip()
    findings = [claim.line for claim in report.findings] or ["None that the repository shows."]
    yield _list_section("Key findings", findings, is_numbered=True)
    yield f"## In depth\n{report.details.strip()}"
    if report.recommendations:
        yield _list_section("Recommendations", report.recommendations, is_numbered=True)
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


def _list_section(title: str, texts: Sequence[str], *, is_numbered: bool = False) -> str:
    marks = (f"{number}." if is_numbered else "-" for number in range(1, len(texts) + 1))
    lines = (f"{mark} {' '.join(text.split())}" for mark, text in zip(marks, texts, strict=True))
    return "\n".join([f"## {title}", *lines])
