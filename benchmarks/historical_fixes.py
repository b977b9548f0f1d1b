"""Selection of historical fixes in a repository by a rule that looks at no result.

    python -m benchmarks historical_fixes [--count N] [--families] REPOSITORY...

Prints, for fixes of one line, how often the candidates of the right line hold the exact fix (equal syntax
trees), and its rank; with --families the table of counts that `coder.repair.candidates` ranks by. Give it
repositories (git directories) other than those that the table was made from: sympy, Sphinx, Pylint.
"""

import argparse
import ast
import re
import subprocess
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from coder.core.paths import is_test_file, is_test_path
from coder.core.ports import Edit
from coder.python.source import PythonSource, own_nodes
from coder.repair.candidates import generate_candidates, suspicious_statements
from coder.repair.site import RewriteSite
from coder.repair.templates import rewrites_by_family

MARGIN = 300
"""Characters around a fix within which an edit is compared with it."""
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


@dataclass(frozen=True)
class LineFix:
    """A fix that changes, adds or removes one line of one source."""

    path: str
    before: str
    after: str
    lines: tuple[int, ...]
    """Lines of `before` that are changed, or that a new line is next to; from 1."""

    @cached_property
    def window(self) -> tuple[int, int, str]:
        """Start and end of the characters around the fix in `before`, and what they are after it."""
        shared = _shared_length(self.before, self.after)
        end = len(self.before) - _shared_length(self.before[shared:][::-1], self.after[shared:][::-1])
        start, end = max(0, shared - MARGIN), min(len(self.before), end + MARGIN)
        return start, end, _SPACING.sub("", self.after[start : end + len(self.after) - len(self.before)])


def _shared_length(text: str, other: str) -> int:
    """Return the number of characters with which both texts begin."""
    pairs = enumerate(zip(text, other, strict=False))
    return next((index for index, (left, right) in pairs if left != right), min(len(text), len(other)))


def line_fixes(root: Path, revision: str = "HEAD") -> Iterator[LineFix]:
    """Yield the fixes of one line in a repository's history, newest first."""
    for record in read_log(root, revision):
        fix = find_fix(record)
        changes = [line.split("\t", 1) for line in record.splitlines()[1:] if "\t" in line]
        sources = [row for row in changes if row[1].endswith(".py") and not is_test_path(row[1])]
        if fix and len(sources) == 1 and sources[0][0] == "M":
            yield from _read_line_fix(root, fix.commit, sources[0][1])


def _read_line_fix(root: Path, commit: str, path: str) -> Iterator[LineFix]:
    diff = _git(root, "diff", "-U0", f"{commit}^", commit, "--", path).splitlines()
    hunks = [found for line in diff if (found := re.match(r"@@ -(\d+)", line))]
    changed = [line[0] for line in diff if line[:1] in ("+", "-") and line[:3] not in ("+++", "---")]
    if len(hunks) != 1 or changed.count("+") > 1 or changed.count("-") > 1:
        return
    before, after = (_git(root, "show", f"{side}:{path}") for side in (f"{commit}^", commit))
    line = max(int(hunks[0][1]), 1)
    try:
        if ast.dump(ast.parse(before)) != ast.dump(ast.parse(after)):
            lines = (line,) if "-" in changed else (line, line + 1)
            yield LineFix(path=path, before=before, after=after, lines=lines)
    except (SyntaxError, ValueError):
        return


def _git(root: Path, *words: str) -> str:
    command = ["git", "-C", str(root), *words]
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False).stdout


def is_exact(edit: Edit, fix: LineFix) -> bool:
    """Tell whether an edit makes the syntax tree of the fix."""
    start, end, expected = fix.window
    if edit.changes[0].start < start or edit.changes[-1].end > end:
        return False
    moved = [
        change.model_copy(update={"start": change.start - start, "end": change.end - start})
        for change in edit.changes
    ]
    local = edit.model_copy(update={"changes": tuple(moved)})
    if _SPACING.sub("", local.apply(fix.before[start:end])) != expected:
        return False
    try:
        return ast.dump(ast.parse(edit.apply(fix.before))) == ast.dump(ast.parse(fix.after))
    except (SyntaxError, ValueError):
        return False


_SPACING = re.compile(r"[\s(),\"']")


def rank_exact(fix: LineFix) -> int:
    """Return the rank, from 1, of the exact fix among the candidates of its line; 0 if none is exact."""
    source = PythonSource(fix.path, fix.before)
    scores = {fix.path: dict.fromkeys(fix.lines, 1.0)}
    candidates = generate_candidates({fix.path: source}, scores, ())
    return next((rank for rank, item in enumerate(candidates, 1) if is_exact(item.edit, fix)), 0)


def count_families(fix: LineFix, found: Counter[str], offered: Counter[str]) -> None:
    """Count the families that offer a rewrite at a node of the line, and those that give the exact fix."""
    source = PythonSource(fix.path, fix.before)
    exact: set[str] = set()
    for _, _, statement in suspicious_statements(source, dict.fromkeys(fix.lines, 1.0)):
        for node in own_nodes(statement):
            families: set[str] = set()
            for family, rewrite in rewrites_by_family(RewriteSite(source, node)):
                families.add(family)
                edit = Edit(path=fix.path, changes=rewrite.changes, line=1, family=family, summary="")
                if family not in exact and is_exact(edit, fix):
                    exact.add(family)
            offered.update(families)
    found.update(exact)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repositories", type=Path, nargs="+")
    parser.add_argument("--count", type=int, default=100, help="fixes of each repository")
    parser.add_argument("--families", action="store_true")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    ranks: list[int] = []
    found, offered = Counter[str](), Counter[str]()
    for root in options.repositories:
        for fix in islice(line_fixes(root), options.count):
            ranks.append(rank_exact(fix))
            if options.families:
                count_families(fix, found, offered)
    at = {most: sum(0 < rank <= most for rank in ranks) for most in (1, 5, 20, 10_000)}
    print(f"{len(ranks)} fixes: exact {at[10_000]}, first {at[1]}, among five {at[5]}, among twenty {at[20]}")
    for family in sorted(offered):
        print(f'    "{family}": ({found[family]}, {offered[family]}),')


if __name__ == "__main__":
    main()
