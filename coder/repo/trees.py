"""Changes between git trees: what they are, and how one is carried onto another tree."""

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

from coder.core.candidate import Patch
from coder.repo.git import Git

REGULAR = ("100644", "100755")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What a tree holds at one path; mode `000000` is nothing."""

    mode: str
    blob: str

    def line(self, path: str) -> bytes:
        """As `update-index --index-info` reads it."""
        return os.fsencode(f"{self.mode} {self.blob}\t{path}\0")


def changes(git: Git, *, old: str, new: str) -> dict[str, Entry]:
    """The new entry of every path that differs, sorted by path; a renamed file is two of them."""
    fields = git.items("diff-tree", "-r", "-z", "--no-renames", old, new)
    return {path: Entry(mode=words.split()[1], blob=words.split()[3]) for words, path in zip(fields[::2], fields[1::2], strict=True)}


def diff(git: Git, *, old: str, new: str) -> str:
    """A unified diff that says all `git apply` needs, binary files included."""
    output = git.call("diff-tree", "-r", "-p", "-M", "--binary", old, new)
    return output.stdout.decode("utf-8", "replace")


def changed_paths(git: Git, *, old: str, new: str) -> tuple[str, ...]:
    """Sorted, and fit to be shown: a name that is no UTF-8 has its odd bytes replaced."""
    return tuple(os.fsencode(path).decode("utf-8", "replace") for path in changes(git, old=old, new=new))


def patch(git: Git, *, old: str, new: str) -> Patch:
    paths = changed_paths(git, old=old, new=new)
    return Patch(diff=diff(git, old=old, new=new) if paths else "", paths=paths, tree=new)


def composed(git: Git, *, old: str, new: str, paths: Collection[str]) -> str:
    """The tree `old` with what `new` has at `paths` (files or directories), deletions included."""
    wanted = {path.rstrip("/") for path in paths}
    lines = [entry.line(path) for path, entry in changes(git, old=old, new=new).items() if _within(path, wanted)]
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


def _within(path: str, wanted: Collection[str]) -> bool:
    parts = path.split("/")
    return any("/".join(parts[:count]) in wanted for count in range(1, len(parts) + 1))


def _unmerged(index: Git) -> list[tuple[str, Sequence[Entry | None]]]:
    """Each path that both sides changed, with its entries in the old, the present and the new tree."""
    found = [(item.partition("\t")[2], item.partition("\t")[0].split()) for item in index.items("ls-files", "--unmerged", "-z")]
    stages = [
        (path, {stage: Entry(mode=mode, blob=blob) for _, (mode, blob, stage) in group})
        for path, group in groupby(found, key=lambda pair: pair[0])
    ]
    return [(path, [entries.get(stage) for stage in "123"]) for path, entries in stages]


def _merge_file(git: Git, entries: Sequence[Entry | None], scratch: Path) -> Entry | None:
    old, ours, theirs = entries
    if old is None or ours is None or theirs is None or any(entry.mode not in REGULAR for entry in (old, ours, theirs)):
        return None
    files = {"ours": ours, "old": old, "theirs": theirs}
    for name, entry in files.items():
        (scratch / name).write_bytes(git.call("cat-file", "blob", entry.blob).stdout)
    merged = git.call("merge-file", "-p", "-q", *(str(scratch / name) for name in files), accept=None)
    if merged.status != 0:
        return None
    blob = git.text("hash-object", "-w", "--stdin", stdin=merged.stdout)
    return Entry(mode=theirs.mode if ours.mode == old.mode else ours.mode, blob=blob)
