"""The tool `hand_over` in its forms for a research; it returns the note."""

from typing import Annotated, Literal

from pydantic import Field

from coder.core.errors import ToolError
from coder.core.notes import (
    CheckedClaim,
    Claim,
    Evaluation,
    GiveUp,
    Note,
    ResearchPlan,
    ResearchReport,
    ResearchResult,
    Subtopic,
)
from coder.tools.hand_over import Summary
from coder.tools.tool import tool
from coder.workspace.workspace import Workspace

MOST_SUBTOPICS = 5
MOST_FINDINGS = 5


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
    if kind == "give_up":
        return GiveUp(summary=summary)
    return ResearchPlan(summary=summary, subtopics=subtopics)


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
