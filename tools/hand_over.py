"""The tool `hand_over` in its forms for fixers, planners, architects and reviewers; it returns the note."""

from typing import Annotated, Literal, assert_never

from pydantic import StringConstraints

from coder.core.errors import ToolError
from coder.core.notes import (
    Component,
    Diagnosis,
    Done,
    Findings,
    GiveUp,
    Note,
    Plan,
    Reproduction,
    ReviewFinding,
    Sites,
    Step,
)
from coder.tools.tool import tool
from coder.workspace.workspace import Workspace

Summary = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


@tool
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
