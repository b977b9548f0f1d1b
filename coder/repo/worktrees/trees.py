"""Changes between git trees: what they are, and how one is carried onto another tree."""

import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

from coder.core.values.candidate import Patch
from coder.patching import PatchError
from coder.patching.applying.source import decode
from coder.patching.applying.tree import Tree
from coder.patching.git_hunks import hunks
from coder.repo.git import Git

REGULAR = ("100644", "100755")
GONE = "000000"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What a tree holds at one path; mode GONE is nothing."""

    mode: str
    blob: str

    def line(self, path: str) -> bytes:
        """As `update-index --index-info` reads it."""
        return os.fsencode(f"{self.mode} {self.blob}\t{path}\0")


def changes(git: Git, *, old: str, new: str) -> dict[str, Entry]:
    """The new entry of every path that differs, sorted by path; a renamed file is two of them."""
    fields = git.items("diff-tree", "-r", "-z", "--no-renames", old, new)
    return {
        path: Entry(mode=words.split()[1], blob=words.split()[3])
        for words, path in zip(fields[::2], fields[1::2], strict=True)
    }


def diff(git: Git, *, old: str, new: str) -> str:
    """A unified diff that says all `git apply` needs, binary files included."""
    output = git.call("diff-tree", "-r", "-p", "-M", "--binary", old, new).stdout
    sections = re.split(rb"^(?=diff --git )", output, flags=re.MULTILINE)
    return "".join(
        section.decode() if section.isascii() else _decoded(git, section, trees=(new, old))
        for section in sections
    )


def encoded(text: str, root: Path) -> bytes:
    """A diff made by `diff` as bytes again, each file's lines in the encoding that the file below `root` has."""
    parts: list[bytes] = []
    for header, of_file in groupby(hunks(text), key=lambda hunk: hunk.header):
        bodies = list(of_file)
        parts.append(header.encode("utf-8", "surrogateescape"))
        parts += [_bytes(hunk.body, _encoding_below(root, hunk.path)) for hunk in bodies]
    return b"".join(parts)


def changed_paths(git: Git, *, old: str, new: str) -> tuple[str, ...]:
    """Sorted, and fit to be shown: a name that is no UTF-8 has its odd bytes replaced."""
    return tuple(os.fsencode(path).decode("utf-8", "replace") for path in changes(git, old=old, new=new))


def edits(git: Git, *, old: str, new: str) -> dict[str, str | None] | None:
    """The new text of every path that differs, None where it is gone; None at all where one is no plain file of UTF-8."""
    found = changes(git, old=old, new=new)
    there = {path: entry for path, entry in found.items() if entry.mode != GONE}
    if any(entry.mode not in REGULAR for entry in there.values()):
        return None
    told = git.call(
        "cat-file", "--batch", stdin="".join(f"{entry.blob}\n" for entry in there.values()).encode()
    ).stdout
    texts: dict[str, str | None] = dict.fromkeys(found)
    try:
        for path in there:
            header, _, told = told.partition(b"\n")
            size = int(header.split()[2])
            texts[path], told = told[:size].decode(), told[size + 1 :]
    except UnicodeDecodeError:
        return None
    return texts


def patch(git: Git, *, old: str, new: str) -> Patch:
    paths = changed_paths(git, old=old, new=new)
    return Patch(diff=diff(git, old=old, new=new) if paths else "", paths=paths, tree=new)


def composed(git: Git, *, old: str, new: str, paths: Collection[str]) -> str:
    """The tree `old` with what `new` has at `paths` (files or directories), deletions included."""
    wanted = {path.rstrip("/") for path in paths}
    lines = [
        entry.line(path) for path, entry in changes(git, old=old, new=new).items() if _within(path, wanted)
    ]
    with TemporaryDirectory(prefix="coder-") as scratch:
        index = git.with_index(Path(scratch) / "index")
        index.call("read-tree", old)
        index.call("update-index", "-z", "--index-info", stdin=b"".join(lines))
        return index.text("write-tree", "--missing-ok")


def carried(git: Git, *, old: str, new: str, onto: str) -> str | None:
    """The change from `old` to `new` made to the tree `onto`, by a three-way merge; None where it does not fit."""
    with TemporaryDirectory(prefix="coder-") as scratch:
        index = git.with_index(Path(scratch) / "index")
        index.call("read-tree", onto)
        if index.call("read-tree", "-i", "-m", "--aggressive", old, onto, new, accept=None).status != 0:
            return None
        merged: list[bytes] = []
        for path, entries in _unmerged(index):
            entry = _merge_file(git, entries, Path(scratch))
            if entry is None:
                return None
            merged.append(entry.line(path))
        if merged:
            index.call("update-index", "-z", "--index-info", stdin=b"".join(merged))
        return index.text("write-tree", "--missing-ok")


def _decoded(git: Git, section: bytes, *, trees: Sequence[str]) -> str:
    """One file's part of a diff, its lines read in the file's own encoding."""
    header, mark, body = section.partition(b"\n@@ ")
    path = next(
        (line[6:] for line in reversed(header.split(b"\n")) if line.startswith((b"--- a/", b"+++ b/"))), b""
    ).rstrip(b"\t")
    blobs = [git.call("cat-file", "blob", f"{tree}:{os.fsdecode(path)}", accept=None) for tree in trees]
    data = next((blob.stdout for blob in blobs if blob.status == 0), b"")
    lines = mark + body
    try:
        text = lines.decode(_encoding(data, os.fsdecode(path)))
    except UnicodeDecodeError:  # the change is one of the encoding, too
        text = lines.decode("latin-1")
    return header.decode("utf-8", "replace") + text


def _encoding(data: bytes, path: str) -> str:
    try:
        return decode(data, path).encoding
    except PatchError:  # binary: its part of a diff is ASCII
        return "utf-8"


def _encoding_below(root: Path, path: str) -> str:
    try:
        found = Tree(root).read(path)
    except PatchError:  # git will say why it cannot be changed
        return "utf-8"
    return _encoding(found[0], path) if found else "utf-8"


def _bytes(text: str, encoding: str) -> bytes:
    try:
        return text.encode(encoding)
    except UnicodeEncodeError:  # the file is another one by now: git will refuse
        return text.encode("utf-8", "replace")


def _within(path: str, wanted: Collection[str]) -> bool:
    parts = path.split("/")
    return any("/".join(parts[:count]) in wanted for count in range(1, len(parts) + 1))


def _unmerged(index: Git) -> list[tuple[str, Sequence[Entry | None]]]:
    """Each path that both sides changed, with its entries in the old, the present and the new tree."""
    found = [
        (item.partition("\t")[2], item.partition("\t")[0].split())
        for item in index.items("ls-files", "--unmerged", "-z")
    ]
    stages = [
        (path, {stage: Entry(mode=mode, blob=blob) for _, (mode, blob, stage) in group})
        for path, group in groupby(found, key=lambda pair: pair[0])
    ]
    return [(path, [entries.get(stage) for stage in "123"]) for path, entries in stages]


def _merge_file(git: Git, entries: Sequence[Entry | None], scratch: Path) -> Entry | None:
    old, ours, theirs = entries
    if (
        old is None
        or ours is None
        or theirs is None
        or any(entry.mode not in REGULAR for entry in (old, ours, theirs))
    ):
        return None
    files = {"ours": ours, "old": old, "theirs": theirs}
    for name, entry in files.items():
        (scratch / name).write_bytes(git.call("cat-file", "blob", entry.blob).stdout)
    merged = git.call("merge-file", "-p", "-q", *(str(scratch / name) for name in files), accept=None)
    if merged.status != 0:
        return None
    blob = git.text("hash-object", "-w", "--stdin", stdin=merged.stdout)
    return Entry(mode=theirs.mode if ours.mode == old.mode else ours.mode, blob=blob)
