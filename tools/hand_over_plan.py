"""The planner's `hand_over`."""

from typing import Literal

from coder.core.notes import Step
from coder.tools.hand_over import note_of
from coder.tools.tool import tool
from coder.workspace.workspace import Workspace


@tool
def hand_over(
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
    note = note_of({"kind": kind, "summary": summary, "steps": steps})
    return f"Handed over: {note.kind}."
