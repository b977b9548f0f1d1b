"""The tool `hand_over`, and the note it builds."""

from collections.abc import Mapping
from typing import Any, Literal

from coder.core.errors import ToolError
from coder.core.notes import Diagnosis, Done, Findings, GiveUp, Note, Plan, Reproduction, Sites
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
) -> str:
    """Stop, with a note. Not needed after a patch: that is verified by itself.

    `give_up` when you cannot go on; the other kinds only when a message asks for them.

    Args:
        kind: What the note is.
        summary: What is to be known, in one to five sentences.
        places: For sites, diagnosis, give_up: `path`, `path:line` or `path::Qualified.name`, likeliest first.
        tests: For sites, reproduction: ids of tests that fail because of the issue.
        start_over: For diagnosis: take back all that you changed outside the tests, and try another way.
    """
    note = note_of({"kind": kind, "summary": summary, "places": places, "tests": tests, "start_over": start_over})
    return f"Handed over: {note.kind}."


def note_of(arguments: Mapping[str, Any]) -> Note:
    """The typed note that a call's checked arguments make.

    Raises:
        ToolError: something is missing for its kind.
    """
    kind, summary = arguments["kind"], str(arguments["summary"]).strip()
    places, tests = tuple(arguments.get("places") or ()), tuple(arguments.get("tests") or ())
    if not summary:
        raise ToolError(f"A note of kind {kind!r} needs a summary: say in one to five sentences what is to be known.")
    match kind:
        case "sites":
            if not places:
                raise ToolError("A note of kind 'sites' needs places: the paths, or path:line, where the change belongs.")
            return Sites(summary=summary, places=places, tests=tests)
        case "reproduction":
            return Reproduction(summary=summary, tests=tests)
        case "plan":
            return Plan(summary=summary, steps=tuple(arguments["steps"]))
        case "findings":
            return Findings(summary=summary, approve=bool(arguments["approve"]), findings=tuple(arguments["findings"]))
        case "done":
            return Done(summary=summary)
        case "diagnosis":
            return Diagnosis(summary=summary, places=places, start_over=bool(arguments.get("start_over")))
        case "give_up":
            return GiveUp(summary=summary, places=places)
    raise ToolError(f"There is no note of kind {kind!r}.")
