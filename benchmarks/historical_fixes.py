"""Selection of historical fixes in a repository by a rule that looks at no result."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from coder.core.paths import is_test_file, is_test_path

FIX_WORDS = re.compile(r"\b(?:fix|bug|correct|regress|handle)", re.IGNORECASE)
MOST_FILES = 10


@dataclass(frozen=True)
class Fix:
    """A historical fix; `tests` are its Python test files that exist after it."""

    commit: str
    subject: str
    tests: tuple[str, ...]


def select_fixes(root: Path, revision: str, *, skip: int, number: int) -> list[Fix]:
    """Return fixes before a revision, newest first, without the `skip` newest."""
    fixes = (fix for fix in map(find_fix, read_log(root, revision)) if fix)
    return list(islice(fixes, skip, skip + number))


def read_log(root: Path, revision: str) -> Iterator[str]:
    """Yield commits without merges, newest first: hash and subject, then a line of status and path each."""
    command = ["git", "-c", "core.quotePath=off", "log", "--no-merges", "--no-renames", "--name-status"]
    with subprocess.Popen(
        [*command, "--format=%x00%H %s", revision, "--"], cwd=root, stdout=subprocess.PIPE, encoding="utf-8"
    ) as log:
        assert log.stdout is not None
        lines: list[str] = []
        for line in log.stdout:
            if line.startswith("\0") and lines:
                yield "".join(lines)
                lines = []
            lines.append(line.removeprefix("\0"))
        if lines:
            yield "".join(lines)


def find_fix(record: str) -> Fix | None:
    """Return the fix that a record of `read_log` holds, None if the rule does not select it."""
    title, *lines = record.splitlines()
    commit, _, subject = title.partition(" ")
    changes = [line.split("\t", 1) for line in lines if "\t" in line]
    python = [(status, path) for status, path in changes if path.endswith(".py")]
    tests = tuple(path for status, path in python if status != "D" and is_test_file(path))
    has_source = any(not is_test_path(path) for _, path in python)
    is_small = len(changes) <= MOST_FILES
    return (
        Fix(commit, subject, tests)
        if FIX_WORDS.search(subject) and tests and has_source and is_small
        else None
    )


def clone_at(root: Path, commit: str, place: Path) -> Path:
    """Return a fresh clone of a project with a commit checked out."""
    clone = place / root.name
    for words in (
        ("clone", "--quiet", "--shared", "--no-checkout", str(root), str(clone)),
        ("-C", str(clone), "-c", "advice.detachedHead=false", "checkout", "--quiet", "--detach", commit),
    ):
        subprocess.run(["git", *words], check=True, stderr=subprocess.DEVNULL)
    return clone
