"""Score `coder locate` on issues whose fixes are known, beside BM25 over whole files, on the same checkouts.

Needs a file with a JSON object a line: `instance_id`, `repo`, `mirror`, `base_commit`, `problem_statement`, `gold_files` and
`gold_functions` (`path::Qualified.name`); and a directory of git mirrors, where `mirror` names one. Half of the issues, chosen by a hash
of their id, are called `tune`: weights may be looked at beside these; the other half, `held`, says what they are worth elsewhere.

    python tests/benchmarks/locate.py --instances FILE --mirrors DIR --work DIR [--every N] [--jobs N]
"""

import argparse
import hashlib
import io
import json
import math
import multiprocessing
import re
import subprocess
import tarfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coder.tools.locating.clues import clues
from coder.tools.locating.ranking import locate
from coder.tools.symbols.index import SymbolIndex

WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
MISSED = 10**6


def checkout(mirror: Path, commit: str, tree: Path) -> None:
    """Write the Python files of a commit."""
    if tree.exists():
        return
    listed = subprocess.run(["git", "--git-dir", mirror, "ls-tree", "-r", "--name-only", "-z", commit], capture_output=True, check=True)
    paths = [path for path in listed.stdout.decode().split("\0") if path.endswith(".py")]
    packed = subprocess.run(
        ["git", "--git-dir", mirror, "--literal-pathspecs", "archive", commit, *paths], capture_output=True, check=True
    ).stdout
    tree.mkdir(parents=True)
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(tree, filter="data")


def whole_files(tree: Path, issue: str) -> list[str]:
    """BM25 (k1 1.2, b 0.75) over whole files, every word of the issue once."""
    files = {path.relative_to(tree).as_posix(): path.read_text(encoding="utf-8", errors="replace") for path in sorted(tree.rglob("*.py"))}
    counted = {path: Counter(WORD.findall(text.lower())) for path, text in files.items()}
    sizes = {path: sum(words.values()) for path, words in counted.items()}
    average = sum(sizes.values()) / max(1, len(sizes)) or 1.0
    scores = dict.fromkeys(files, 0.0)
    for word in set(WORD.findall(issue.lower())):
        holding = [path for path in counted if word in counted[path]]
        rarity = math.log(1 + (len(counted) - len(holding) + 0.5) / (len(holding) + 0.5))
        for path in holding:
            count = counted[path][word]
            scores[path] += rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * sizes[path] / average))
    return sorted(scores, key=lambda path: (-scores[path], path))


def run(job: tuple[dict[str, Any], Path, Path]) -> dict[str, Any]:
    """Ranks and seconds of one issue."""
    row, mirrors, work = job
    tree = work / "trees" / row["instance_id"]
    checkout(mirrors / row["mirror"], row["base_commit"], tree)
    index = SymbolIndex(tree)
    wall = time.monotonic()
    snapshot = index.current()
    cold = time.monotonic() - wall
    started = time.process_time()
    found = locate(index.current(), clues(row["problem_statement"]))
    warm = time.process_time() - started
    return {
        "id": row["instance_id"],
        "repo": row["repo"],
        "files": len(snapshot.sources),
        "cold": cold,
        "warm": warm,
        "file": rank([likely.path for likely in found.files], row["gold_files"]),
        "symbol": rank([likely.name for likely in found.symbols], row["gold_functions"]) if row["gold_functions"] else 0,
        "bm25": rank(whole_files(tree, row["problem_statement"]), row["gold_files"]),
    }


def rank(answers: Sequence[str], wanted: Sequence[str]) -> int:
    """The place, from 1, of the first right answer."""
    return next((place for place, answer in enumerate(answers, 1) if answer in wanted), MISSED)


def hits(ranks: Sequence[int]) -> str:
    """Percentages at 1, 3, 5 and 10."""
    return " ".join(f"{100 * sum(place <= most for place in ranks) / max(1, len(ranks)):5.1f}" for most in (1, 3, 5, 10))


def is_held(identity: str) -> bool:
    return hashlib.sha1(identity.encode(), usedforsecurity=False).digest()[-1] % 2 == 1


def report(name: str, rows: Sequence[dict[str, Any]]) -> None:
    files = hits([row["file"] for row in rows])
    symbols = hits([row["symbol"] for row in rows if row["symbol"]])
    print(f"{name:28} {len(rows):4}  file {files}   bm25 {hits([row['bm25'] for row in rows])}   symbol {symbols}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=Path, required=True)
    parser.add_argument("--mirrors", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="where checkouts are kept")
    parser.add_argument("--every", type=int, default=1, help="take each N-th issue")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.instances.read_text(encoding="utf-8").splitlines()][:: given.every]
    with multiprocessing.get_context("spawn").Pool(given.jobs) as pool:
        results = pool.map(run, [(row, given.mirrors, given.work) for row in rows], chunksize=1)
    print("hits in percent at 1, 3, 5 and 10")
    report("all", results)
    report("tune", [row for row in results if not is_held(row["id"])])
    report("held", [row for row in results if is_held(row["id"])])
    for repository in sorted({row["repo"] for row in results}):
        report(repository, [row for row in results if row["repo"] == repository])
    for least, most in ((0, 300), (300, 1000), (1000, 10**6)):
        sized = [row for row in results if least <= row["files"] < most]
        if sized:
            cold, warm = (sum(row[kind] for row in sized) / len(sized) for kind in ("cold", "warm"))
            print(f"{len(sized):4} trees of {least} files and more: cold index {cold:.2f} s, warm query {warm:.3f} CPU s")


if __name__ == "__main__":
    main()
