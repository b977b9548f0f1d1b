"""Applying diffs as models write them: unambiguously, or not at all.

`coder/patching/` turns a diff in any dialect, however damaged, into hunks (`parse.py`). Each hunk must
match exactly one place, and what it removes must be there (`match.py`). Then all files are written or none
(`plan.py`), each through a function that opens the path component by component and follows no link. What
is ambiguous is refused with the nearest real lines.
"""

from pathlib import Path

from coder.core.errors import PatchError
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
