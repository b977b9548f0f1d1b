"""The reviewer's `hand_over`."""

from typing import Literal

from coder.core.notes import Finding
from coder.tools.hand_over import note_of
from coder.tools.tool import tool
from coder.workspace.workspace import Workspace


@tool
def hand_over(
    workspace: Workspace,  # noqa: ARG001  # every tool takes one
    kind: Literal["findings"],
    summary: str,
    approve: bool,
    findings: tuple[Finding, ...] = (),
) -> str:
    """Hand over what you found; this ends the review.

    Args:
        kind: `findings`.
        summary: Your judgement in one sentence.
        approve: False only where something must be changed before this goes anywhere.
        findings: Each with `severity` (`blocker`, `major`, `minor`), `path` and `line` (of the changed file, from 1) where it must be
            mended, and `text`: what is wrong, and for which input it shows.
    """
    note = note_of({"kind": kind, "summary": summary, "approve": approve, "findings": findings})
    return f"Handed over: {note.kind}."
