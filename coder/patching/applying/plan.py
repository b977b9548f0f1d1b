"""Planning of a patch: the resulting changes of a tree, without writing any of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from coder.patching.applying.edit import Edit, created, edited, edits
from coder.patching.applying.source import Source, decode, encode
from coder.patching.applying.target import Aim, aimed
from coder.patching.applying.tree import Tree
from coder.patching.dialects.hunk import reverse as reversed_patch
from coder.patching.dialects.parse import parse
from coder.patching.errors import PatchError
from coder.patching.matching.compare import key
from coder.patching.matching.explain import explained
from coder.patching.matching.match import Misfit, Placed, place
from coder.python.lint import syntax_error, undefined_names

NEW_FILE_MODE = 0o644
MOST_FAULTS = 2
MOST_LINES = 54
"""Of an error message, which has a few more at its end."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """The change of one file."""

    path: str
    """Relative to the root; the new name of a renamed file."""
    before: Source | None
    """None: the file is new."""
    after: Source | None
    """None: the file is deleted."""
    mode: int
    """Permission bits afterwards."""
    original: bytes = b""
    original_mode: int = 0o644
    renamed_from: str = ""
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Applied:
    """The changes of a whole patch."""

    changes: tuple[Change, ...]

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
            error = syntax_error(change.after.text, change.path) if change.after else ""
            if error and not (
                change.before and syntax_error(change.before.text, change.renamed_from or change.path)
            ):
                errors.append(error)
        return tuple(errors)

    @cached_property
    def undefined_names(self) -> tuple[str, ...]:
        """`path:line: undefined name 'x'` for each name that was not undefined before."""
        pairs = [(change, change.before or Source(), change.after) for change in self.changes if change.after]
        return tuple(
            text
            for change, before, after in pairs
            if after
            for text in undefined_names(before.text, after.text, change.path)
        )


def plan(
    diff: str,
    root: Path,
    *,
    reverse: bool = False,
    failed_before: Mapping[str, int] | None = None,
    may_read: Callable[[str], bool] = lambda _path: True,
    restore: Callable[[str, str], str] = lambda text, _source: text,
) -> Applied:
    """Compute the changes of a patch, or of its reversal; nothing is written.

    `failed_before` counts the failures of each hunk, keyed as in `PatchError.failed`: its error message then
    shows more of the file. `may_read` tells whether a file's content may be shown: others are not changed.
    `restore` replaces placeholders in a line of the patch by the file's content; it raises LookupError where
    the file does not contain it.

    Raises:
        PatchError: any part of it does not fit, is ambiguous, or leads outside of the root.
    """
    patches = parse(diff)
    aims = aimed([reversed_patch(patch) for patch in patches] if reverse else patches, root)
    changes: list[Change] = []
    faults: list[PatchError] = []
    for aim in aims:
        try:
            tree = Tree(root, may_read=may_read)
            changes.append(
                _change(
                    _restore_secrets(aim, tree, restore),
                    tree,
                    failed_before or {},
                    MOST_LINES // min(len(aims), MOST_FAULTS),
                )
            )
        except PatchError as error:
            faults.append(error)
    if faults:
        fitting = ", ".join(change.path for change in changes[:10])
        lines = [line for fault in faults[:MOST_FAULTS] for line in fault.reason.split("\n")][:MOST_LINES]
        more = (
            [f"{len(faults) - MOST_FAULTS} more files do not fit either."]
            if len(faults) > MOST_FAULTS
            else []
        )
        also = [f"The changes of {fitting} would fit."] if fitting else []
        raise PatchError(
            "\n".join([*lines, *more, *also]), failed=frozenset().union(*(fault.failed for fault in faults))
        )
    changes = [change for change in changes if _has_effect(change)]
    if not changes:
        raise PatchError("The patch changes nothing: the files are already as it makes them.")
    return Applied(changes=tuple(changes))


def _restore_secrets(aim: Aim, tree: Tree, restore: Callable[[str, str], str]) -> Aim:
    content = tree.read(aim.source) if aim.source else None
    source = decode(content[0], aim.source).text if content else ""
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


def _change(aim: Aim, tree: Tree, failed_before: Mapping[str, int], most_lines: int) -> Change:
    if not aim.source:
        return _creation(aim, tree)
    content = tree.read(aim.source)
    if content is None:
        raise PatchError(f"{aim.source} does not exist.")
    data, mode = content
    before = decode(data, aim.source)
    if not aim.target:
        return _deletion(aim, before, data=data, mode=mode)
    if aim.target != aim.source and tree.exists(aim.target):
        raise PatchError(f"{aim.target} exists already; {aim.source} cannot be renamed to it.")
    results = place(aim.hunks, before.lines)
    if any(isinstance(result, Misfit) for result in results):
        raise explained(aim.source, results, before.lines, failed_before=failed_before, most_lines=most_lines)
    changes = edits([result for result in results if isinstance(result, Placed)], aim.source)
    after = edited(before, changes)
    encode(after, aim.target)
    return Change(
        path=aim.target,
        before=before,
        after=after,
        mode=_mode(aim.mode, mode),
        original=data,
        original_mode=mode,
        renamed_from=aim.source if aim.target != aim.source else "",
        edits=changes,
    )


def _creation(aim: Aim, tree: Tree) -> Change:
    if tree.exists(aim.target):
        raise PatchError(
            f"{aim.target} exists already. Patch what it holds, with '--- a/{aim.target}' "
            f"above '+++ b/{aim.target}'."
        )
    return Change(
        path=aim.target,
        before=None,
        after=created(aim.hunks, aim.target),
        mode=_mode(aim.mode, NEW_FILE_MODE),
    )


def _deletion(aim: Aim, before: Source, *, data: bytes, mode: int) -> Change:
    lines = [
        line for hunk in {hunk.lines: hunk for hunk in aim.hunks}.values() for line in hunk.without_tail.lines
    ]
    if any(line.mark == "+" for line in lines):
        raise PatchError(f"{aim.source}: a deleted file cannot have added lines.")
    if lines and [key(line.text) for line in lines] != [key(line) for line in before.lines]:
        raise PatchError(
            f"{aim.source} is not what the patch deletes: it has {len(before.lines)} lines, "
            f"the patch {len(lines)}. Read it first."
        )
    return Change(path=aim.source, before=before, after=None, mode=mode, original=data, original_mode=mode)


def _mode(octal: str, otherwise: int) -> int:
    """Return the permission bits; git records only whether a file is executable."""
    if not octal:
        return otherwise
    return otherwise | (otherwise & 0o444) >> 2 if octal.endswith("755") else otherwise & ~0o111


def _has_effect(change: Change) -> bool:
    if change.before is None or change.after is None or change.renamed_from:
        return True
    return encode(change.after, change.path) != change.original or change.mode != change.original_mode
