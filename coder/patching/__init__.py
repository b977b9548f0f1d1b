"""Applying diffs as models write them: unambiguously, or not at all."""

from pathlib import Path

from coder.patching.errors import PatchError
from coder.patching.plan import ConfinedTree, FileChange, PlannedPatch, plan_patch, write_patch

__all__ = ["FileChange", "PatchError", "PlannedPatch", "apply", "plan_patch"]


def apply(diff: str, root: Path, *, reverse: bool = False) -> PlannedPatch:
    """Apply a diff to the files below `root`, or reverse it: all of it or nothing.

    Raises:
        PatchError: it does not fit, is ambiguous, or leads outside of the root; no file was changed.
    """
    applied = plan_patch(diff, root, reverse=reverse)
    write_patch(applied, ConfinedTree(root))
    return applied
