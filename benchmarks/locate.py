"""Score of `coder locate` on issues whose fixes are known, beside BM25 over whole files.

Needs a file with a JSON object a line: `instance_id`, `repo`, `mirror`, `base_commit`, `problem_statement`,
`gold_files` and `gold_functions` (`path::Qualified.name`); and a directory of git mirrors, where `mirror`
names one. Each commit's source files are written to a temporary directory, one issue at a time for each job,
and indexed from scratch; measure seconds with `--jobs 1`.

    python benchmarks/locate.py --instances FILE --mirrors DIR [--every N] [--jobs N]
"""

import argparse
import io
import json
import math
import multiprocessing
import os
import re
import statistics
import subprocess
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coder.core.paths import SOURCE_SUFFIXES
from coder.index.index import IGNORE_FILES, SymbolIndex
from coder.retrieval.issue_terms import extract_issue_terms
from coder.retrieval.ranking import Localization, locate_issue

WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
MISSED = 10**6
AT = (1, 3, 5, 10)
SIZES = ((0, 300), (300, 1000), (1000, 10**6))


@dataclass(frozen=True)
class Cost:
    """Cost of one query, in seconds."""

    wall: float
    cpu: float
    """With all child processes."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Rank of the first right answer, from 1."""

    repo: str
    indexed: int
    """Number of files."""
    file: int
    symbol: int | None
    """None: the fix changed no function that was there before."""
    plain: int
    """By BM25 over whole files."""
    cold: Cost
    """With no index at all."""
    warm: Cost
    """In a new process's state, with the index on disk."""


def checkout(mirror: Path, commit: str, tree: Path) -> None:
    """Write the source files of a commit."""
    git = ("git", "--git-dir", str(mirror), "--literal-pathspecs")
    listing = subprocess.run(
        [*git, "ls-tree", "-r", "--name-only", "-z", commit], capture_output=True, check=True
    ).stdout
    paths = [
        path for path in os.fsdecode(listing).split("\0") if path.endswith((*SOURCE_SUFFIXES, *IGNORE_FILES))
    ]
    packed = subprocess.run([*git, "archive", commit, "--", *paths], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(tree, filter="data")


def whole_files(tree: Path, issue: str) -> list[str]:
    """Rank Python files by BM25 (k1 1.2, b 0.75) over all their text, every word of the issue once."""
    counts = {
        path.relative_to(tree).as_posix(): Counter(
            WORD.findall(path.read_text(encoding="utf-8", errors="replace").lower())
        )
        for path in sorted(tree.rglob("*.py"))
        if path.is_file()
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


def time_action(action: Callable[[], Localization]) -> tuple[Localization, Cost]:
    wall, cpu = time.perf_counter(), _cpu()
    location = action()
    return location, Cost(time.perf_counter() - wall, _cpu() - cpu)


def _cpu() -> float:
    return sum(os.times()[:4])


def run(job: tuple[dict[str, Any], Path]) -> Outcome:
    """Return ranks and seconds of one issue."""
    row, mirrors = job
    mirror = mirrors / row["mirror"]
    issue: str = row["problem_statement"]
    with tempfile.TemporaryDirectory(prefix="locate-") as name:
        tree, database = Path(name, "tree"), Path(name, "index.sqlite")
        checkout(mirror, row["base_commit"], tree)

        def query() -> Localization:
            return locate_issue(
                SymbolIndex(tree, database).refresh(),
                extract_issue_terms(issue),
            )

        _, cold = time_action(query)
        location, warm = time_action(query)
        return Outcome(
            repo=row["repo"],
            indexed=len(SymbolIndex(tree, database).refresh().sources),
            file=rank([likely.path for likely in location.files], row["gold_files"]),
            symbol=rank([likely.name for likely in location.symbols], row["gold_functions"])
            if row["gold_functions"]
            else None,
            plain=rank(whole_files(tree, issue), row["gold_files"]),
            cold=cold,
            warm=warm,
        )


def rank(answers: Sequence[str], expected: Sequence[str]) -> int:
    """Return the rank, from 1, of the first right answer."""
    return next((place for place, answer in enumerate(answers, 1) if answer in expected), MISSED)


def hits(ranks: Sequence[int]) -> str:
    """Return percentages at each of `AT`."""
    return " ".join(f"{100 * sum(place <= most for place in ranks) / max(1, len(ranks)):5.1f}" for most in AT)


def report(name: str, outcomes: Sequence[Outcome]) -> None:
    files, plain = hits([outcome.file for outcome in outcomes]), hits([outcome.plain for outcome in outcomes])
    print(
        f"{name:28} {len(outcomes):4}   {files}   {plain}   "
        f"{hits([outcome.symbol for outcome in outcomes if outcome.symbol])}"
    )


def report_seconds(outcomes: Sequence[Outcome]) -> None:
    for least, most in SIZES:
        of_size = [outcome for outcome in outcomes if least <= outcome.indexed < most]
        if of_size:
            seconds = [
                f"{kind} {_spread([getattr(item, kind) for item in of_size])}" for kind in ("cold", "warm")
            ]
            files = statistics.median(outcome.indexed for outcome in of_size)
            print(
                f"{len(of_size):4} trees of {least} files and more, half of them over {files:.0f}: "
                f"{'; '.join(seconds)}"
            )


def _spread(costs: Sequence[Cost]) -> str:
    cpu, wall = [cost.cpu for cost in costs], [cost.wall for cost in costs]
    return (
        f"{statistics.median(cpu):.2f} s CPU (most {max(cpu):.2f}), {statistics.median(wall):.2f} s by "
        "the clock"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--instances", type=Path, required=True)
    parser.add_argument("--mirrors", type=Path, required=True)
    parser.add_argument("--every", type=int, default=1, help="of each repository's issues take each N-th")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.instances.read_text(encoding="utf-8").splitlines()]
    rows = sorted(rows, key=lambda row: (row["repo"], row["instance_id"]))[:: options.every]
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        outcomes = pool.map(run, [(row, options.mirrors) for row in rows], chunksize=1)
    print(f"hits in percent at {', '.join(map(str, AT))}: file, file by BM25 over whole files, function")
    for repository in sorted({outcome.repo for outcome in outcomes}):
        report(repository, [outcome for outcome in outcomes if outcome.repo == repository])
    report("all", outcomes)
    report_seconds(outcomes)


if __name__ == "__main__":
    main()
