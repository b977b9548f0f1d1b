"""The tool `apply_patch`."""

from coder.core.errors import NOTHING_WRITTEN, ToolError
from coder.patching import FileChange, PatchError, PlannedPatch, plan_patch
from coder.patching.plan import ConfinedTree, write_patch
from coder.tools.tool import tool
from coder.workspace.workspace import Workspace, format_count

MOST_PLACES = 20
MOST_FAULTS = 3


@tool(writes=True)
def apply_patch(workspace: Workspace, diff: str, allow_syntax_error: bool = False) -> str:
    """Change, create, delete or rename files with a unified diff: all of it or nothing.

    Each file starts with `--- a/path` and `+++ b/path` (`/dev/null` where it is created or deleted; `rename from` and `rename to` under `diff --git`), then hunks under `@@`, whose line numbers may be left out. Context and removed lines are copied from the file and fit one place only: one line that occurs once is enough.

    Args:
        diff: Of any number of files.
        allow_syntax_error: Write Python that does not parse (templates, newer syntax).
    """
    try:
        planned = plan_patch(
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
        write_patch(planned, ConfinedTree(workspace.root))
    except PatchError as error:
        workspace.failed_hunks.update(error.failed)
        raise ToolError(f"{error} Send the whole patch again, corrected.") from None
    return _report(planned)


def _check_allowed(workspace: Workspace, planned: PlannedPatch) -> None:
    if refused_paths := [path for path in planned.paths if not workspace.may_write(path)]:
        raise ToolError(
            f"{', '.join(refused_paths)} may not be changed: the person allows changes in "
            f"{', '.join(workspace.only)} only. {NOTHING_WRITTEN}"
        )


def _report(planned: PlannedPatch) -> str:
    lines = [_describe_change(change) for change in planned.changes]
    lines += [f"{hunk} was there already" for hunk in planned.done]
    undefined_names = planned.undefined_names
    has_python = any(change.path.endswith(".py") and change.after for change in planned.changes)
    checks = (
        ["New undefined names, to be mended:", *undefined_names[:20]]
        if undefined_names
        else ["It parses, and no new undefined name."]
        if has_python
        else []
    )
    return "\n".join([*lines, *checks])


def _describe_change(change: FileChange) -> str:
    """Describe a change by its new line numbers; the model knows the content."""
    if change.after is None:
        return f"{change.path}: deleted"
    if change.before is None:
        return f"{change.path}: created, {format_count(len(change.after.lines), 'line')}"
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
    return (
        f"{head}: changed, now line{'s' * (len(places) > 1 or '-' in places[0])} "
        f"{', '.join(places[:MOST_PLACES])}{more}"
    )
