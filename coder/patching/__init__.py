"""Apply diffs as models write them: exactly as meant, or not at all."""

from pathlib import Path

from coder.patching.applying.plan import Applied, Change, plan
from coder.patching.applying.tree import Tree
from coder.patching.applying.write import write
from coder.patching.errors import PatchError

__all__ = ["Applied", "Change", "PatchError", "apply", "plan"]


def apply(diff: str, root: Path, *, reverse: bool = False) -> Applied:
    """Change the files below `root` as the diff says, or back, all of them or none.

    Raises:
        PatchError: it does not fit, is ambiguous, or leads where it may not; no file was changed.
    """
    applied = plan(diff, root, reverse=reverse)
    write(applied, Tree(root))
    return applied
