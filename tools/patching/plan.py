"""Work out what a patch would do to a tree, without doing any of it."""

import difflib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from coder.tools.patching.edit import Edit, created, edited, edits
from coder.tools.patching.errors import PatchError
from coder.tools.patching.explain import explained
from coder.tools.patching.match import Misfit, Placed, place
from coder.tools.patching.parse import FilePatch, Hunk, parse
from coder.tools.patching.paths import NOWHERE, checked, existing, to_create
from coder.tools.patching.source import Source, decode, encode
from coder.tools.patching.tree import Tree

NEW_FILE_MODE = 0o644


@dataclass(frozen=True, kw_only=True)
class Change:
    """What happens to one file."""

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
    """A whole patch, worked out."""

    changes: tuple[Change, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that is written or removed."""
        return tuple(sorted({name for change in self.changes for name in (change.path, change.renamed_from) if name}))


def plan(diff: str, root: Path) -> Applied:
    """Work out the changes of a patch; nothing is written.

    Raises:
        PatchError: any part of it does not fit, is ambiguous, or leads where it may not.
    """
    tree = Tree(root)
    wanted = _merged([_aimed(file, tree, root) for file in parse(diff)])
    changes: list[Change] = []
    faults: list[str] = []
    for aim in wanted:
        try:
            changes.append(_change(aim, tree))
        except PatchError as error:
            faults.append(str(error))
    if faults:
        fine = [change.path for change in changes]
        also = f"\nThe changes of {', '.join(fine[:10])} would fit." if fine else ""
        raise PatchError("\n".join(faults[:2]) + also)
    changes = [change for change in changes if _differs(change)]
    if not changes:
        raise PatchError("The patch changes nothing: what it removes and what it adds are the same.")
    return Applied(changes=tuple(changes))


@dataclass(frozen=True, kw_only=True)
class _Aim:
    """One file's patch with the files that its names mean."""

    source: str
    """The file it starts from; empty for a new one."""
    target: str
    """The file it leaves; empty for a deleted one."""
    hunks: tuple[Hunk, ...]
    mode: str


def _aimed(file: FilePatch, tree: Tree, root: Path) -> _Aim:
    header = file.header
    aim = _Aim(source="", target="", hunks=file.hunks, mode=header.mode)
    if header.mode and not header.mode.startswith("100"):
        raise PatchError(f"{header.new or header.old}: only regular files can be changed, not symbolic links or submodules.")
    if header.renamed_from and header.renamed_to:
        return replace(aim, source=checked(header.renamed_from), target=checked(header.renamed_to))
    if header.old == NOWHERE or header.creates:
        return replace(aim, target=to_create(header.new if header.new != NOWHERE else header.old))
    found = existing(header.old, header.new, tree.exists)
    if found:
        return replace(aim, source=found, target="" if header.new == NOWHERE or header.deletes else found)
    name = to_create(header.new if header.new not in ("", NOWHERE) else header.old)
    if file.hunks and all(_only_adds(hunk) for hunk in file.hunks):
        return replace(aim, target=name)
    raise PatchError(f"{name} does not exist.{_alike(name, root)}")


def _only_adds(hunk: Hunk) -> bool:
    """Could this be the whole of a new file?"""
    return hunk.start <= 1 and not any(line.mark == "-" or (line.mark == " " and line.text.strip()) for line in hunk.lines)


def _alike(name: str, root: Path) -> str:
    """Existing files with the same or a similar name."""
    wanted = name.rpartition("/")[2]
    paths: list[str] = []
    for folder, folders, files in os.walk(root):
        folders[:] = [inner for inner in folders if not inner.startswith(".")]
        paths += [os.path.relpath(f"{folder}/{file}", root) for file in files if file.isprintable()]
        if len(paths) > 50_000:
            break
    same = [path for path in paths if path.rpartition("/")[2] == wanted]
    found = (same or difflib.get_close_matches(name, paths, n=3))[:3]
    return f" Did you mean {' or '.join(found)}?" if found else " A new file has '--- /dev/null' above '+++ b/path'."


def _merged(aims: Sequence[_Aim]) -> list[_Aim]:
    """Several sections for one file become one; a file cannot be changed and created, renamed or deleted at once."""
    merged: dict[str, _Aim] = {}
    for aim in aims:
        key = aim.source or aim.target
        if earlier := merged.get(key):
            if (earlier.source, earlier.target) != (aim.source, aim.target) or not aim.source or not aim.target:
                raise PatchError(f"The patch says two different things about {key}. Write each file once.")
            hunks = tuple(replace(hunk, number=number) for number, hunk in enumerate((*earlier.hunks, *aim.hunks), 1))
            aim = replace(earlier, hunks=hunks, mode=aim.mode or earlier.mode)
        merged[key] = aim
    targets = [aim.target for aim in merged.values() if aim.target]
    if twice := next((target for target in targets if targets.count(target) > 1), None):
        raise PatchError(f"The patch writes {twice} twice. Write each file once.")
    return list(merged.values())


def _change(aim: _Aim, tree: Tree) -> Change:
    if not aim.source:
        return _creation(aim, tree)
    found = tree.read(aim.source)
    if found is None:
        raise PatchError(f"{aim.source} does not exist.")
    data, mode = found
    before = decode(data, aim.source)
    if not aim.target:
        return _deletion(aim, before, data=data, mode=mode)
    if aim.target != aim.source and tree.exists(aim.target):
        raise PatchError(f"{aim.target} exists already; {aim.source} cannot be renamed to it.")
    placed = _placed(aim, before)
    changes = edits(placed, aim.source)
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


def _creation(aim: _Aim, tree: Tree) -> Change:
    if tree.exists(aim.target):
        raise PatchError(f"{aim.target} exists already. Patch what it holds, with '--- a/{aim.target}' above '+++ b/{aim.target}'.")
    return Change(path=aim.target, before=None, after=created(aim.hunks, aim.target), mode=_mode(aim.mode, NEW_FILE_MODE))


def _deletion(aim: _Aim, before: Source, *, data: bytes, mode: int) -> Change:
    lines = [line for hunk in aim.hunks for line in hunk.lines]
    if any(line.mark == "+" for line in lines):
        raise PatchError(f"{aim.source}: a deleted file cannot have added lines.")
    if lines and [line.text.rstrip() for line in lines] != [line.rstrip() for line in before.lines]:
        raise PatchError(
            f"{aim.source} is not what the patch deletes: it has {len(before.lines)} lines, the patch {len(lines)}. Read it first."
        )
    return Change(path=aim.source, before=before, after=None, mode=mode, original=data, original_mode=mode)


def _placed(aim: _Aim, before: Source) -> list[Placed]:
    results = place(aim.hunks, before.lines)
    if any(isinstance(result, Misfit) for result in results):
        raise PatchError(explained(aim.source, results, before.lines))
    return [result for result in results if isinstance(result, Placed)]


def _mode(octal: str, otherwise: int) -> int:
    """git knows only whether a file is executable."""
    if not octal:
        return otherwise
    return otherwise | (otherwise & 0o444) >> 2 if octal.endswith("755") else otherwise & ~0o111


def _differs(change: Change) -> bool:
    if change.before is None or change.after is None or change.renamed_from:
        return True
    return encode(change.after, change.path) != change.original or change.mode != change.original_mode
