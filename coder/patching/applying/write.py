"""Atomic writing of planned changes."""

from coder.patching.applying.plan import FileChange, PlannedPatch
from coder.patching.applying.source import encode_source
from coder.patching.applying.tree import ConfinedTree
from coder.patching.errors import PatchError


def write_patch(applied: PlannedPatch, tree: ConfinedTree) -> None:
    """Write every change; undo the earlier ones where one fails.

    Raises:
        PatchError: a file could not be written, or has changed since the plan was made; the tree is
        unchanged.
    """
    done: list[FileChange] = []
    try:
        for change in applied.changes:
            _check_unchanged(change, tree)
            done.append(change)
            _write(change, tree)
    except (OSError, PatchError) as error:
        for change in reversed(done):
            _undo(change, tree)
        raise PatchError(
            f"{change.path} could not be written: {error.strerror}."
            if isinstance(error, OSError)
            else error.reason
        ) from None


def _check_unchanged(change: FileChange, tree: ConfinedTree) -> None:
    content = tree.read(change.renamed_from or change.path)
    if (content[0] if content else None) != (None if change.before is None else change.original):
        raise PatchError(f"{change.renamed_from or change.path} was changed by something else meanwhile.")


def _write(change: FileChange, tree: ConfinedTree) -> None:
    if change.after is None:
        tree.remove(change.path)
        return
    tree.write(change.path, encode_source(change.after, change.path), change.mode)
    if change.renamed_from:
        tree.remove(change.renamed_from)


def _undo(change: FileChange, tree: ConfinedTree) -> None:
    if change.before is not None:
        tree.write(change.renamed_from or change.path, change.original, change.original_mode)
    if (change.before is None or change.renamed_from) and tree.exists(change.path):
        tree.remove(change.path)
