"""Coverage map of a tree: which tests enter which functions, and the tests that an edit reaches."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from coder.core.paths import is_test_file, is_test_path, test_file_of
from coder.core.ports import ImpactedTests, Limits, Sandbox
from coder.core.values import Value
from coder.files.regular_files import read_regular_text, replace_text
from coder.verify.layout import may_configure
from coder.verify.project import Project
from coder.verify.select import ImportGraph, imported_names, project_files
from coder.verify.warm_server import ServerGone, WarmServer, module_of, replacements_of

SLOW_SECONDS = 0.25
"""A test that takes longer than this is slow, and runs after the others."""
QUICK_TESTS_FIRST = 16
"""So many of the quickest tests, no two of which cover the same code, run first. Over 130 failing edits of 7
projects the first red test came after 2 ms of test time at the median, after 17 ms in collection order;
ordering by coverage size gained less.
"""


class UnboundedImpact(Exception):
    """Raised where the impact cannot be bounded: any test may be affected."""


class CoverageEntry(Value):
    """Code executed and files opened by one test, or shared by several tests of one file."""

    calls: Mapping[str, tuple[int, ...]]
    """First lines of the executed code objects, by path relative to the tree."""
    read: tuple[str, ...] = ()
    """Files of the tree that the test opens."""
    blind: bool = False
    """Whether it starts other processes or traces itself, so that its coverage may be incomplete."""
    files: Mapping[str, str] = {}
    """Hash of the content of each of these files at the time of the run."""


class CoverageMap(Value):
    """Coverage of all tests of one tree."""

    format: Literal[2] = 2
    content: str = ""
    """A hash of all files of the tree."""
    tests: tuple[str, ...] = ()
    """Node ids, in the order in which they are collected."""
    entries: tuple[CoverageEntry, ...] = ()
    """Coverage entries, each different one once."""
    entry_of: Mapping[str, int] = {}
    """Test -> index of its entry; tests without known coverage are absent."""
    seconds: Mapping[str, float] = {}
    """Processor time of each test under observation."""
    executed: Mapping[str, tuple[int, ...]] = {}
    """First lines of the code executed during collection, by path."""
    read: frozenset[str] = frozenset()
    """Files read during collection."""
    imports: Mapping[str, tuple[str, tuple[str, ...]]] = {}
    """Hash of each Python file, and the names that it imports."""


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


TEST_SECONDS = 60.0
COLLECTING_SECONDS = 300.0


def trace_coverage(
    tree: Path,
    previous: CoverageMap,
    *,
    project: Project,
    sandbox: Sandbox,
    scratch: Path,
    limits: Limits,
    seconds: float,
) -> CoverageMap:
    """Trace the tests whose coverage is not known, within `seconds`, and return the completed coverage.

    Valid entries of `previous` are kept. Tests run in forks of one process, those of each file in their own
    fork.
    """
    tree = tree.resolve()
    hashes = {path: content_hash(tree / path) for path in project_files(tree)}
    imports = {
        path: _imports_of(tree / path, hashes[path], previous.imports.get(path))
        for path in hashes
        if path.endswith(".py")
    }
    content = hashlib.sha256(json.dumps(sorted(hashes.items())).encode()).hexdigest()
    if content == previous.content and len(previous.entry_of) == len(previous.tests):
        return previous
    entries = [*previous.entries]
    valid = [_is_valid(entry, hashes) for entry in entries]
    entry_of = {test: number for test, number in previous.entry_of.items() if valid[number]}
    seconds_of = dict(previous.seconds)
    served = WarmServer(project, tree, sandbox=sandbox, scratch=scratch, limits=limits)
    try:
        state = served.wait_until_collected(seconds=COLLECTING_SECONDS)
        unknown = [test for test in state.tests if test not in entry_of]
        lines = (
            served.trace_coverage(unknown, seconds=seconds, test_seconds=TEST_SECONDS)
            if unknown and not state.cold
            else []
        )
    except ServerGone:
        return CoverageMap(imports=imports, **_coverage_of(entries, entry_of, seconds_of, [*entry_of]))
    finally:
        served.close()
    for line in lines:
        test: str = line["id"]
        seconds_of[test] = line["seconds"]
        if "like" in line:
            entry_of[test] = entry_of[line["like"]]
            continue
        files = {
            path: hashes.get(path, "") for path in (*line["calls"], *line["read"], test.partition("::")[0])
        }
        entry_of[test] = len(entries)
        entries.append(
            CoverageEntry(calls=line["calls"], read=line["read"], blind=line["blind"], files=files)
        )
    return CoverageMap(
        content=content,
        tests=state.tests,
        **_coverage_of(entries, entry_of, seconds_of, state.tests),
        executed=state.executed,
        read=state.read | state.opened,
        imports=imports,
    )


def _coverage_of(
    entries: Sequence[CoverageEntry],
    entry_of: Mapping[str, int],
    seconds: Mapping[str, float],
    tests: Sequence[str],
) -> dict[str, Any]:
    """Return the fields of `Reached` for these tests, without entries that none of them uses."""
    entry_of_test = {test: entry_of[test] for test in tests if test in entry_of}
    index_of = {number: index for index, number in enumerate(dict.fromkeys(entry_of_test.values()))}
    return {
        "entries": tuple(entries[number] for number in index_of),
        "entry_of": {test: index_of[number] for test, number in entry_of_test.items()},
        "seconds": {test: seconds[test] for test in entry_of_test},
    }


def load_coverage(file: Path) -> CoverageMap:
    """Return saved coverage; empty if there is none or it has another format."""
    try:
        return CoverageMap.model_validate_json(file.read_bytes())
    except (OSError, ValueError):
        return CoverageMap()


def save_coverage(reached: CoverageMap, file: Path) -> None:
    """Write coverage to a file, replacing it atomically."""
    replace_text(file, reached.model_dump_json())


def content_hash(file: Path) -> str:
    """Return a short hash of a file's content, empty if it does not exist."""
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16] if file.is_file() else ""


def _imports_of(
    file: Path, digest: str, cached: tuple[str, Sequence[str]] | None
) -> tuple[str, tuple[str, ...]]:
    if cached is not None and cached[0] == digest:
        return digest, tuple(cached[1])
    return digest, tuple(sorted(imported_names(read_regular_text(file))))


def _is_valid(entry: CoverageEntry, hashes: Mapping[str, str]) -> bool:
    return all(hashes.get(path, "") == digest for path, digest in entry.files.items())
