"""Real changes, sampled from the histories of git repositories."""

import os
import pickle
import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from benchmarks.patching.cases import NOWHERE, Case, Hunk, Part, Row, Text, apply_hunks

RANGES = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
CONTEXTS = (1, 2, 3, 3, 3, 3, 4, 5, 8, 12)
MOST_FILES, MOST_HUNKS, MOST_LINES, NEIGHBOURS = 6, 40, 6_000, 5
COMMITS = 120
"""Commits of each repository; few, since reading them takes longer than trying them."""
REGULAR = ("100644", "100755")


class Unfit(Exception):
    """The commit gives no case."""


@dataclass(frozen=True, kw_only=True)
class Commit:
    repository: Path
    id: str

    def git(self, *arguments: str, stdin: bytes = b"") -> bytes:
        variables = {
            **os.environ,
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        result = subprocess.run(
            ["git", "-C", self.repository, *arguments],
            input=stdin,
            capture_output=True,
            env=variables,
            check=False,
        )
        if result.returncode != 0:
            raise Unfit(result.stderr.decode("utf-8", "replace"))
        return result.stdout

    def texts(self, revisions: list[str]) -> list[str]:
        """Return blobs, by `commit:path`."""
        data = self.git(
            "cat-file", "--batch", stdin="".join(f"{revision}\n" for revision in revisions).encode()
        )
        blobs = []
        for _ in revisions:
            head, _, data = data.partition(b"\n")
            if not head.split()[-1].isdigit():
                raise Unfit("not here")
            size = int(head.split()[-1])
            blobs.append(data[:size].decode("utf-8", "strict"))
            data = data[size + 1 :]
        return blobs


def commits(repository: Path, random: Random) -> list[Commit]:
    """Return some commits with one parent."""
    whole = Commit(repository=repository, id="HEAD")
    hashes = whole.git("rev-list", "--min-parents=1", "--max-parents=1", "HEAD").decode().split()
    return [
        Commit(repository=repository, id=name) for name in random.sample(hashes, min(COMMITS, len(hashes)))
    ]


def sample_case(commit: Commit) -> Case | None:
    """Return the commit as a case that is not damaged yet, always the same; None if it is too large,
    binary, or touches a file that is no text.
    """
    cached = _cached_objects(commit)
    case: Case | None = pickle.loads(cached) if cached else None
    return case


@cache
def _cached_objects(commit: Commit) -> bytes:
    try:
        return pickle.dumps(_read(commit, Random(commit.id)))
    except (Unfit, UnicodeDecodeError):
        return b""


def _read(commit: Commit, random: Random) -> Case:
    """Read a commit.

    Raises:
        Unfit: it is too large, binary, or changes a file that is no text.
    """
    parent = f"{commit.id}^"
    raw = (
        commit.git("diff-tree", "-r", "-M", "--raw", "--no-abbrev", parent, commit.id)
        .decode("utf-8", "replace")
        .splitlines()
    )
    if not 0 < len(raw) <= MOST_FILES:
        raise Unfit("too many files, or none")
    modes: dict[str, str] = {}
    for line in raw:
        old_mode, new_mode, *_, status = line[1:].split("\t")[0].split()
        names = line.split("\t")[1:]
        if {old_mode, new_mode} - {*REGULAR, "000000"} or any(
            not name.isascii() or " " in name or '"' in name for name in names
        ):
            raise Unfit("no plain files")
        if status[0] in "MR" and old_mode != new_mode:
            raise Unfit("a mode that only git's own lines tell")
        modes |= {f"{parent}:{names[0]}": old_mode} if status[0] != "A" else {}
        modes |= {f"{commit.id}:{names[-1]}": new_mode} if status[0] != "D" else {}
    files = {
        revision: _text(text, mode=modes[revision])
        for revision, text in zip(modes, commit.texts(list(modes)), strict=True)
    }
    before, after = (
        {name.partition(":")[2]: text for name, text in files.items() if name.startswith(f"{of}:")}
        for of in (parent, commit.id)
    )
    parts = parts_of(
        commit.git("diff-tree", "-r", "-p", "-M", f"-U{random.choice(CONTEXTS)}", parent, commit.id).decode()
    )
    if sum(len(part.hunks) for part in parts) > MOST_HUNKS:
        raise Unfit("too many hunks")
    for part in parts:
        if part.changes_only and apply_hunks(before[part.path].lines, part.hunks) != after[part.target].lines:
            raise Unfit("a diff that is more than its lines")
    around = _neighbours(commit, set(before) | set(after), random)
    case = Case(
        before={**around, **before},
        after={**around, **after},
        parts=parts,
        label=f"{commit.repository} {commit.id[:10]}",
    )
    if random.random() < 0.3:
        _use_plain_format(case)
    return case


def _text(text: str, *, mode: str) -> Text:
    lines = text.split("\n")
    if "\r" in text or "\0" in text or len(lines) > MOST_LINES:
        raise Unfit("not of a common form")
    final = lines[-1] == ""
    return Text(lines=lines[:-1] if final else lines, final=final, executable=mode == "100755")


def parts_of(diff: str) -> list[Part]:
    """Split a diff as git writes it."""
    lines = diff.split("\n")[:-1]
    parts: list[Part] = []
    index = 0
    while index < len(lines):
        line = lines[index]
        if line.startswith("diff --git "):
            old, new = line.removeprefix("diff --git a/").split(" b/")
            parts.append(Part(path=old, target=new, git=[line], old="", new="", hunks=[]))
        elif line.startswith("--- "):
            parts[-1].old, parts[-1].new = line[4:], lines[index + 1][4:]
            index += 1
        elif match := RANGES.match(line):
            hunk, index = _hunk(match, lines, index + 1)
            parts[-1].hunks.append(hunk)
            continue
        else:
            parts[-1].git.append(line)
        index += 1
    for part in parts:
        part.path = "" if any(line.startswith("new file") for line in part.git) else part.path
        part.target = "" if any(line.startswith("deleted file") for line in part.git) else part.target
    return parts


def _hunk(match: re.Match[str], lines: list[str], index: int) -> tuple[Hunk, int]:
    old, new = int(match[2] or 1), int(match[4] or 1)
    at = int(match[1]) - 1 if old else int(match[1])
    hunk = Hunk(rows=[], start=int(match[1]), new_start=int(match[3]), section=match[5])
    while index < len(lines) and (old or new or lines[index].startswith("\\")):
        line = lines[index]
        if line.startswith("\\"):
            hunk.rows[-1].ends = False
        else:
            hunk.rows.append(Row(mark=line[0], text=line[1:], at=at))
            at += line[0] != "+"
            old, new = old - (line[0] != "+"), new - (line[0] != "-")
        index += 1
    return hunk, index


def _neighbours(commit: Commit, known_paths: set[str], random: Random) -> dict[str, Text]:
    """Return other files of the commit, those with the same name or directory first."""
    entries = [
        line.split("\t")
        for line in commit.git("ls-tree", "-r", f"{commit.id}^").decode("utf-8", "replace").splitlines()
    ]
    paths = [
        path
        for info, path in entries
        if info[:6] in REGULAR and path.endswith((".py", ".rst", ".txt", ".md")) and path not in known_paths
    ]
    random.shuffle(paths)
    names, folders = (
        {path.rpartition("/")[2] for path in known_paths},
        {path.rpartition("/")[0] for path in known_paths},
    )
    paths.sort(
        key=lambda path: path.rpartition("/")[2] not in names and path.rpartition("/")[0] not in folders
    )
    texts = commit.texts([f"{commit.id}^:{path}" for path in paths[:NEIGHBOURS]])
    return {path: _text(text, mode="100644") for path, text in zip(paths, texts, strict=False)}


def _use_plain_format(case: Case) -> None:
    """Write the diff as `diff -u` does; renamed files and new modes cannot be expressed so."""
    if any((part.path and part.target and part.path != part.target) or not part.hunks for part in case.parts):
        return
    if any(line.startswith(("old mode", "new file mode 100755")) for part in case.parts for line in part.git):
        return
    for part in case.parts:
        part.git = []
        for hunk in part.hunks:
            hunk.section = ""
        stamp = "\t2024-03-01 12:00:00.000000000 +0100"
        part.old, part.new = (name + stamp if name != NOWHERE else name for name in (part.old, part.new))
