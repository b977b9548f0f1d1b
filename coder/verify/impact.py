"""Says which tests an edit may reach: those that call what it changes, or import what it changes at import."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from coder.core.impact import Reach
from coder.core.paths import is_test_path
from coder.verify.comparison import file_of, is_test_file
from coder.verify.configuration import may_configure
from coder.verify.imports import ImportGraph
from coder.verify.reached import Reached
from coder.verify.swapping import Module


class Unknown(Exception):
    """Any test may be reached."""


class TracedImpact:
    """The Impact of one tree."""

    def __init__(self, tree: Path, reached: Reached) -> None:
        """`tree` holds the texts that were traced, for as long as this is asked."""
        self._tree = tree
        self._reached = reached
        self._modules: dict[str, Module] = {}
        self._graph = ImportGraph(tree, {path: frozenset(names) for path, (_, names) in reached.imports.items()})

    def reach(self, edits: Mapping[str, str | None]) -> Reach:
        if not self._reached.tests:
            return Reach(everything=True, why="it is not known yet what the tests reach")
        found = {test for test in self._reached.tests if test not in self._reached.entries}  # of which nothing is known
        new: list[str] = []
        try:
            hit = {test for path, text in edits.items() for test in self._reached_by(path, text, new)}
        except Unknown as error:
            return Reach(everything=True, why=str(error))
        if not hit and not new:
            return Reach(everything=True, why="no test is known to reach the change")
        found |= hit | {test for test, entry in self._reached.entries.items() if entry.blind}
        return Reach(tests=(*(test for test in self._reached.tests if test in found), *new))

    def seconds(self, tests: Sequence[str]) -> float:
        return sum(entry.seconds for test in tests if (entry := self._reached.entries.get(test)) is not None)

    def _reached_by(self, path: str, text: str | None, new: list[str]) -> Iterator[str]:
        before = self._text(path)
        if text == before:
            return
        if may_configure(path) and PurePosixPath(path).name != "conftest.py":
            raise Unknown(f"{path} may decide how tests run")
        if path in self._reached.read and not path.endswith(".py"):
            raise Unknown(f"{path} is read before any test runs")
        yield from (test for test, entry in self._reached.entries.items() if path in entry.read)
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
        try:
            if path not in self._modules:
                self._modules[path] = Module(before)
            replacements = self._modules[path].replacements(path, text) if text is not None else None
        except (SyntaxError, ValueError):
            return None
        if replacements is None or path in self._reached.read:
            return None
        found = [(replacement.function["line"], replacement.end) for replacement in replacements]
        return None if any(_within(self._reached.executed.get(path, ()), found)) else found

    def _calling(self, path: str, functions: list[tuple[int, int]]) -> Iterator[str]:
        for test, entry in self._reached.entries.items():
            if any(_within(entry.calls.get(path, ()), functions)) or (is_test_path(path) and file_of(test) == path):
                yield test

    def _importing(self, path: str) -> Iterator[str]:
        importers = self._graph.importers(path)
        if path in self._reached.executed and not any(file_of(test) in importers for test in self._reached.tests):
            raise Unknown(f"{path} is imported in a way that cannot be seen in the sources")
        for test, entry in self._reached.entries.items():
            if file_of(test) in importers or any(called in importers for called in entry.calls):
                yield test

    def _text(self, path: str) -> str | None:
        file = self._tree / path
        return file.read_bytes().decode("utf-8", "replace") if file.is_file() else None


def _within(lines: tuple[int, ...], functions: list[tuple[int, int]]) -> Iterator[bool]:
    return (first <= line <= last for line in lines for first, last in functions)
