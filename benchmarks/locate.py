"""Score of `coder locate` and of the first message on issues whose fixes are known, beside BM25.

A case is a JSON object a line: `repo`, `commit` (before the fix), `issue` and `files`, each path with the
`lines` that the fix changed (start and count) and its `functions` (qualified names). `fix_commits.jsonl` has
320 fixes of 16 projects on which no weight was fitted; the issue is the commit's message without the changed
identifiers. `fix_commits_scripts.jsonl` has 20 of axios and immutable-js. Rows of SWE-bench's form with
`gold_files` and `gold_functions` are accepted, too; of these no lines are known. `--mirrors` holds git
directories, each as `owner+name/repo` or as a row's `mirror` says.

    python -m benchmarks locate --mirrors DIR [--cases FILE] [--every N] [--jobs N] [--without SIGNAL ...]

With `--without`, the same issues are ranked without some signals, too, and the difference is shown.
"""

import argparse
import json
import math
import multiprocessing
import os
import random
import re
import statistics
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch

from coder.core.paths import SOURCE_SUFFIXES
from coder.index.index import SymbolIndex
from coder.retrieval import ranking
from coder.retrieval.issue_terms import extract_issue_terms
from coder.retrieval.orientation import issue_overview
from coder.strategies.follow import FIRST_LOOK_CHARACTERS
from coder.workspace.workspace import Workspace

WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
MISSED = 10**6
AT = (1, 3, 5, 10)
SAMPLES = 2000
"""Bootstrap samples of an interval."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """An issue and what its fix changed."""

    repo: str
    mirror: str
    commit: str
    issue: str
    paths: tuple[str, ...]
    functions: tuple[str, ...]
    """As `path::Qualified.name`; empty where the fix changed none that was there before."""
    lines: tuple[tuple[str, int, int], ...] = ()
    """Path, first line and number of lines."""

    @classmethod
    def parse(cls, row: Mapping[str, Any]) -> "Case":
        mirror = row.get("mirror", f"{row['repo'].replace('/', '+')}/repo")
        if "gold_files" in row:
            return cls(
                repo=row["repo"],
                mirror=mirror,
                commit=row["base_commit"],
                issue=row["problem_statement"],
                paths=tuple(row["gold_files"]),
                functions=tuple(row["gold_functions"]),
            )
        files = row["files"].items()
        return cls(
            repo=row["repo"],
            mirror=mirror,
            commit=row["commit"],
            issue=row["issue"],
            paths=tuple(row["files"]),
            functions=tuple(f"{path}::{name}" for path, file in files for name in file["functions"]),
            lines=tuple((path, *lines) for path, file in files for lines in file["lines"]),
        )


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Ranks of the first right answer, from 1."""

    repo: str
    file: int
    symbol: int | None
    plain: int
    """The file's by BM25 over whole files."""
    file_without: int
    symbol_without: int | None
    shown: bool | None
    """Whether the first message shows a line that the fix changed."""
    characters: int
    """Length of the overview in the first message."""


def checkout(mirror: Path, commit: str, tree: Path) -> None:
    """Move a tree to a commit."""
    tree.mkdir(parents=True, exist_ok=True)
    environment = {
        **os.environ,
        "GIT_DIR": str(mirror),
        "GIT_WORK_TREE": str(tree),
        "GIT_INDEX_FILE": f"{tree}.index",
    }
    subprocess.run(
        ["git", "read-tree", "--reset", "-u", commit],
        env=environment,
        cwd=tree,
        check=True,
        capture_output=True,
    )


def rank_by_words(tree: Path, issue: str) -> list[str]:
    """Rank source files by BM25 (k1 1.2, b 0.75) over all their text, every word of the issue once."""
    counts = {
        path.relative_to(tree).as_posix(): Counter(
            WORD.findall(path.read_text(encoding="utf-8", errors="replace").lower())
        )
        for path in sorted(tree.rglob("*"))
        if path.suffix in SOURCE_SUFFIXES and path.is_file()
    }
    sizes = {path: words.total() for path, words in counts.items()}
    average = sum(sizes.values()) / max(1, len(sizes)) or 1.0
    scores = dict.fromkeys(counts, 0.0)
    for word in set(WORD.findall(issue.lower())):
        holding = [path for path, words in counts.items() if word in words]
        rarity = math.log(1 + (len(counts) - len(holding) + 0.5) / (len(holding) + 0.5))
        for path in holding:
            count = counts[path][word]
            scores[path] += rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * sizes[path] / average))
    return sorted(scores, key=lambda path: (-scores[path], path))


def run(job: tuple[Sequence[Case], Path, Sequence[str]]) -> list[Outcome]:
    """Locate the issues of one repository, with one index for all."""
    cases, mirrors, without = job
    weights = ranking.DEFINITION_WEIGHTS | ranking.FILE_WEIGHTS
    if unknown := [signal for signal in without if signal not in weights]:
        raise SystemExit(f"No weight is called {', '.join(unknown)}. There are: {', '.join(weights)}.")
    with tempfile.TemporaryDirectory(prefix="locate-") as name:
        tree = Path(name, "tree")
        index = SymbolIndex(tree, Path(name, "index.sqlite"))
        outcomes = []
        for case in cases:
            checkout(mirrors / case.mirror, case.commit, tree)
            outcomes.append(locate(case, tree, index, without))
        return outcomes


def locate(case: Case, tree: Path, index: SymbolIndex, without: Sequence[str]) -> Outcome:
    snapshot, clues = index.refresh(), extract_issue_terms(case.issue)
    workspace = Workspace(root=tree, sandbox=Mock(), history=Mock(), run=Mock(), baseline=Mock(), index=index)
    overview = issue_overview(workspace, case.issue, (), FIRST_LOOK_CHARACTERS).text
    file, symbol = _ranks(case, ranking.locate_issue(snapshot, clues))
    zeros = dict.fromkeys(without, 0.0)
    with patch.dict(ranking.DEFINITION_WEIGHTS, zeros), patch.dict(ranking.FILE_WEIGHTS, zeros):
        file_without, symbol_without = (
            _ranks(case, ranking.locate_issue(snapshot, clues)) if without else (file, symbol)
        )
    return Outcome(
        repo=case.repo,
        file=file,
        symbol=symbol,
        plain=_rank(rank_by_words(tree, case.issue), case.paths),
        file_without=file_without,
        symbol_without=symbol_without,
        shown=_shows(overview, case.lines) if case.lines else None,
        characters=len(overview),
    )


def _ranks(case: Case, location: ranking.Localization) -> tuple[int, int | None]:
    return _rank([place.path for place in location.files], case.paths), (
        _rank([place.name for place in location.symbols], case.functions) if case.functions else None
    )


def _rank(answers: Sequence[str], expected: Sequence[str]) -> int:
    """Return the rank, from 1, of the first right answer."""
    return next((place for place, answer in enumerate(answers, 1) if answer in expected), MISSED)


def _shows(overview: str, lines: Sequence[tuple[str, int, int]]) -> bool:
    """Tell whether one of the lines is among the numbered lines of an overview."""
    shown = set(_numbered_lines(overview))
    return any(
        (path, number) in shown
        for path, start, count in lines
        for number in range(max(1, start), start + max(1, count))
    )


def _numbered_lines(overview: str) -> Iterator[tuple[str, int]]:
    path = ""
    for line in overview.split("\n"):
        if heading := re.match(r"(\S+), [\d,]+ lines?\b", line):
            path = heading[1]
        elif numbered := re.match(r" *(\d+)\|", line):
            yield path, int(numbered[1])


def _hits(ranks: Sequence[int | None]) -> str:
    """Return percentages at each of `AT`."""
    known = [rank for rank in ranks if rank is not None]
    return " ".join(f"{100 * sum(rank <= most for rank in known) / max(1, len(known)):5.1f}" for most in AT)


def _report(name: str, outcomes: Sequence[Outcome]) -> None:
    shown = [outcome.shown for outcome in outcomes if outcome.shown is not None]
    columns = (
        _hits([outcome.file for outcome in outcomes]),
        _hits([outcome.plain for outcome in outcomes]),
        _hits([outcome.symbol for outcome in outcomes]),
        f"{100 * sum(shown) / len(shown):5.1f}" if shown else "    -",
        f"{statistics.median(outcome.characters for outcome in outcomes) / 4:5.0f}",
    )
    print(f"{name:28} {len(outcomes):4}   {'   '.join(columns)}")


def _report_difference(
    label: str, outcomes: Sequence[Outcome], pair: Callable[[Outcome], tuple[int | None, int | None]]
) -> None:
    """Print by how many points the first ranks are better, with a paired bootstrap interval of 95 %."""
    pairs = [(one, other) for one, other in map(pair, outcomes) if one is not None and other is not None]
    chance = random.Random(0)
    columns = []
    for most in AT:
        gains = [(one <= most) - (other <= most) for one, other in pairs]
        means = sorted(
            100 * statistics.fmean(chance.choices(gains, k=len(gains)))
            for _ in range(SAMPLES if gains else 0)
        )
        if means:
            low, high = means[SAMPLES // 40], means[-SAMPLES // 40]
            columns.append(f"@{most} {100 * statistics.fmean(gains):+.1f} [{low:+.1f}, {high:+.1f}]")
    print(f"{label}: {'  '.join(columns)}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=Path, default=Path(__file__).with_name("fix_commits.jsonl"))
    parser.add_argument("--mirrors", type=Path, required=True)
    parser.add_argument("--every", type=int, default=1, help="of each repository's issues take each N-th")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--without", action="append", default=[], metavar="SIGNAL", help="may be given again")
    options = parser.parse_args()
    rows = [Case.parse(json.loads(line)) for line in options.cases.read_text(encoding="utf-8").splitlines()]
    groups = [
        list(cases)[:: options.every]
        for _, cases in groupby(sorted(rows, key=lambda case: case.repo), key=lambda case: case.repo)
    ]
    jobs = []
    for cases in groups:
        if (options.mirrors / cases[0].mirror).is_dir():
            jobs.append((cases, options.mirrors, options.without))
        else:
            print(f"{cases[0].repo}: {options.mirrors / cases[0].mirror} is missing, {len(cases)} left out")
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        by_repo = pool.map(run, jobs, chunksize=1)
    outcomes = [outcome for group in by_repo for outcome in group]
    print(
        f"hits in percent at {', '.join(map(str, AT))}: file, file by BM25, function; then how often the "
        "first message shows a changed line, and its median tokens"
    )
    for group in by_repo:
        _report(group[0].repo, group)
    _report("all", outcomes)
    _report_difference("files beside BM25", outcomes, lambda outcome: (outcome.file, outcome.plain))
    below = [
        group[0].repo
        for group in by_repo
        if sum(outcome.file <= 1 for outcome in group) < sum(outcome.plain <= 1 for outcome in group)
    ]
    print(f"below BM25 at 1: {', '.join(below) or 'no project'}")
    if options.without:
        signals = ", ".join(options.without)
        _report_difference(
            f"files beside those without {signals}",
            outcomes,
            lambda outcome: (outcome.file, outcome.file_without),
        )
        _report_difference(
            f"functions beside those without {signals}",
            outcomes,
            lambda outcome: (outcome.symbol, outcome.symbol_without),
        )


if __name__ == "__main__":
    main()
