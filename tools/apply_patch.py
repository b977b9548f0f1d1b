"""The tool `apply_patch`."""

from coder.core.errors import ToolError
from coder.patching import Applied, Change, PatchError, plan
from coder.patching.applying.tree import Tree
from coder.patching.applying.write import write
from coder.patching.errors import NOTHING_WRITTEN
from coder.python.test_integrity import tests_cut
from coder.tools.tool import tool
from coder.workspace.files import counted
from coder.workspace.workspace import Workspace

MOST_PLACES = 20
MOST_FAULTS = 3


@tool(writes=True)
def apply_patch(workspace: Workspace, diff: str, allow_syntax_error: bool = False) -> str:
    """Change, create, delete or rename files with a unified diff: all of it or nothing.

    Each file starts with `--- a/path` and `+++ b/path` (new: `--- /dev/null`; deleted: `+++ /dev/null`; renamed: `rename from` and
    `rename to` under `diff --git`), then hunks under `@@`. Line numbers and counts may be wrong or left out. Context and removed lines
    are copied from the file and must fit one place only: one line that occurs once is enough. One call may change several files.

    Args:
        diff: The unified diff.
        allow_syntax_error: Write Python that does not parse (templates, newer syntax).
    """
    try:
        planned = plan(
            diff,
            workspace.root,
            failed_before=workspace.failed_hunks,
            may_read=workspace.may_read,
            restore=workspace.secrets.restore_placeholders,
        )
        _check_allowed(workspace, planned)
        if planned.syntax_errors and not allow_syntax_error:
            raise PatchError(
                "With this patch the file would no longer parse. "
                + "\n".join(planned.syntax_errors[:MOST_FAULTS])
            )
        if cut := [line for change in planned.changes for line in _cut(change)]:
            raise PatchError(
                "A new test goes behind all lines of the one before it. " + "\n".join(cut[:MOST_FAULTS])
            )
        write(planned, Tree(workspace.root))
    except PatchError as error:
        workspace.failed_hunks.update(error.failed)
        raise ToolError(f"{error} Send the whole patch again, corrected.") from None
    for change in planned.changes:
        if change.after is not None:
            workspace.name(change.path, change.edits[0].start + 1 if change.edits else 1)
    return _report(planned)


def _check_allowed(workspace: Workspace, planned: Applied) -> None:
    if refused := [path for path in planned.paths if not workspace.may_write(path)]:
        raise ToolError(
            f"{', '.join(refused)} may not be changed: the person allows changes in {', '.join(workspace.only)} only. {NOTHING_WRITTEN}"
        )


def _cut(change: Change) -> list[str]:
    return (
        tests_cut(change.before.text, change.after.text, change.path)
        if change.before and change.after
        else []
    )


def _report(planned: Applied) -> str:
    lines = [_shown(change) for change in planned.changes]
    found = planned.undefined_names
    python = any(change.path.endswith(".py") and change.after for change in planned.changes)
    said = (
        ["New undefined names, to be mended:", *found[:20]]
        if found
        else ["It parses, and no new undefined name."]
        if python
        else []
    )
    return "\n".join([*lines, *said])


def _shown(change: Change) -> str:
    """Say which lines of a file are new, by their new numbers; the model knows what it wrote there."""
    if change.after is None:
        return f"{change.path}: deleted"
    if change.before is None:
        return f"{change.path}: created, {counted(len(change.after.lines), 'line')}"
    head = f"{change.renamed_from} -> {change.path}" if change.renamed_from else change.path
    if not change.edits:
        return f"{head}: {'renamed' if change.renamed_from else 'mode changed'}"
    places: list[str] = []
    shift = 0
    for edit in change.edits:
        first, count = edit.start + shift + 1, len(edit.lines)
        places.append(
            f"{first}-{first + count - 1}" if count > 1 else str(first) if count else f"before {first}"
        )
        shift += count - (edit.end - edit.start)
    more = f" and {len(places) - MOST_PLACES} more places" if len(places) > MOST_PLACES else ""
    return f"{head}: changed, now line{'s' * (len(places) > 1 or '-' in places[0])} {', '.join(places[:MOST_PLACES])}{more}"
