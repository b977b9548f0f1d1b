"""Application of damaged diffs, ours beside others.

    python -m benchmarks.patching --repository DIR [--repository DIR ...]

Real commits of the given git repositories (checkouts or bare) become diffs, the diffs are damaged as models
damage them, alone and in pairs, and every applier gets each diff with the files it is for. Only unambiguous
diffs count; others, which must be refused, are the negatives. Needs git; `patch` and `whatthepatch` take
part if they are installed.

exact     the files equal the commit's, byte for byte
wrong     it reported success, and they differ (a negative: any reported success)
refused   it reported failure, and nothing was changed
dirty     it reported failure, and something was changed
"""

import argparse
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from random import Random

from benchmarks.patching.history import Commit, commits
from benchmarks.patching.report import format_table, save_failures
from benchmarks.patching.trial import DAMAGES, CaseSpec, Result, kinds, try_case


def plan(count: int, seed: int) -> list[CaseSpec]:
    """Return the cases: half have one damage, all kinds in turn, a quarter has two, a quarter is to be
    refused.
    """
    damages, negatives, safe = kinds()
    random = Random(seed)
    specs = []
    for number in range(count):
        turn, name = number // 4, f"{seed}/{number}"
        if number % 4 == 3:
            extra = random.choice(safe)
            specs.append(
                CaseSpec(
                    seed=name,
                    damages=(extra,) if extra != "undamaged" else (),
                    negative=negatives[turn % len(negatives)],
                )
            )
        elif number % 4 == 2:
            specs.append(CaseSpec(seed=name, damages=_pair(damages, random)))
        else:
            specs.append(CaseSpec(seed=name, damages=(damages[(2 * turn + number % 4) % len(damages)],)))
    return specs


def _pair(damages: list[str], random: Random) -> tuple[str, ...]:
    while True:
        pair = tuple(random.sample([name for name in damages if name != "undamaged"], 2))
        if DAMAGES.are_compatible(pair):
            return pair


def run_planned(specs: Sequence[CaseSpec], commits_known: list[list[Commit]]) -> list[Result | None]:
    return [try_case(spec, commits_known) for spec in specs]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--repository",
        action="append",
        type=Path,
        required=True,
        help="where real commits come from; several times",
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1_500, help="how many diffs (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--failures", type=Path, help="a directory for one file about each case that ours got wrong"
    )
    parser.add_argument("--only", default="", help="only cases with this in their names")
    options = parser.parse_args()
    commits_known = [commits(repository, Random(options.seed)) for repository in options.repository]
    specs = [spec for spec in plan(options.count, options.seed) if options.only in spec.name]
    shares = [specs[start :: options.jobs] for start in range(options.jobs)]
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("fork")) as pool:
        completed = [
            result
            for share in pool.map(partial(run_planned, commits_known=commits_known), shares)
            for result in share
            if result
        ]
    print(format_table(completed, without=len(specs) - len(completed)))
    if options.failures:
        save_failures(completed, options.failures)


if __name__ == "__main__":
    main()
