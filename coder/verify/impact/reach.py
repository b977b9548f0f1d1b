"""Says which tests an edit may reach: those that call what it changes, or import what it changes at import."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from coder.core.ports.tests import Reach
from coder.core.values.paths import file_of, is_test_file, is_test_path
from coder.verify.impact.import_graph import ImportGraph
from coder.verify.impact.test_coverage import Reached
from coder.verify.project.configuration import may_configure
from coder.verify.warm.hot_swap import module_of, replacements_of

DEAR_SECONDS = 0.25
"""A test that takes longer than this is one that others need not wait for."""
QUICK = 16
"""So many that take least, no two of which do the same, go before all others: over 130 red edits of 7 projects the first red test
came after 2 ms of tests at the median, in collected order after 17; to go by how much a test reaches, little or much, did less.
"""


class Unknown(Exception):
    """Any test may be reached."""


class TracedImpact:
    """The Impact of one tree."""

    def __init__(self, tree: Path, reached: Reached) -> None:
        """`tree` holds the texts that were traced, for as long as this is asked."""
        self._tree = tree
        self._reached = reached
        self._graph = ImportGraph(
            tree, {path: frozenset(names) for path, (_, names) in reached.imports.items()}
        )
        self._position = {test: position for position, test in enumerate(reached.tests)}
        known = reached.entry_of
        self._always = {
            test for test in reached.tests if test not in known or reached.entries[known[test]].blind
        }
        """Tests of which not all is known."""
        self._doing: list[list[str]] = [[] for _ in reached.entries]
        """The tests that do what an entry says."""
        self._readers: dict[str, list[int]] = {}
        self._callers: dict[str, list[tuple[int, tuple[int, ...]]]] = {}
        self._inside: dict[str, list[str]] = {}
        for test, number in known.items():
            self._inside.setdefault(file_of(test), []).append(test)
            self._doing[number].append(test)
        for number, entry in enumerate(reached.entries):
            for path in entry.read:
                self._readers.setdefault(path, []).append(number)
            for path, lines in entry.calls.items():
                self._callers.setdefault(path, []).append((number, lines))

    def prepared(self) -> Iterator[str]:
        """Look at one source after another, so that what is asked of it later is answered at once."""
        for path in self._callers:
            if path.endswith(".py") and not is_test_path(path) and (text := self._text(path)) is not None:
                module_of(text)
                yield path

    def reach(self, edits: Mapping[str, str | None]) -> Reach:
        if not self._reached.tests:
            return Reach(everything=True, why="it is not known yet what the tests reach")
        new: list[str] = []
        try:
            hit = {test for path, text in edits.items() for test in self._reached_by(path, text, new)}
        except Unknown as error:
            return Reach(everything=True, why=str(error))
        if not hit and not new:
            return Reach(everything=True, why="no test is known to reach the change")
        found = {test for test in hit | self._always if test in self._position}
        tests = sorted(found, key=self._position.__getitem__)
        return Reach(tests=(*tests, *new), soonest=(*self._soonest(tests), *new))

    def _soonest(self, tests: Sequence[str]) -> list[str]:
        seconds = self._reached.seconds
        slowest_first = sorted(tests, key=lambda test: -seconds.get(test, 0.0))
        each = {
            self._reached.entry_of.get(test, test): test for test in slowest_first
        }  # the quickest of those that do the same
        quick = {
            test: place
            for place, test in enumerate(
                sorted(each.values(), key=lambda test: seconds.get(test, 0.0))[:QUICK]
            )
        }
        return sorted(tests, key=lambda test: (seconds.get(test, 0.0) > DEAR_SECONDS, quick.get(test, QUICK)))

    def seconds(self, tests: Sequence[str]) -> float:
        return sum(self._reached.seconds.get(test, 0.0) for test in tests)

    def _reached_by(self, path: str, text: str | None, new: list[str]) -> Iterator[str]:
        before = self._text(path)
        if text == before:
            return
        if may_configure(path) and PurePosixPath(path).name != "conftest.py":
            raise Unknown(f"{path} may decide how tests run")
        if path in self._reached.read and not path.endswith(".py"):
            raise Unknown(f"{path} is read before any test runs")
        for number in self._readers.get(path, ()):
            yield from self._doing[number]
        if not path.endswith(".py"):
            return
        if before is None:
            if not is_test_file(path):
                raise Unknown(f"{path} is new: who will find it is not known")
            new.append(path)
            return
        functions = self._functions(path, before, text)
        if functions is None:
            yield from self._importing(path)
        else:
            yield from self._calling(path, functions)

    def _functions(self, path: str, before: str, text: str | None) -> list[tuple[int, int]] | None:
        """First and last lines of the functions that differ; None where more does, or where an import has called one of them."""
        replacements = replacements_of(path, before, text) if text is not None else None
        if replacements is None or path in self._reached.read:
            return None
        found = [(replacement.function["line"], replacement.end) for replacement in replacements]
        return None if any(_within(self._reached.executed.get(path, ()), found)) else found

    def _calling(self, path: str, functions: list[tuple[int, int]]) -> Iterator[str]:
        if is_test_path(path):
            yield from self._inside.get(path, ())
        for number, lines in self._callers.get(path, ()):
            if any(_within(lines, functions)):
                yield from self._doing[number]

    def _importing(self, path: str) -> Iterator[str]:
        importers = self._graph.importers(path)
        if path in self._reached.executed and not any(
            file_of(test) in importers for test in self._reached.tests
        ):
            raise Unknown(f"{path} is imported in a way that cannot be seen in the sources")
        for file in importers:
            yield from self._inside.get(file, ())
            yield from (test for number, _ in self._callers.get(file, ()) for test in self._doing[number])

    def _text(self, path: str) -> str | None:
        file = self._tree / path
        return file.read_bytes().decode("utf-8", "replace") if file.is_file() else None


def _within(lines: tuple[int, ...], functions: list[tuple[int, int]]) -> Iterator[bool]:
    return (first <= line <= last for line in lines for first, last in functions)
