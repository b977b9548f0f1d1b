"""Apply diffs as models write them: exactly as meant, or not at all."""

from pathlib import Path

from coder.tools.patching.errors import PatchError
from coder.tools.patching.plan import Applied, Change, plan
from coder.tools.patching.tree import Tree
from coder.tools.patching.write import write

__all__ = ["Applied", "Change", "PatchError", "apply", "plan"]


def apply(diff: str, root: Path, *, reverse: bool = False) -> Applied:
    """Change the files below `root` as the diff says, or back, all of them or none.

    Raises:
        PatchError: it does not fit, is ambiguous, or leads where it may not; no file was changed.
    """
    applied = plan(diff, root, reverse=reverse)
    write(applied, Tree(root))
    return applied
