"""Breakages that the static test selection misses, over seeded edits of projects with long suites.

    python -m benchmarks missed_impact [--edits N] [--whole N] --keep DIRECTORY PROJECT...

Each PROJECT is a checkout with its environment in .venv, which has pytest-cov; clones of it are used. One run
of its suite with coverage contexts records the tests that execute each line. An edit mutates a random
executed line of a function. Where an executing test is not selected, tests are run: the edit is missed if
such a test fails and no selected one does. The first edits of --whole are checked by the whole suite, whose
failing tests should all have been recorded as executing the line.

The coverage and the outcomes of tests are kept in DIRECTORY, so that another selection is measured quickly.
"""

import argparse
import ast
import csv
import json
import random
import sqlite3
import statistics
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path

from benchmarks.historical_fixes import clone_at
from benchmarks.suites import Suite
from coder.core.paths import is_test_path, test_file_of
from coder.python.source import parse_module
from coder.verify.mutate import generate_mutants
from coder.verify.select import select_test_files

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Edit:
    """A mutated line."""

    path: str
    line: int
    what: str
    text: str


@dataclass(frozen=True)
class Row:
    """Result of an edit."""

    project: str
    path: str
    line: int
    what: str
    outcome: str
    """`covered`: all executing tests are selected; `caught`: failing tests are; `partly`: some of them;
    `missed`: none of them; `unnoticed`: no executing test fails.
    """
    executing: int
    unselected: int
    """Number of executing tests that are not selected."""
    share: float
    """Selected share of the suite's tests; 1 if the impact is unbounded."""
    missed: str
    """A failing test that is not selected."""
    unrecorded: str
    """Failing tests of the whole suite that are not recorded as executing the line."""


class Coverage:
    """The tests that execute each line, from the data file of a run with pytest-cov's contexts."""

    def __init__(self, file: Path, tree: Path) -> None:
        self._data = sqlite3.connect(file)
        self._tree = tree

    @cached_property
    def files(self) -> dict[str, int]:
        """Numbers of the measured sources by path, without code of other names that they compile."""
        return {
            Path(path).relative_to(self._tree).as_posix(): number
            for number, path in self._data.execute("SELECT id, path FROM file ORDER BY path")
            if Path(path).is_relative_to(self._tree) and path.endswith(".py")
        }

    def executed_lines(self, path: str) -> set[int]:
        """Return the lines of a file that tests execute, import of modules left aside."""
        return {line for bits in self._line_bits(path).values() for line in decode_lines(bits)}

    def executing_tests(self, path: str, line: int) -> set[str]:
        """Return the ids of the tests that execute a line, in a fixture or in the test itself."""
        return {
            context.rpartition("|")[0]
            for context, bits in self._line_bits(path).items()
            if line in decode_lines(bits)
        }

    def _line_bits(self, path: str) -> dict[str, bytes]:
        return dict(
            self._data.execute(
                "SELECT context, numbits FROM line_bits JOIN context ON context.id = context_id "
                "WHERE file_id = ? AND context != ''",
                (self.files[path],),
            )
        )


def decode_lines(bits: bytes) -> set[int]:
    """Return the numbers whose bits are set: bit 0 of byte 0 is 0, bit 0 of byte 1 is 8."""
    return {8 * place + bit for place, byte in enumerate(bits) for bit in range(8) if byte >> bit & 1}


def draw_edits(tree: Path, coverage: Coverage, seed: str) -> Iterator[Edit]:
    """Yield mutations of random lines of functions, no line twice."""
    rng = random.Random(seed)
    places = [
        (path, line)
        for path in coverage.files
        if not is_test_path(path) and (tree / path).is_file()  # code may have any file name
        for line in sorted(coverage.executed_lines(path) & function_lines((tree / path).read_text("utf-8")))
    ]
    rng.shuffle(places)
    for path, line in places:
        text = (tree / path).read_text("utf-8")
        lines = text.splitlines(keepends=True)
        without = "".join([*lines[: line - 1], *lines[line:]])
        mutants = [mutant for mutant in generate_mutants(without, text) if mutant.line == line]
        if mutants:
            mutant = rng.choice(mutants)
            yield Edit(path, line, mutant.what, mutant.text)


def function_lines(text: str) -> set[int]:
    """Return the lines of the bodies of functions."""
    return {
        line
        for node in ast.walk(parse_module(text))
        if isinstance(node, Function)
        for line in range(node.body[0].lineno, (node.end_lineno or 0) + 1)
    }


@dataclass
class Outcomes:
    """Outcomes of tests with an edit, as far as they are known."""

    failed: set[str] = field(default_factory=set)
    passed: set[str] = field(default_factory=set)

    def add(self, results: dict[str, str] | None, tests: Collection[str]) -> None:
        """Add the results of a run of `tests`; one that does not end fails all that might have hung."""
        if results is None:
            self.failed |= set(tests)
            return
        self.passed |= {test for test, outcome in results.items() if outcome == "PASSED"}
        self.failed |= {test for test, outcome in results.items() if outcome != "PASSED"}
        if not any(outcome != "PASSED" for outcome in results.values()):
            self.passed |= set(tests) - self.failed  # skipped ones


class Project:
    """Two clones of a project, one of which is edited, and what is known about its tests."""

    def __init__(self, root: Path, place: Path, keep: Path, *, seconds: float) -> None:
        self.name = root.name
        self.base = clone_at(root, "HEAD", place / "base")
        self.tree = clone_at(root, "HEAD", place / "edited")
        self._python = str(root / ".venv/bin/python")
        self._seconds = seconds
        self._keep = keep
        keep.mkdir(parents=True, exist_ok=True)
        if not (keep / "passed.json").is_file():
            (keep / "passed.json").write_text(json.dumps(sorted(self._record_coverage())), "utf-8")
        self.passing = frozenset(json.loads((keep / "passed.json").read_text("utf-8")))
        self.coverage = Coverage(keep / "coverage", Path((keep / "tree").read_text("utf-8")))

    def _record_coverage(self) -> set[str]:
        """Run the suite with coverage and return the tests that pass."""
        configuration = self._keep / "coveragerc"
        configuration.write_text(f"[run]\ndata_file = {self._keep / 'coverage'}\n", "utf-8")
        (self._keep / "tree").write_text(str(self.base), "utf-8")
        options = ("--cov=.", "--cov-context=test", f"--cov-config={configuration}", "--cov-report=")
        results = Suite(self._python, options, 4 * self._seconds).results(self.base)
        if results is None:
            raise SystemExit(f"{self.name}: the suite did not end")
        return {test for test, outcome in results.items() if outcome == "PASSED"}

    def run(self, tests: Sequence[str], *arguments: str) -> dict[str, str] | None:
        """Return the outcomes of tests, of all if none is named."""
        return Suite(self._python, arguments, self._seconds).results(self.tree, tests)

    def load_outcomes(self, edit: Edit) -> Outcomes:
        file = self._outcome_file(edit)
        return (
            Outcomes(**{k: set(v) for k, v in json.loads(file.read_text("utf-8")).items()})
            if file.is_file()
            else Outcomes()
        )

    def save_outcomes(self, edit: Edit, outcomes: Outcomes) -> None:
        content = {"failed": sorted(outcomes.failed), "passed": sorted(outcomes.passed)}
        self._outcome_file(edit).write_text(json.dumps(content), "utf-8")

    def _outcome_file(self, edit: Edit) -> Path:
        return self._keep / f"{edit.path.replace('/', '.')}-{edit.line}.json"

    def find_failing(self, edit: Edit, tests: Collection[str]) -> str:
        """Return one of `tests` that fails with the edit and passes without it, empty if there is none."""
        outcomes = self.load_outcomes(edit)
        while not (failing := sorted(outcomes.failed & set(tests))):
            unknown = sorted(set(tests) - outcomes.passed)
            if not unknown:
                return ""
            outcomes.add(self.run(unknown, "-x"), unknown)
            self.save_outcomes(edit, outcomes)
        return failing[0]


def measure_edit(project: Project, edit: Edit, *, whole: bool) -> Row:
    """Return the result of an edit, which is in the edited clone during this call only."""
    file = project.tree / edit.path
    original = file.read_bytes()
    file.write_text(edit.text, "utf-8")
    try:
        executing = project.coverage.executing_tests(edit.path, edit.line) & project.passing
        unrecorded = find_unrecorded(project, edit, executing) if whole else []
        selection = select_test_files(project.base, project.tree, [edit.path])
        selected = (
            project.passing
            if selection is None
            else {test for test in project.passing if test_file_of(test) in selection.files}
        )
        outcome, missed = "covered", ""
        if executing - selected:
            is_caught = bool(project.find_failing(edit, executing & selected))
            missed = project.find_failing(edit, executing - selected)
            outcome = {
                (True, False): "caught",
                (True, True): "partly",
                (False, True): "missed",
                (False, False): "unnoticed",
            }[is_caught, bool(missed)]
    finally:
        file.write_bytes(original)
    return Row(
        project=project.name,
        path=edit.path,
        line=edit.line,
        what=edit.what,
        outcome=outcome,
        executing=len(executing),
        unselected=len(executing - selected),
        share=len(selected) / len(project.passing),
        missed=missed,
        unrecorded=" ".join(unrecorded),
    )


def find_unrecorded(project: Project, edit: Edit, executing: Collection[str]) -> list[str]:
    """Run the whole suite on an edit and return the failing tests that do not execute its line."""
    outcomes = project.load_outcomes(edit)
    if not project.passing <= outcomes.passed | outcomes.failed:
        outcomes.add(project.run(()), project.passing)
        project.save_outcomes(edit, outcomes)
    return sorted((outcomes.failed & project.passing) - set(executing))


def summarize(rows: Sequence[Row]) -> str:
    """Return the number of edits by outcome and the share of selected tests."""
    outcomes = Counter(row.outcome for row in rows)
    shares = [row.share for row in rows]
    return (
        f"{len(rows)} edits: {', '.join(f'{number} {outcome}' for outcome, number in outcomes.items())}; "
        f"selected share: median {statistics.median(shares):.2f}, mean {statistics.fmean(shares):.2f}, "
        f"unbounded {sum(share == 1 for share in shares)}; "
        f"with unrecorded failures: {sum(bool(row.unrecorded) for row in rows)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("projects", nargs="+", metavar="PROJECT", type=Path)
    parser.add_argument("--edits", type=int, default=50, metavar="N", help="edits of each project")
    parser.add_argument("--whole", type=int, default=0, metavar="N", help="edits checked by the whole suite")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--limit", type=float, default=180.0, metavar="SECONDS", help="of each run")
    parser.add_argument("--keep", type=Path, required=True, metavar="DIRECTORY")
    parser.add_argument("--csv", type=Path, metavar="FILE")
    options = parser.parse_args()
    rows: list[Row] = []
    for root in options.projects:
        with tempfile.TemporaryDirectory(prefix="impact-", ignore_cleanup_errors=True) as place:
            keep = options.keep.resolve() / root.name
            project = Project(root.resolve(), Path(place), keep, seconds=options.limit)
            edits = draw_edits(project.base, project.coverage, options.seed)
            for number, edit in enumerate(islice(edits, options.edits)):
                row = measure_edit(project, edit, whole=number < options.whole)
                rows.append(row)
                print(
                    f"{row.project} {row.path}:{row.line} {row.what}: {row.outcome}, "
                    f"{row.unselected} of {row.executing} unselected, share {row.share:.2f} "
                    f"{row.missed} {row.unrecorded}",
                    flush=True,
                )
        print(summarize([row for row in rows if row.project == root.name]), flush=True)
    print(summarize(rows))
    if options.csv:
        with options.csv.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, [*asdict(rows[0])])
            writer.writeheader()
            writer.writerows(map(asdict, rows))


if __name__ == "__main__":
    main()
