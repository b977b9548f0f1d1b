"""The tool `hand_over` in its forms for fixers, planners, architects and reviewers, and the note it builds."""

from collections.abc import Mapping
from typing import Any, Literal

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


@tool
def hand_over(
    workspace: Workspace,  # noqa: ARG001  # every tool takes one
    kind: Literal["sites", "reproduction", "done", "diagnosis", "give_up"],
    summary: str,
    places: tuple[str, ...] = (),
    tests: tuple[str, ...] = (),
    start_over: bool = False,
    unrelated_tests: tuple[str, ...] = (),
) -> str:
    """Give up, or end the phase with the note that a message asks for. Not needed after a patch, which is verified automatically.

    Args:
        kind: `give_up` if you cannot go on; others only when a message asks for them.
        summary: What the reader must know, in one to five sentences.
        places: Where the fault is, likeliest first: `path`, `path:line` or `path::Qualified.name`.
        tests: Ids of tests that fail because of the issue.
        start_over: With `diagnosis`: take back all changes outside the tests.
        unrelated_tests: Ids of failing tests that are not about the issue; the summary says why.
    """
    note = build_note(
        {
            "kind": kind,
            "summary": summary,
            "places": places,
            "tests": tests,
            "start_over": start_over,
            "unrelated_tests": unrelated_tests,
        }
    )
    return f"Handed over: {note.kind}."


@tool(name="hand_over")
def hand_over_plan(
    workspace: Workspace,  # noqa: ARG001  # every tool takes one
    kind: Literal["plan", "give_up"],
    summary: str,
    steps: tuple[Step, ...] = (),
) -> str:
    """Hand over the plan, or what is left of it.

    Args:
        kind: `plan`, or `give_up` where nothing can be done here.
        summary: The plan's idea, or what you think of the step just done: one line.
        steps: Small changes in order, one to five, each with `intent` (what is true of the code afterwards), `files` (paths that it
            changes) and `check` (the id of the test that shows it done, or a sentence). When you judge a step: leave them out to go on as
            planned, or give all that are left, changed.
    """
    note = build_note({"kind": kind, "summary": summary, "steps": steps})
    return f"Handed over: {note.kind}."


@tool(name="hand_over")
def hand_over_components(
    workspace: Workspace,  # noqa: ARG001  # every tool takes one
    kind: Literal["plan", "give_up"],
    summary: str,
    components: tuple[Component, ...] = (),
) -> str:
    """Hand over the plan of the code to build.

    Args:
        kind: `plan`, or `give_up` where it cannot be built here.
        summary: What the system does and how its parts work together, in one to three sentences.
        components: One to twelve, each with `name` (a word), `purpose` (one sentence), `path` (its module), `api` (one signature each,
            with types: `class Store(path: Path)`, `Store.add(task: Task) -> None`, `def main(argv: list[str] | None = None) -> int`),
            `dependencies` (names of the components that it imports) and `tests` (paths of its test files).
    """
    note = build_note({"kind": kind, "summary": summary, "components": components})
    return f"Handed over: {note.kind}."


@tool(name="hand_over")
def hand_over_findings(
    workspace: Workspace,  # noqa: ARG001  # every tool takes one
    kind: Literal["findings"],
    summary: str,
    approve: bool,
    findings: tuple[ReviewFinding, ...] = (),
) -> str:
    """Hand over what you found; this ends the review.

    Args:
        kind: `findings`.
        summary: Your judgement in one sentence.
        approve: False only where something must be changed before this goes anywhere.
        findings: Each with `severity` (`blocker`, `major`, `minor`), `path` and `line` (of the changed file, from 1) where it must be
            corrected, and `text`: what is wrong, and for which input it shows.
    """
    note = build_note({"kind": kind, "summary": summary, "approve": approve, "findings": findings})
    return f"Handed over: {note.kind}."


def build_note(arguments: Mapping[str, Any]) -> Note:
    """Build the typed note from a call's validated arguments.

    Raises:
        ToolError: something is missing for its kind.
    """
    kind, summary = arguments["kind"], str(arguments["summary"]).strip()
    places, tests = tuple(arguments.get("places") or ()), tuple(arguments.get("tests") or ())
    unrelated_tests = tuple(arguments.get("unrelated_tests") or ())
    if not summary:
        raise ToolError(
            f"A note of kind {kind!r} needs a summary: say in one to five sentences what is to be known."
        )
    match kind:
        case "sites":
            if not places:
                raise ToolError(
                    "A note of kind 'sites' needs places: the paths, or path:line, where the change belongs."
                )
            return Sites(summary=summary, places=places, tests=tests)
        case "reproduction":
            return Reproduction(summary=summary, tests=tests, unrelated_tests=unrelated_tests)
        case "plan":
            return Plan(
                summary=summary,
                steps=tuple(arguments.get("steps") or ()),
                components=tuple(arguments.get("components") or ()),
            )
        case "findings":
            return Findings(
                summary=summary, approve=bool(arguments["approve"]), findings=tuple(arguments["findings"])
            )
        case "done":
            return Done(summary=summary, unrelated_tests=unrelated_tests)
        case "diagnosis":
            return Diagnosis(
                summary=summary,
                places=places,
                start_over=bool(arguments.get("start_over")),
                unrelated_tests=unrelated_tests,
            )
        case "give_up":
            return GiveUp(summary=summary, places=places)
    raise ToolError(f"There is no note of kind {kind!r}.")
