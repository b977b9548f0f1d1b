"""Test impact of an edit: tests that call the changed functions or import the changed modules."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from coder.core.paths import is_test_file, is_test_path, test_file_of
from coder.core.ports import ImpactedTests
from coder.verify.impact.import_graph import ImportGraph
from coder.verify.impact.test_coverage import CoverageMap
from coder.verify.project.configuration import may_configure
from coder.verify.warm.hot_swap import module_of, replacements_of

SLOW_SECONDS = 0.25
"""A test that takes longer than this is slow, and runs after the others."""
QUICK_TESTS_FIRST = 16
"""So many of the quickest tests, no two of which cover the same code, run first. Over 130 failing edits of 7
projects the first red test came after 2 ms of test time at the median, after 17 ms in collection order;
ordering by coverage size gained less.
"""


class UnboundedImpact(Exception):
    """Raised where the impact cannot be bounded: any test may be affected."""


class TracedImpact:
    """Test impact of one tree, from traced coverage of its tests."""

    def __init__(self, tree: Path, reached: CoverageMap) -> None:
        """Index the coverage of `tree`, whose texts must stay as they were traced."""
        self._tree = tree
        self._reached = reached
        self._graph = ImportGraph(
            tree, {path: frozenset(names) for path, (_, names) in reached.imports.items()}
        )
        self._position = {test: position for position, test in enumerate(reached.tests)}
        entry_of = reached.entry_of
        self._incomplete = {
            test for test in reached.tests if test not in entry_of or reached.entries[entry_of[test]].blind
        }
        """Tests whose coverage is not completely known."""
        self._tests_of_entry: list[list[str]] = [[] for _ in reached.entries]
        """The tests that share each coverage entry."""
        self._readers: dict[str, list[int]] = {}
        self._callers: dict[str, list[tuple[int, tuple[int, ...]]]] = {}
        self._tests_in_file: dict[str, list[str]] = {}
        for test, number in entry_of.items():
            self._tests_in_file.setdefault(test_file_of(test), []).append(test)
            self._tests_of_entry[number].append(test)
        for number, entry in enumerate(reached.entries):
            for path in entry.read:
                self._readers.setdefault(path, []).append(number)
            for path, lines in entry.calls.items():
                self._callers.setdefault(path, []).append((number, lines))

    def analyse_incrementally(self) -> Iterator[str]:
        """Parse one source after another, yielding each path, so that later queries are quick."""
        for path in self._callers:
            if path.endswith(".py") and not is_test_path(path) and (text := self._read(path)) is not None:
                module_of(text)
                yield path

    def impacted_tests(self, edits: Mapping[str, str | None]) -> ImpactedTests:
        """Return the tests that edits can affect, also in the order of their seconds.

        `edits` maps paths to new texts, None where the file is deleted.
        """
        if not self._reached.tests:
            return ImpactedTests(everything=True, why="it is not known yet what the tests reach")
        new_files: list[str] = []
        try:
            affected = {
                test
                for path, text in edits.items()
                for test in self._tests_affected_by(path, text, new_files)
            }
        except UnboundedImpact as error:
            return ImpactedTests(everything=True, why=str(error))
        if not affected and not new_files:
            return ImpactedTests(everything=True, why="no test is known to reach the change")
        selected = {test for test in affected | self._incomplete if test in self._position}
        tests = sorted(selected, key=self._position.__getitem__)
        return ImpactedTests(tests=(*tests, *new_files), soonest=(*self._quickest_first(tests), *new_files))

    def _quickest_first(self, tests: Sequence[str]) -> list[str]:
        seconds = self._reached.seconds
        slowest_first = sorted(tests, key=lambda test: -seconds.get(test, 0.0))
        representatives = {
            self._reached.entry_of.get(test, test): test for test in slowest_first
        }  # the quickest test of each coverage entry
        rank_of = {
            test: rank
            for rank, test in enumerate(
                sorted(representatives.values(), key=lambda test: seconds.get(test, 0.0))[:QUICK_TESTS_FIRST]
            )
        }
        return sorted(
            tests,
            key=lambda test: (seconds.get(test, 0.0) > SLOW_SECONDS, rank_of.get(test, QUICK_TESTS_FIRST)),
        )

    def _tests_affected_by(self, path: str, text: str | None, new_files: list[str]) -> Iterator[str]:
        before = self._read(path)
        if text == before:
            return
        if may_configure(path) and PurePosixPath(path).name != "conftest.py":
            raise UnboundedImpact(f"{path} may decide how tests run")
        if path in self._reached.read and not path.endswith(".py"):
            raise UnboundedImpact(f"{path} is read before any test runs")
        for number in self._readers.get(path, ()):
            yield from self._tests_of_entry[number]
        if not path.endswith(".py"):
            return
        if before is None:
            if not is_test_file(path):
                raise UnboundedImpact(f"{path} is new: who will find it is not known")
            new_files.append(path)
            return
        functions = self._changed_functions(path, before, text)
        if functions is None:
            yield from self._tests_importing(path)
        else:
            yield from self._tests_calling(path, functions)

    def _changed_functions(self, path: str, before: str, text: str | None) -> list[tuple[int, int]] | None:
        """Return the first and last lines of the functions that differ.

        None if code outside of functions differs, or if an import called one of these functions.
        """
        replacements = replacements_of(path, before, text) if text is not None else None
        if replacements is None or path in self._reached.read:
            return None
        spans = [(replacement.function["line"], replacement.end) for replacement in replacements]
        return None if any(_are_within(self._reached.executed.get(path, ()), spans)) else spans

    def _tests_calling(self, path: str, functions: list[tuple[int, int]]) -> Iterator[str]:
        if is_test_path(path):
            yield from self._tests_in_file.get(path, ())
        for number, lines in self._callers.get(path, ()):
            if any(_are_within(lines, functions)):
                yield from self._tests_of_entry[number]

    def _tests_importing(self, path: str) -> Iterator[str]:
        importers = self._graph.importers(path)
        if path in self._reached.executed and not any(
            test_file_of(test) in importers for test in self._reached.tests
        ):
            raise UnboundedImpact(f"{path} is imported in a way that cannot be seen in the sources")
        for file in importers:
            yield from self._tests_in_file.get(file, ())
            yield from (
                test for number, _ in self._callers.get(file, ()) for test in self._tests_of_entry[number]
            )

    def _read(self, path: str) -> str | None:
        file = self._tree / path
        return file.read_bytes().decode("utf-8", "replace") if file.is_file() else None


def _are_within(lines: tuple[int, ...], functions: list[tuple[int, int]]) -> Iterator[bool]:
    return (first <= line <= last for line in lines for first, last in functions)
