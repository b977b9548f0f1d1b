"""Failing tests that the selection by names and imports misses, over seeded faults of projects.

    python -m benchmarks missed_impact [--faults N] [--seconds S] PROJECT...

Each PROJECT is a git checkout whose .venv has pytest and what its tests need; clones of it are used. Faults
are planted, half of them in the bodies of functions, half
outside (constants, class attributes, defaults, decorators, signatures, removed, renamed and replaced
definitions). For each the whole suite is run by plain pytest: a test that passed twice without the fault and
does not pass with it is red. A red test in a file that `select_test_files` does not
select is missed. Faults without a red test are not counted.
"""

import argparse
import csv
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.historical_fixes import clone_at
from benchmarks.mutations import IN_FUNCTIONS, OUTSIDE, Mutation, random_mutations
from benchmarks.suites import Suite
from coder.core.paths import is_test_path, match_test_ids
from coder.files.regular_files import project_files
from coder.verify.select import select_test_files

MOST_TRIED = 20
"""Faults that are tried for each one that counts."""
NO_SOURCES = ("docs/", "examples/", "setup.py", "noxfile.py", "toolshed/", "misc/", "scripts/")


@dataclass(frozen=True)
class Row:
    """Result of one fault."""

    project: str
    path: str
    kind: str
    selected: float
    """Selected share of the tests."""
    red: int
    missed: int
    example: str
    """A missed test."""

    @property
    def is_outside(self) -> bool:
        return self.kind in OUTSIDE


class Project:
    """Two clones of a project, one of which is edited."""

    def __init__(self, root: Path, place: Path, *, limit: float) -> None:
        self.name = root.name
        self.base = clone_at(root, "HEAD", place / "base")
        self.tree = clone_at(root, "HEAD", place / "edited")
        self._suite = Suite(str(root / ".venv/bin/python"), (), limit)
        started = time.monotonic()
        first, second = self._passing(), self._passing()
        plain = (time.monotonic() - started) / 2
        self.passing = first & second
        print(f"{self.name}: {len(self.passing)} tests pass in {plain:.1f} s")

    def _passing(self) -> frozenset[str]:
        results = self._suite.results(self.tree)
        if not results:
            raise SystemExit(f"{self.name}: the suite cannot be run")
        return frozenset(test for test, outcome in results.items() if outcome == "PASSED")

    def find_red(self) -> frozenset[str] | None:
        """Return the tests that passed before and do not now; None if the suite does not end."""
        results = self._suite.results(self.tree)
        if results is None:
            return None
        return frozenset(test for test in self.passing if results.get(test) != "PASSED")

    def measure(self, fault: Mutation) -> Row | None:
        """Return the result of a fault, None if no test is red."""
        file = self.tree / fault.path
        original = file.read_bytes()
        assert fault.text is not None
        file.write_bytes(fault.text.encode())
        try:
            red = self.find_red()
            if not red:
                return None
            selection = select_test_files(self.base, self.tree, [fault.path])
        finally:
            file.write_bytes(original)
        is_selected = match_test_ids(selection.files) if selection is not None else lambda _test: True
        selected = frozenset(filter(is_selected, self.passing))
        missed = sorted(red - selected)
        return Row(
            project=self.name,
            path=fault.path,
            kind=fault.kind,
            selected=len(selected) / len(self.passing),
            red=len(red),
            missed=len(missed),
            example=missed[0] if missed else "",
        )


def draw_faults(tree: Path, seed: int) -> Iterator[Mutation]:
    """Yield faults endlessly, one in the body of a function and one outside by turns."""
    sources = [
        path
        for path in sorted(project_files(tree))
        if path.endswith(".py") and not path.startswith(NO_SOURCES) and not is_test_path(path)
    ]
    inside = random_mutations(tree, sources, [], seed=seed, kinds=IN_FUNCTIONS)
    outside = random_mutations(tree, sources, [], seed=seed, kinds=OUTSIDE)
    for pair in zip(inside, outside, strict=False):
        yield from pair


def summarize(rows: Sequence[Row], label: str) -> str:
    """Return the numbers of faults and tests that were missed."""
    if not rows:
        return f"{label}: no fault"
    red, missed = sum(row.red for row in rows), sum(row.missed for row in rows)
    return (
        f"{label}: {len(rows)} faults, {sum(bool(row.missed) for row in rows)} with a missed test, "
        f"{sum(row.missed == row.red for row in rows)} with all missed; {missed} of {red} red tests missed "
        f"({missed / red:.2%}); selected: median {statistics.median(row.selected for row in rows):.2f}, "
        f"mean {statistics.fmean(row.selected for row in rows):.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("projects", nargs="+", metavar="PROJECT", type=Path)
    parser.add_argument("--faults", type=int, default=50, metavar="N", help="faults of each project")
    parser.add_argument("--seconds", type=float, default=1e9, metavar="S", help="time for each project")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=180.0, metavar="SECONDS", help="of each run")
    parser.add_argument("--csv", type=Path, metavar="FILE")
    options = parser.parse_args()
    rows: list[Row] = []
    for root in options.projects:
        with tempfile.TemporaryDirectory(prefix="impact-", ignore_cleanup_errors=True) as place:
            project = Project(root.resolve(), Path(place).resolve(), limit=options.limit)
            deadline = time.monotonic() + options.seconds
            own: list[Row] = []
            for tried, fault in enumerate(draw_faults(project.base, options.seed)):
                if (
                    len(own) == options.faults
                    or tried == MOST_TRIED * options.faults
                    or time.monotonic() > deadline
                ):
                    break
                if row := project.measure(fault):
                    own.append(row)
                    print(f"{row}" if row.missed else f"{row.kind}, {row.red} red", flush=True)
        print(summarize(own, root.name), flush=True)
        rows += own
    print(summarize([row for row in rows if not row.is_outside], "in functions"))
    print(summarize([row for row in rows if row.is_outside], "outside"))
    if options.csv and rows:
        with options.csv.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, [*asdict(rows[0])])
            writer.writeheader()
            writer.writerows(map(asdict, rows))


if __name__ == "__main__":
    main()
