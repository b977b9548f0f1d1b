"""Applying diffs as models write them: unambiguously, or not at all."""

from pathlib import Path

from coder.patching.applying.plan import Applied, Change, plan
from coder.patching.applying.tree import Tree
from coder.patching.applying.write import write
from coder.patching.errors import PatchError

__all__ = ["Applied", "Change", "PatchError", "apply", "plan"]


def apply(diff: str, root: Path, *, reverse: bool = False) -> Applied:
    """Apply a diff to the files below `root`, or reverse it: all of it or nothing.

    Raises:
        PatchError: it does not fit, is ambiguous, or leads outside of the root; no file was changed.
    """
    applied = plan(diff, root, reverse=reverse)
    write(applied, Tree(root))
    return applied
