"""Changes between git trees, and their application to other trees."""

import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

from coder.core.values import Patch
from coder.patching import PatchError
from coder.patching.git_hunks import split_git_diff
from coder.patching.plan import ConfinedTree, decode_source
from coder.repo.git import Git

REGULAR = ("100644", "100755")


@dataclass(frozen=True, kw_only=True)
class TreeEntry:
    """Content of a tree at one path; mode GONE means none."""

    mode: str
    blob: str

    def index_line(self, path: str) -> bytes:
        """Return the entry as input of `update-index --index-info`."""
        return os.fsencode(f"{self.mode} {self.blob}\t{path}\0")


def changed_entries(git: Git, *, old: str, new: str) -> dict[str, TreeEntry]:
    """Return the new entry of every path that differs, sorted by path; a rename counts as two paths."""
    fields = git.items("diff-tree", "-r", "-z", "--no-renames", old, new)
    return {
        path: TreeEntry(mode=words.split()[1], blob=words.split()[3])
        for words, path in zip(fields[::2], fields[1::2], strict=True)
    }


def diff_trees(git: Git, *, old: str, new: str) -> str:
    """Return a unified diff complete for `git apply`, binary files included."""
    output = git.call("diff-tree", "-r", "-p", "-M", "--binary", old, new).stdout
    sections = re.split(rb"^(?=diff --git )", output, flags=re.MULTILINE)
    return "".join(
        section.decode() if section.isascii() else _decode_section(git, section, trees=(new, old))
        for section in sections
    )


def encode_diff(text: str, root: Path) -> bytes:
    """Return a diff made by `diff` as bytes.

    Each file's lines are in the encoding of that file below `root`.
    """
    parts: list[bytes] = []
    for header, file_hunks in groupby(split_git_diff(text), key=lambda hunk: hunk.header):
        body_hunks = list(file_hunks)
        parts.append(header.encode("utf-8", "surrogateescape"))
        parts += [_encode(hunk.body, _encoding_below(root, hunk.path)) for hunk in body_hunks]
    return b"".join(parts)


def changed_paths(git: Git, *, old: str, new: str) -> tuple[str, ...]:
    """Return the paths that differ, sorted; bytes of names that are no UTF-8 are replaced."""
    return tuple(
        os.fsencode(path).decode("utf-8", "replace") for path in changed_entries(git, old=old, new=new)
    )


def make_patch(git: Git, *, old: str, new: str) -> Patch:
    """Return the change between two trees."""
    paths = changed_paths(git, old=old, new=new)
    return Patch(diff=diff_trees(git, old=old, new=new) if paths else "", paths=paths, tree=new)


def compose_tree(git: Git, *, old: str, new: str, paths: Collection[str]) -> str:
    """Return the tree `old` with the content of `new` at `paths`, deletions included.

    `paths` are files or directories.
    """
    selected = {path.rstrip("/") for path in paths}
    lines = [
        entry.index_line(path)
        for path, entry in changed_entries(git, old=old, new=new).items()
        if _is_within(path, selected)
    ]
    with git.scratch_index(old) as index:
        index.call("update-index", "-z", "--index-info", stdin=b"".join(lines))
        return index.text("write-tree", "--missing-ok")


def merge_change(git: Git, *, old: str, new: str, onto: str) -> str | None:
    """Apply the change from `old` to `new` to the tree `onto` by a three-way merge; None if it conflicts."""
    with git.scratch_index(onto) as index:
        if index.call("read-tree", "-i", "-m", "--aggressive", old, onto, new, accept=None).status != 0:
            return None
        merged: list[bytes] = []
        for path, entries in _unmerged_entries(index):
            entry = _merge_file(git, entries)
            if entry is None:
                return None
            merged.append(entry.index_line(path))
        if merged:
            index.call("update-index", "-z", "--index-info", stdin=b"".join(merged))
        return index.text("write-tree", "--missing-ok")


def apply_to_tree(git: Git, diff: str, *, onto: str, root: Path, reverse: bool = False) -> str | None:
    """Return the tree `onto` with a diff applied, or taken back; None if it does not apply there.

    The diff is as `diff_trees` makes it; lines are encoded like the files below `root`.
    """
    if not diff:
        return git.resolve_tree(onto)
    with git.scratch_index(onto) as index:
        options = ("--cached", "--whitespace=nowarn", *(["--reverse"] if reverse else []))
        if index.call("apply", *options, "-", stdin=encode_diff(diff, root), accept=None).status != 0:
            return None
        return index.text("write-tree", "--missing-ok")


def _decode_section(git: Git, section: bytes, *, trees: Sequence[str]) -> str:
    """Return one file's part of a diff, decoded by the file's encoding."""
    header, mark, body = section.partition(b"\n@@ ")
    path = next(
        (line[6:] for line in reversed(header.split(b"\n")) if line.startswith((b"--- a/", b"+++ b/"))), b""
    ).rstrip(b"\t")
    blobs = [git.call("cat-file", "blob", f"{tree}:{os.fsdecode(path)}", accept=None) for tree in trees]
    data = next((blob.stdout for blob in blobs if blob.status == 0), b"")
    lines = mark + body
    try:
        text = lines.decode(_detect_encoding(data, os.fsdecode(path)))
    except UnicodeDecodeError:  # the change also changes the encoding
        text = lines.decode("latin-1")
    return header.decode("utf-8", "replace") + text


def _detect_encoding(data: bytes, path: str) -> str:
    try:
        return decode_source(data, path).encoding
    except PatchError:  # binary: its part of a diff is ASCII
        return "utf-8"


def _encoding_below(root: Path, path: str) -> str:
    try:
        content = ConfinedTree(root).read(path)
    except PatchError:  # git will report why it cannot be changed
        return "utf-8"
    return _detect_encoding(content[0], path) if content else "utf-8"


def _encode(text: str, encoding: str) -> bytes:
    try:
        return text.encode(encoding)
    except UnicodeEncodeError:  # the file has changed since: git will refuse
        return text.encode("utf-8", "replace")


def _is_within(path: str, selected: Collection[str]) -> bool:
    parts = path.split("/")
    return any("/".join(parts[:count]) in selected for count in range(1, len(parts) + 1))


def _unmerged_entries(index: Git) -> list[tuple[str, Sequence[TreeEntry | None]]]:
    """Return each path changed on both sides, with its entries in the old, the current and the new tree."""
    records = [
        (line.partition("\t")[2], line.partition("\t")[0].split())
        for line in index.items("ls-files", "--unmerged", "-z")
    ]
    stages = [
        (path, {stage: TreeEntry(mode=mode, blob=blob) for _, (mode, blob, stage) in group})
        for path, group in groupby(records, key=lambda pair: pair[0])
    ]
    return [(path, [entries.get(stage) for stage in "123"]) for path, entries in stages]


def _merge_file(git: Git, entries: Sequence[TreeEntry | None]) -> TreeEntry | None:
    old, ours, theirs = entries
    if old is None or ours is None or theirs is None or {old.mode, ours.mode, theirs.mode} - {*REGULAR}:
        return None
    with TemporaryDirectory(prefix="coder-") as scratch:
        files = [Path(scratch, name) for name in ("ours", "old", "theirs")]
        for file, entry in zip(files, (ours, old, theirs), strict=True):
            file.write_bytes(git.call("cat-file", "blob", entry.blob).stdout)
        merged = git.call("merge-file", "-p", "-q", *map(str, files), accept=None)
    if merged.status != 0:
        return None
    blob = git.text("hash-object", "-w", "--stdin", stdin=merged.stdout)
    return TreeEntry(mode=theirs.mode if ours.mode == old.mode else ours.mode, blob=blob)
