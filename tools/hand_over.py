"""The tool `hand_over` in its forms, one for each note or role; it returns the note."""

from typing import Annotated, Literal, assert_never

from pydantic import Field, StringConstraints

from coder.core.errors import ToolError
from coder.core.notes import (
    CheckedClaim,
    Claim,
    Component,
    Diagnosis,
    Done,
    Evaluation,
    Findings,
    GiveUp,
    Note,
    Plan,
    Reproduction,
    ResearchPlan,
    ResearchReport,
    ResearchResult,
    ReviewFinding,
    Sites,
    Step,
    Subtopic,
)
from coder.tools.tool import tool
from coder.workspace.workspace import Workspace

Summary = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
MOST_SUBTOPICS = 5
MOST_FINDINGS = 5


@tool()
def hand_over(
    workspace: Workspace,  # noqa: ARG001  # every tool takes one
    kind: Literal["sites", "reproduction", "done", "diagnosis", "give_up"],
    summary: Summary,
    places: tuple[str, ...] = (),
    tests: tuple[str, ...] = (),
    start_over: bool = False,
    unrelated_tests: tuple[str, ...] = (),
) -> Note:
    """Give up, or end the phase with the note that a message asks for. Not needed after a patch, which is verified automatically.

    Args:
        kind: `give_up` if you cannot go on; others only when a message asks for them.
        summary: What the reader must know, in one to five sentences.
        places: Where the fault is, likeliest first: `path`, `path:line` or `path::Qualified.name`.
        tests: Ids of tests that fail because of the issue.
        start_over: With `diagnosis`: take back all changes outside the tests.
        unrelated_tests: Ids of failing tests that are not about the issue; the summary says why.
    """
    match kind:
        case "sites" if not places:
            raise ToolError(
                "A note of kind 'sites' needs places: the paths, or path:line, where the change belongs."
            )
        case "sites":
            return Sites(summary=summary, places=places, tests=tests)
        case "reproduction":
            return Reproduction(summary=summary, tests=tests, unrelated_tests=unrelated_tests)
        case "done":
            return Done(summary=summary, unrelated_tests=unrelated_tests)
        case "diagnosis":
            return Diagnosis(
                summary=summary, places=places, start_over=start_over, unrelated_tests=unrelated_tests
            )
        case "give_up":
            return GiveUp(summary=summary, places=places)
        case _:
            assert_never(kind)


@tool(name="hand_over")
def hand_over_plan(
    workspace: Workspace,  # noqa: ARG001  # every tool takes one
    kind: Literal["plan", "give_up"],
    summary: Summary,
    steps: tuple[Step, ...] = (),
) -> Note:
    """Hand over the plan, or what is left of it.

    Args:
        kind: `plan`, or `give_up` where nothing can be done here.
        summary: The plan's idea, or what you think of the step just done: one line.
        steps: Small changes in order, one to five, each with `intent` (what is true of the code afterwards), `files` (paths that it
            changes) and `check` (the id of the test that shows it done, or a sentence). When you judge a step: leave them out to go on as
            planned, or give all that are left, changed.
    """
    return GiveUp(summary=summary) if kind == "give_up" else Plan(summary=summary, steps=steps)


@tool(name="hand_over")
def hand_over_components(
    workspace: Workspace,  # noqa: ARG001  # every tool takes one
    kind: Literal["plan", "give_up"],
    summary: Summary,
    components: tuple[Component, ...] = (),
) -> Note:
    """Hand over the plan of the code to build.

    Args:
        kind: `plan`, or `give_up` where it cannot be built here.
        summary: What the system does and how its parts work together, in one to three sentences.
        components: One to twelve, each with `name` (a word), `purpose` (one sentence), `path` (its module), `api` (one signature each,
            with types: `class Store(path: Path)`, `Store.add(task: Task) -> None`, `def main(argv: list[str] | None = None) -> int`),
            `dependencies` (names of the components that it imports) and `tests` (paths of its test files).
    """
    return GiveUp(summary=summary) if kind == "give_up" else Plan(summary=summary, components=components)


@tool(name="hand_over")
def hand_over_findings(
    workspace: Workspace,  # noqa: ARG001  # every tool takes one
    kind: Literal["findings"],  # noqa: ARG001  # every form names its note
    summary: Summary,
    approve: bool,
    findings: tuple[ReviewFinding, ...] = (),
) -> Note:
    """Hand over what you found; this ends the review.

    Args:
        kind: `findings`.
        summary: Your judgement in one sentence.
        approve: False only where something must be changed before this goes anywhere.
        findings: Each with `severity` (`blocker`, `major`, `minor`), `path` and `line` (of the changed file, from 1) where it must be
            corrected, and `text`: what is wrong, and for which input it shows.
    """
    return Findings(summary=summary, approve=approve, findings=findings)


@tool(name="hand_over")
def hand_over_research_plan(
    workspace: Workspace,  # noqa: ARG001  # every tool takes one
    kind: Literal["research_plan", "give_up"],
    summary: Summary,
    subtopics: Annotated[tuple[Subtopic, ...], Field(max_length=MOST_SUBTOPICS)] = (),
) -> Note:
    """Hand over the parts of the question.

    Args:
        kind: `research_plan`, or `give_up` where this repository cannot answer it.
        summary: How the parts answer the question together: one sentence.
        subtopics: One to five that need not wait for each other, each with `title` (a few words) and `question` (what to find out, with
            the names and paths where the search should begin).
    """
    return (
        GiveUp(summary=summary) if kind == "give_up" else ResearchPlan(summary=summary, subtopics=subtopics)
    )


@tool(name="hand_over")
def hand_over_research(
    workspace: Workspace,  # noqa: ARG001  # every tool takes one
    kind: Literal["research", "give_up"],
    summary: Summary,
    claims: tuple[Claim, ...] = (),
    open_questions: tuple[str, ...] = (),
) -> Note:
    """Hand over what you found; this ends your research.

    Args:
        kind: `research`, or `give_up` where nothing can be found.
        summary: The answer to your part in one to three sentences.
        claims: Each with `text` (one statement, with the names that the code uses) and `places` that you have seen and that show it:
            `path:line`, `path:first-last` (at most 60 lines) or `commit <hash>`.
        open_questions: What you could not find out, and where you have looked.
    """
    if kind == "give_up":
        return GiveUp(summary=summary)
    return ResearchResult(summary=summary, claims=_claims(claims), open_questions=open_questions)


@tool(name="hand_over")
def hand_over_evaluation(
    workspace: Workspace,  # noqa: ARG001  # every tool takes one
    kind: Literal["evaluation"],  # noqa: ARG001  # every form names its note
    summary: Summary,
    decision: Literal["synthesize", "deepen"],
    gaps: Annotated[tuple[Subtopic, ...], Field(max_length=MOST_SUBTOPICS)] = (),
) -> Note:
    """Hand over your judgement of the findings.

    Args:
        kind: `evaluation`.
        summary: Your judgement in one sentence.
        decision: `synthesize` where the findings answer the question; `deepen` where something that its asker needs is missing,
            contradictory or unconfirmed.
        gaps: For `deepen`: one to five, each with `title` and `question`; only these are researched again.
    """
    if decision == "deepen" and not gaps:
        raise ToolError("`deepen` needs the gaps to research: give `gaps`, or decide `synthesize`.")
    return Evaluation(summary=summary, decision=decision, gaps=gaps)


@tool(name="hand_over")
def hand_over_report(
    workspace: Workspace,  # noqa: ARG001  # every tool takes one
    kind: Literal["report"],  # noqa: ARG001  # every form names its note
    answer: Summary,
    findings: Annotated[tuple[Claim, ...], Field(min_length=1, max_length=MOST_FINDINGS)],
    details: str,
    recommendations: tuple[str, ...] = (),
    open_questions: tuple[str, ...] = (),
) -> Note:
    """Hand over the report.

    Args:
        kind: `report`.
        answer: The answer in three sentences, for somebody who reads nothing else.
        findings: The five findings that matter most, fewer only where there are no five; each with `text` and `places`
            (`path:line`, `path:first-last`, `commit <hash>`).
        details: Markdown, with headings from ### on: how it works and fits together. Each statement ends with its `path:line`.
        recommendations: What the asker should do, or beware of, with places.
        open_questions: What is still unknown.
    """
    return ResearchReport(
        summary=answer,
        findings=_claims(findings),
        details=details,
        recommendations=recommendations,
        open_questions=open_questions,
    )


def _claims(claims: tuple[Claim, ...]) -> tuple[CheckedClaim, ...]:
    return tuple(CheckedClaim(text=claim.text, places=claim.places) for claim in claims)
