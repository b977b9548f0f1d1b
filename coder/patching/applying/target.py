"""Which files of the tree a patch is for."""

import difflib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from coder.patching.applying.paths import PREFIX, checked, existing, renamed, to_create
from coder.patching.applying.source import decode
from coder.patching.applying.tree import Tree
from coder.patching.dialects.hunk import FilePatch, Hunk
from coder.patching.dialects.names import NOWHERE
from coder.patching.dialects.raw import RawFile
from coder.patching.errors import PatchError
from coder.patching.matching.compare import key
from coder.patching.matching.match import Misfit, place

MOST_PATHS = 50_000
MOST_OPENED = 5_000
LARGEST_BYTES = 1_000_000
ASIDE = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        ".tox",
        ".nox",
        ".venv",
        "venv",
        "node_modules",
        "__pycache__",
        ".mypy_cache",
        ".ruff_cache",
    }
)


@dataclass(frozen=True, kw_only=True)
class Aim:
    """One file's patch with the files that its names mean."""

    source: str
    """The file it starts from; empty for a new one."""
    target: str
    """The file it leaves; empty for a deleted one."""
    hunks: tuple[Hunk, ...]
    mode: str


def aimed(patches: Sequence[FilePatch], root: Path) -> list[Aim]:
    """What each file of the tree is to become; several sections for one file are one.

    Raises:
        PatchError: a name leads out of the tree, means no file or several, or two sections contradict each other.
    """
    merged: dict[str, Aim] = {}
    for aim in (_aimed(patch, Tree(root), root) for patch in patches):
        path = aim.source or aim.target
        if earlier := merged.get(path):
            aim = _joined(earlier, aim, path)
        merged[path] = aim
    targets = [aim.target for aim in merged.values() if aim.target]
    if twice := next((target for target in targets if targets.count(target) > 1), None):
        raise PatchError(f"The patch writes {twice} twice. Write each file once.")
    return list(merged.values())


def _joined(earlier: Aim, later: Aim, path: str) -> Aim:
    if earlier == later:
        return earlier
    if (
        (earlier.source, earlier.target) != (later.source, later.target)
        or not later.source
        or not later.target
    ):
        raise PatchError(f"The patch says two different things about {path}. Write each file once.")
    hunks = tuple(
        replace(hunk, number=number) for number, hunk in enumerate((*earlier.hunks, *later.hunks), 1)
    )
    return replace(earlier, hunks=hunks, mode=later.mode or earlier.mode)


def _aimed(patch: FilePatch, tree: Tree, root: Path) -> Aim:
    header = patch.header
    aim = Aim(source="", target="", hunks=patch.hunks, mode=header.mode)
    if header.mode and not header.mode.startswith("100"):
        raise PatchError(
            f"{header.new or header.old}: only regular files can be changed, not symbolic links or submodules."
        )
    if header.renamed_from and header.renamed_to:
        source, target = renamed(header.renamed_from, header.renamed_to, tree.exists)
        return replace(aim, source=source, target=target)
    if not (header.old or header.new):
        found = _unnamed(patch, tree, root)
        return replace(aim, source=found, target=found)
    if header.old == NOWHERE or header.creates:
        return replace(aim, target=to_create(header.new if header.new != NOWHERE else header.old))
    found = existing(header.old, header.new, tree.exists) or _elsewhere(patch, tree, root)
    if found:
        return replace(aim, source=found, target="" if header.new == NOWHERE or header.deletes else found)
    return replace(aim, target=_name(header))


def _name(header: RawFile) -> str:
    return to_create(header.new if header.new not in ("", NOWHERE) else header.old)


def _elsewhere(patch: FilePatch, tree: Tree, root: Path) -> str:
    """The one file deeper in the tree whose path ends as the header says; an empty string where the header names a new file.

    Raises:
        PatchError: there is none, or several that the hunks fit.
    """
    name = _name(patch.header)
    if patch.hunks and all(map(_makes_a_file, patch.hunks)):
        return ""
    paths = list(_paths(root))
    same = [path for path in paths if path.endswith(f"/{name}")]
    found = same if len(same) == 1 else _fitting(same, patch.hunks, tree)
    if len(found) == 1:
        return found[0]
    if found:
        raise PatchError(f"{name} could be {' or '.join(found[:3])}. Write the whole path.")
    alike = [
        path for path in paths if path.rpartition("/")[2] == name.rpartition("/")[2]
    ] or difflib.get_close_matches(name, paths, n=3)
    meant = (
        f" Did you mean {' or '.join(alike[:3])}?"
        if alike
        else " A new file has '--- /dev/null' above '+++ b/path'."
    )
    raise PatchError(f"{name} does not exist.{meant}")


def _makes_a_file(hunk: Hunk) -> bool:
    """Could this be the whole of a new file?"""
    lines = hunk.without_tail.lines
    return hunk.start <= 1 and not any(
        line.mark == "-" or (line.mark == " " and line.text.strip()) for line in lines
    )


def _unnamed(patch: FilePatch, tree: Tree, root: Path) -> str:
    """The file of hunks without a header: named in the lines above, or the only one of the tree that they fit.

    Raises:
        PatchError: there is none, or several.
    """
    hints = [
        hint
        for hint in patch.header.hints
        if not hint.startswith(("/", "~", "-")) and ".." not in hint and "\\" not in hint
    ]
    named = dict.fromkeys(
        found for hint in hints for spelled in (hint, PREFIX.sub("", hint)) if (found := _file(spelled, tree))
    )
    paths = list(_paths(root))
    if header_hints := patch.header.hints[: not hints]:
        checked(header_hints[0])
    candidates = list(named) or [path for path in paths if any(path.endswith(f"/{hint}") for hint in hints)]
    if len(candidates) == 1:
        return candidates[0]
    fitting = _fitting(candidates, patch.hunks, tree) or (
        [] if hints else _fitting(paths[:MOST_OPENED], patch.hunks, tree)
    )
    if len(fitting) == 1:
        return fitting[0]
    which = f"it fits {' and '.join(fitting[:3])}" if fitting else "no file of the tree can be told to be it"
    raise PatchError(f"A hunk belongs to no file: {which}. Put '--- a/path' and '+++ b/path' above its '@@'.")


def _file(name: str, tree: Tree) -> str:
    path = checked(name)
    return path if tree.exists(path) else ""


def _fitting(paths: Sequence[str], hunks: Sequence[Hunk], tree: Tree) -> list[str]:
    """The files that all hunks fit."""
    lines = [key(line.text) for hunk in hunks for line in hunk.old]
    telling = max(lines, key=len, default="")
    if sum(any(character.isalnum() for character in line) for line in lines) < 2 and len(telling) < 12:
        return []
    return [path for path in paths if _fits(path, telling, hunks, tree)]


def _fits(path: str, telling: str, hunks: Sequence[Hunk], tree: Tree) -> bool:
    try:
        found = tree.read(checked(path))
        if (
            found is None
            or len(found[0]) > LARGEST_BYTES
            or telling.split()[0].encode("utf-8", "replace") not in found[0]
        ):
            return False
        lines = decode(found[0], path).lines
    except PatchError:
        return False
    return any(key(line) == telling for line in lines) and not any(
        isinstance(result, Misfit) for result in place(hunks, lines)
    )


def _paths(root: Path) -> Iterator[str]:
    """The files below the root, but for those that no patch is for."""
    count = 0
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(inner for inner in folders if inner not in ASIDE)
        yield from (os.path.relpath(f"{folder}/{file}", root) for file in sorted(files) if file.isprintable())
        count += len(files)
        if count > MOST_PATHS:
            return
