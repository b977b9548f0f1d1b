"""Resolution of the files that a patch changes."""

import difflib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from coder.patching.applying.paths import (
    PREFIX,
    find_existing_path,
    new_file_path,
    normalize_path,
    resolve_rename,
)
from coder.patching.applying.source import decode_source
from coder.patching.applying.tree import ConfinedTree
from coder.patching.dialects.hunk import FilePatch, PatchHunk
from coder.patching.dialects.names import DEV_NULL
from coder.patching.dialects.raw import RawFile
from coder.patching.errors import PatchError
from coder.patching.matching.compare import normalize_line
from coder.patching.matching.match import Misfit, place_hunks

MAX_PATHS = 50_000
MAX_FILES_OPENED = 5_000
LARGEST_BYTES = 1_000_000
EXCLUDED_DIRECTORIES = frozenset(
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
class PatchTarget:
    """One file's patch with the paths that its names resolve to."""

    source: str
    """The file it starts from; empty for a new file."""
    target: str
    """The resulting file; empty for a deleted file."""
    hunks: tuple[PatchHunk, ...]
    mode: str


def resolve_targets(patches: Sequence[FilePatch], root: Path) -> list[PatchTarget]:
    """Resolve the files that patches change; several sections for one file are merged.

    Raises:
        PatchError: a name leads out of the tree, matches no file or several, or two sections contradict each
        other.
    """
    merged: dict[str, PatchTarget] = {}
    for aim in (_resolve(patch, ConfinedTree(root), root) for patch in patches):
        path = aim.source or aim.target
        if earlier := merged.get(path):
            aim = _merge(earlier, aim, path)
        merged[path] = aim
    targets = [aim.target for aim in merged.values() if aim.target]
    if duplicate := next((target for target in targets if targets.count(target) > 1), None):
        raise PatchError(f"The patch writes {duplicate} twice. Write each file once.")
    return list(merged.values())


def _merge(earlier: PatchTarget, later: PatchTarget, path: str) -> PatchTarget:
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


def _resolve(patch: FilePatch, tree: ConfinedTree, root: Path) -> PatchTarget:
    header = patch.header
    aim = PatchTarget(source="", target="", hunks=patch.hunks, mode=header.mode)
    if header.mode and not header.mode.startswith("100"):
        raise PatchError(
            f"{header.new or header.old}: only regular files can be changed, not symbolic "
            "links or submodules."
        )
    if header.renamed_from and header.renamed_to:
        source, target = resolve_rename(header.renamed_from, header.renamed_to, tree.exists)
        return replace(aim, source=source, target=target)
    if not (header.old or header.new):
        path = _find_without_header(patch, tree, root)
        return replace(aim, source=path, target=path)
    if header.old == DEV_NULL or header.creates:
        return replace(aim, target=new_file_path(header.new if header.new != DEV_NULL else header.old))
    path = find_existing_path(header.old, header.new, tree.exists) or _find_by_suffix(patch, tree, root)
    if path:
        return replace(aim, source=path, target="" if header.new == DEV_NULL or header.deletes else path)
    return replace(aim, target=_name(header))


def _name(header: RawFile) -> str:
    return new_file_path(header.new if header.new not in ("", DEV_NULL) else header.old)


def _find_by_suffix(patch: FilePatch, tree: ConfinedTree, root: Path) -> str:
    """Return the only file deeper in the tree whose path ends as the header says.

    Empty where the header is a new file's.

    Raises:
        PatchError: there is none, or several that the hunks fit.
    """
    name = _name(patch.header)
    if patch.hunks and all(map(_is_whole_file, patch.hunks)):
        return ""
    paths = list(_walk_paths(root))
    matches_by_suffix = [path for path in paths if path.endswith(f"/{name}")]
    matches = (
        matches_by_suffix
        if len(matches_by_suffix) == 1
        else _files_that_fit(matches_by_suffix, patch.hunks, tree)
    )
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise PatchError(f"{name} could be {' or '.join(matches[:3])}. Write the whole path.")
    similar = [
        path for path in paths if path.rpartition("/")[2] == name.rpartition("/")[2]
    ] or difflib.get_close_matches(name, paths, n=3)
    hint = (
        f" Did you mean {' or '.join(similar[:3])}?"
        if similar
        else " A new file has '--- /dev/null' above '+++ b/path'."
    )
    raise PatchError(f"{name} does not exist.{hint}")


def _is_whole_file(hunk: PatchHunk) -> bool:
    """Tell whether a hunk could be the whole of a new file."""
    lines = hunk.without_tail.lines
    return hunk.start <= 1 and not any(
        line.mark == "-" or (line.mark == " " and line.text.strip()) for line in lines
    )


def _find_without_header(patch: FilePatch, tree: ConfinedTree, root: Path) -> str:
    """Return the file of hunks without a header.

    It is named in the lines above, or the only one of the tree that the hunks fit.

    Raises:
        PatchError: there is none, or several.
    """
    hints = [
        hint
        for hint in patch.header.hints
        if not hint.startswith(("/", "~", "-")) and ".." not in hint and "\\" not in hint
    ]
    hinted = dict.fromkeys(
        path
        for hint in hints
        for spelling in (hint, PREFIX.sub("", hint))
        if (path := _existing_path(spelling, tree))
    )
    paths = list(_walk_paths(root))
    if header_hints := patch.header.hints[: not hints]:
        normalize_path(header_hints[0])
    candidates = list(hinted) or [path for path in paths if any(path.endswith(f"/{hint}") for hint in hints)]
    if len(candidates) == 1:
        return candidates[0]
    fitting = _files_that_fit(candidates, patch.hunks, tree) or (
        [] if hints else _files_that_fit(paths[:MAX_FILES_OPENED], patch.hunks, tree)
    )
    if len(fitting) == 1:
        return fitting[0]
    explanation = (
        f"it fits {' and '.join(fitting[:3])}" if fitting else "no file of the tree can be told to be it"
    )
    raise PatchError(
        f"A hunk belongs to no file: {explanation}. Put '--- a/path' and '+++ b/path' above its '@@'."
    )


def _existing_path(name: str, tree: ConfinedTree) -> str:
    path = normalize_path(name)
    return path if tree.exists(path) else ""


def _files_that_fit(paths: Sequence[str], hunks: Sequence[PatchHunk], tree: ConfinedTree) -> list[str]:
    """Return the files that all hunks fit."""
    lines = [normalize_line(line.text) for hunk in hunks for line in hunk.old_lines]
    longest = max(lines, key=len, default="")
    if sum(any(character.isalnum() for character in line) for line in lines) < 2 and len(longest) < 12:
        return []
    return [path for path in paths if _fits(path, longest, hunks, tree)]


def _fits(path: str, longest: str, hunks: Sequence[PatchHunk], tree: ConfinedTree) -> bool:
    try:
        content = tree.read(normalize_path(path))
        if (
            content is None
            or len(content[0]) > LARGEST_BYTES
            or longest.split()[0].encode("utf-8", "replace") not in content[0]
        ):
            return False
        lines = decode_source(content[0], path).lines
    except PatchError:
        return False
    return any(normalize_line(line) == longest for line in lines) and not any(
        isinstance(result, Misfit) for result in place_hunks(hunks, lines)
    )


def _walk_paths(root: Path) -> Iterator[str]:
    """Yield the files below the root, except in directories that patches do not touch."""
    count = 0
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(inner for inner in folders if inner not in EXCLUDED_DIRECTORIES)
        yield from (os.path.relpath(f"{folder}/{file}", root) for file in sorted(files) if file.isprintable())
        count += len(files)
        if count > MAX_PATHS:
            return
