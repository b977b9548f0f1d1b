"""Planning of a patch: the resulting changes of a tree, without writing any of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from coder.patching.applying.edit import HunkEdit, apply_edits, edits_of_hunks, new_file_source
from coder.patching.applying.source import TextFile, decode_source, encode_source
from coder.patching.applying.target import PatchTarget, resolve_targets
from coder.patching.applying.tree import ConfinedTree
from coder.patching.dialects.hunk import reverse_patch as reversed_patch
from coder.patching.dialects.parse import parse_diff
from coder.patching.errors import PatchError
from coder.patching.matching.compare import normalize_line
from coder.patching.matching.explain import explain_misfits
from coder.patching.matching.match import Misfit, Placement, place_hunks
from coder.python.lint import find_syntax_error, find_undefined_names

NEW_FILE_MODE = 0o644
MAX_REPORTED_FILES = 2
MAX_ERROR_LINES = 54
"""Of an error message, which has a few more at its end."""


@dataclass(frozen=True, kw_only=True)
class FileChange:
    """The change of one file."""

    path: str
    """Relative to the root; the new name of a renamed file."""
    before: TextFile | None
    """None: the file is new."""
    after: TextFile | None
    """None: the file is deleted."""
    mode: int
    """Permission bits afterwards."""
    original: bytes = b""
    original_mode: int = 0o644
    renamed_from: str = ""
    edits: tuple[HunkEdit, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PlannedPatch:
    """The changes of a whole patch."""

    changes: tuple[FileChange, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that is written or removed."""
        return tuple(
            sorted({name for change in self.changes for name in (change.path, change.renamed_from) if name})
        )

    @cached_property
    def syntax_errors(self) -> tuple[str, ...]:
        """`path:line: message` for each Python file that newly does not parse, or is new and does not."""
        errors = []
        for change in self.changes:
            error = find_syntax_error(change.after.text, change.path) if change.after else ""
            if error and not (
                change.before and find_syntax_error(change.before.text, change.renamed_from or change.path)
            ):
                errors.append(error)
        return tuple(errors)

    @cached_property
    def undefined_names(self) -> tuple[str, ...]:
        """`path:line: undefined name 'x'` for each name that was not undefined before."""
        pairs = [
            (change, change.before or TextFile(), change.after) for change in self.changes if change.after
        ]
        return tuple(
            text
            for change, before, after in pairs
            if after
            for text in find_undefined_names(before.text, after.text, change.path)
        )


def plan_patch(
    diff: str,
    root: Path,
    *,
    reverse: bool = False,
    failed_before: Mapping[str, int] | None = None,
    may_read: Callable[[str], bool] = lambda _path: True,
    restore: Callable[[str, str], str] = lambda text, _source: text,
) -> PlannedPatch:
    """Compute the changes of a patch, or of its reversal; nothing is written.

    `failed_before` counts the failures of each hunk, keyed as in `PatchError.failed`: its error message then
    shows more of the file. `may_read` tells whether a file's content may be shown: others are not changed.
    `restore` replaces placeholders in a line of the patch by the file's content; it raises LookupError where
    the file does not contain it.

    Raises:
        PatchError: any part of it does not fit, is ambiguous, or leads outside of the root.
    """
    patches = parse_diff(diff)
    aims = resolve_targets([reversed_patch(patch) for patch in patches] if reverse else patches, root)
    changes: list[FileChange] = []
    faults: list[PatchError] = []
    for aim in aims:
        try:
            tree = ConfinedTree(root, may_read=may_read)
            changes.append(
                _change(
                    _restore_secrets(aim, tree, restore),
                    tree,
                    failed_before or {},
                    MAX_ERROR_LINES // min(len(aims), MAX_REPORTED_FILES),
                )
            )
        except PatchError as error:
            faults.append(error)
    if faults:
        fitting = ", ".join(change.path for change in changes[:10])
        lines = [line for fault in faults[:MAX_REPORTED_FILES] for line in fault.reason.split("\n")][
            :MAX_ERROR_LINES
        ]
        more = (
            [f"{len(faults) - MAX_REPORTED_FILES} more files do not fit either."]
            if len(faults) > MAX_REPORTED_FILES
            else []
        )
        also = [f"The changes of {fitting} would fit."] if fitting else []
        raise PatchError(
            "\n".join([*lines, *more, *also]), failed=frozenset().union(*(fault.failed for fault in faults))
        )
    changes = [change for change in changes if _has_effect(change)]
    if not changes:
        raise PatchError("The patch changes nothing: the files are already as it makes them.")
    return PlannedPatch(changes=tuple(changes))


def _restore_secrets(aim: PatchTarget, tree: ConfinedTree, restore: Callable[[str, str], str]) -> PatchTarget:
    content = tree.read(aim.source) if aim.source else None
    source = decode_source(content[0], aim.source).text if content else ""
    try:
        hunks = tuple(
            replace(hunk, lines=tuple(replace(line, text=restore(line.text, source)) for line in hunk.lines))
            for hunk in aim.hunks
        )
    except LookupError as error:
        raise PatchError(
            f"{aim.target or aim.source} does not hold the value that {error.args[0]} stands for. "
            "A placeholder can be used only in the file that it was read from."
        ) from None
    return replace(aim, hunks=hunks)


def _change(
    aim: PatchTarget, tree: ConfinedTree, failed_before: Mapping[str, int], most_lines: int
) -> FileChange:
    if not aim.source:
        return _creation(aim, tree)
    content = tree.read(aim.source)
    if content is None:
        raise PatchError(f"{aim.source} does not exist.")
    data, mode = content
    before = decode_source(data, aim.source)
    if not aim.target:
        return _deletion(aim, before, data=data, mode=mode)
    if aim.target != aim.source and tree.exists(aim.target):
        raise PatchError(f"{aim.target} exists already; {aim.source} cannot be renamed to it.")
    results = place_hunks(aim.hunks, before.lines)
    if any(isinstance(result, Misfit) for result in results):
        raise explain_misfits(
            aim.source, results, before.lines, failed_before=failed_before, most_lines=most_lines
        )
    changes = edits_of_hunks([result for result in results if isinstance(result, Placement)], aim.source)
    after = apply_edits(before, changes)
    encode_source(after, aim.target)
    return FileChange(
        path=aim.target,
        before=before,
        after=after,
        mode=_mode(aim.mode, mode),
        original=data,
        original_mode=mode,
        renamed_from=aim.source if aim.target != aim.source else "",
        edits=changes,
    )


def _creation(aim: PatchTarget, tree: ConfinedTree) -> FileChange:
    if tree.exists(aim.target):
        raise PatchError(
            f"{aim.target} exists already. Patch what it holds, with '--- a/{aim.target}' "
            f"above '+++ b/{aim.target}'."
        )
    return FileChange(
        path=aim.target,
        before=None,
        after=new_file_source(aim.hunks, aim.target),
        mode=_mode(aim.mode, NEW_FILE_MODE),
    )


def _deletion(aim: PatchTarget, before: TextFile, *, data: bytes, mode: int) -> FileChange:
    lines = [
        line for hunk in {hunk.lines: hunk for hunk in aim.hunks}.values() for line in hunk.without_tail.lines
    ]
    if any(line.mark == "+" for line in lines):
        raise PatchError(f"{aim.source}: a deleted file cannot have added lines.")
    if lines and [normalize_line(line.text) for line in lines] != [
        normalize_line(line) for line in before.lines
    ]:
        raise PatchError(
            f"{aim.source} is not what the patch deletes: it has {len(before.lines)} lines, "
            f"the patch {len(lines)}. Read it first."
        )
    return FileChange(
        path=aim.source, before=before, after=None, mode=mode, original=data, original_mode=mode
    )


def _mode(octal: str, otherwise: int) -> int:
    """Return the permission bits; git records only whether a file is executable."""
    if not octal:
        return otherwise
    return otherwise | (otherwise & 0o444) >> 2 if octal.endswith("755") else otherwise & ~0o111


def _has_effect(change: FileChange) -> bool:
    if change.before is None or change.after is None or change.renamed_from:
        return True
    return encode_source(change.after, change.path) != change.original or change.mode != change.original_mode
