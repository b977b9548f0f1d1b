"""The tool `apply_patch`."""

from coder.tools.cutting import tests_cut
from coder.tools.files import clipped, counted
from coder.tools.patching import Applied, Change, PatchError, plan
from coder.tools.patching.edit import Edit
from coder.tools.patching.errors import NOTHING_WRITTEN
from coder.tools.patching.source import Source
from coder.tools.patching.tree import Tree
from coder.tools.patching.write import write
from coder.tools.tool import ToolError, tool
from coder.tools.workspace import Workspace

AROUND = 2
MOST_LINES = 160
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
            raise PatchError("With this patch the file would no longer parse. " + "\n".join(planned.syntax_errors[:MOST_FAULTS]))
        if cut := [line for change in planned.changes for line in _cut(change)]:
            raise PatchError("A new test goes behind all lines of the one before it. " + "\n".join(cut[:MOST_FAULTS]))
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
    return tests_cut(change.before.text, change.after.text, change.path) if change.before and change.after else []


def _report(planned: Applied) -> str:
    lines = [line for change in planned.changes for line in _shown(change)]
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], f"... {counted(len(lines) - MOST_LINES, 'more line')} of the change; read shows them"]
    found = planned.undefined_names
    python = any(change.path.endswith(".py") and change.after for change in planned.changes)
    said = ["New undefined names, to be mended:", *found[:20]] if found else ["It parses, and no new undefined name."] if python else []
    return "\n".join([*lines, *said])


def _shown(change: Change) -> list[str]:
    """The change of one file, new lines by their new numbers, removed ones by their old."""
    if change.after is None:
        return [f"{change.path}: deleted"]
    if change.before is None:
        return [f"{change.path}: created, {counted(len(change.after.lines), 'line')}"]
    head = f"{change.renamed_from} -> {change.path}" if change.renamed_from else change.path
    if not change.edits:
        return [f"{head}: {'renamed' if change.renamed_from else 'mode changed'}"]
    lines = [f"{head}: changed"]
    shift, reached = 0, 0
    for index, edit in enumerate(change.edits):
        following = change.edits[index + 1].start if index + 1 < len(change.edits) else len(change.before.lines)
        lines += _hunk(change.before, edit, shift=shift, first=max(reached, edit.start - AROUND), gap=edit.start - AROUND > reached)
        shift += len(edit.lines) - (edit.end - edit.start)
        reached = min(following, edit.end + AROUND)
        lines += [_line(number + shift, " ", change.before.lines[number]) for number in range(edit.end, reached)]
    return lines


def _hunk(before: Source, edit: Edit, *, shift: int, first: int, gap: bool) -> list[str]:
    context = [_line(number + shift, " ", before.lines[number]) for number in range(first, edit.start)]
    removed = [_line(number, "-", before.lines[number]) for number in range(edit.start, edit.end)]
    added = [_line(edit.start + shift + index, "+", line.text) for index, line in enumerate(edit.lines)]
    return [*(["      ..."] if gap and first else []), *context, *removed, *added]


def _line(index: int, mark: str, text: str) -> str:
    return f"{index + 1:>5} {mark}| {clipped(text, 200)}"
