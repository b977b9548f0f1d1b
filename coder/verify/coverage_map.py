"""Coverage map: the code and files that each test of a repository uses, kept over commits and branches.

A test depends on *units*: the body of each outermost function that it enters, all other code of each module
of which it enters anything (imports, constants, signatures, decorators), and the content of each file that it
opens. A unit is known by its path and a digest, so that what was recorded on one tree holds on any other that
has the same units. `coder.verify.impact` selects tests by the map.
"""

import ast
import hashlib
import json
import os
import stat
import sys
import time
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from coder.core.paths import test_file_of
from coder.core.ports import Progress
from coder.core.verdict import TestReport
from coder.files.regular_files import read_regular, replace_bytes
from coder.python.source import LINE_END, Function, dump_node, parse_module
from coder.verify.layout import test_file_predicate
from coder.verify.run import PytestRunner
from coder.verify.select import imported_names, project_files

FORMAT = 3
KEPT = 3
"""Recorded runs of a test, and versions of a file, that are kept: those of other commits and branches."""


class SourceParts(NamedTuple):
    """A source file in units: all that is outside of functions, and the bodies of outermost functions."""

    keys: tuple[str, ...]
    """Key of the code outside of functions, then those of the functions, in order."""
    starts: tuple[int, ...] = ()
    """First line of each function, decorators included."""
    ends: tuple[int, ...] = ()
    imports: tuple[str, ...] = ()

    def keys_at(self, line: int) -> set[str]:
        """Return the keys of the units that code with this first line belongs to."""
        index = bisect_right(self.starts, line) - 1
        is_inside = index >= 0 and line <= self.ends[index]
        return {self.keys[0], self.keys[index + 1]} if is_inside else {self.keys[0]}


@lru_cache(maxsize=256)
def split_source(text: str) -> SourceParts:
    """Return the parts of a source; one that cannot be parsed is all outside of functions."""
    try:
        module = parse_module(text)
        imports = tuple(sorted(imported_names(text)))
        functions = sorted(_find_outer_functions(module), key=lambda node: node.lineno)
        lines = LINE_END.split(text)
        bodies = ["\n".join(lines[node.body[0].lineno - 1 : node.end_lineno]) for node in functions]
        for node in functions:
            node.body = []
        outside = dump_node(module)
    except (SyntaxError, ValueError, RecursionError):
        return SourceParts(keys=(f"o{_digest(text)}",))
    return SourceParts(
        keys=(f"o{_digest(outside)}", *(f"{number}:{_digest(body)}" for number, body in enumerate(bodies))),
        starts=tuple(
            min([node.lineno, *(mark.lineno for mark in node.decorator_list)]) for node in functions
        ),
        ends=tuple(node.end_lineno or 0 for node in functions),
        imports=imports,
    )


def _find_outer_functions(node: ast.AST) -> Iterator[Function]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            yield child
        elif isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from _find_outer_functions(child)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:10]


class FileVersion(NamedTuple):
    """One content of a Python file."""

    units: tuple[int, ...]
    """The code outside of functions, then the functions."""
    imports: tuple[str, ...]


class Entry(NamedTuple):
    """Units that one test, or several, executed and read."""

    units: "array[int]"
    is_blind: bool
    """True if its coverage may be incomplete: it started processes or replaced the tracer."""


class RecordedTest(NamedTuple):
    """One recorded run of a test."""

    entry: int
    seconds: float
    passed: bool


class TreeFiles:
    """Contents of the files of a tree, which must not change."""

    def __init__(self, tree: Path) -> None:
        self.tree = tree.resolve()
        self._root = str(self.tree)
        self._folders: dict[str, str | None] = {}
        """Real path of each folder, None outside of the tree."""
        self._hashes: dict[str, str] = {}
        self._parts: dict[str, SourceParts] = {}

    def hash_of(self, path: str) -> str:
        """Return a short hash of a file's content, empty if it does not exist."""
        if path not in self._hashes:
            content = self._read(path)
            self._hashes[path] = "" if content is None else hashlib.sha256(content).hexdigest()[:16]
        return self._hashes[path]

    def text_of(self, path: str) -> str | None:
        """Return the text of a file, None if it does not exist."""
        content = self._read(path)
        return None if content is None else content.decode("utf-8", "replace")

    def _read(self, path: str) -> bytes | None:
        """Return a regular file's content as `read_regular` does, which takes long for thousands of files."""
        folder, _, name = f"{self._root}/{path}".rpartition("/")
        if folder not in self._folders:
            real = os.path.realpath(folder)
            self._folders[folder] = real if f"{real}/".startswith(f"{self._root}/") else None
        real_folder = self._folders[folder]
        if real_folder is None:
            return None
        try:
            descriptor = os.open(f"{real_folder}/{name}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:  # missing, or a link
            return read_regular(self.tree / path, within=self.tree)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                return file.read()
        finally:
            os.close(descriptor)

    def parts_of(self, path: str) -> SourceParts:
        if path not in self._parts:
            self._parts[path] = split_source(self.text_of(path) or "")
        return self._parts[path]


class CoverageMap:
    """Recorded coverage of the tests of one repository."""

    def __init__(self) -> None:
        """Create an empty map."""
        self.units: list[tuple[str, str]] = []
        """Path and key of each unit."""
        self.index: dict[tuple[str, str], int] = {}
        self.versions: dict[str, dict[str, FileVersion]] = {}
        """Known versions of each Python file by the hash of its content, newest last."""
        self.entries: list[Entry] = []
        self.tests: dict[str, tuple[RecordedTest, ...]] = {}
        """Recorded runs of each test, newest first."""
        self.covered: dict[tuple[str, str], tuple[str, ...]] = {}
        """Ids of the tests of each test file that was recorded as a whole, by its path and content hash."""
        self.collection: set[int] = set()
        """Units that were executed or read while tests were collected."""

    def unit(self, path: str, key: str) -> int:
        """Return the index of a unit, which is added if it is new."""
        if (path, key) not in self.index:
            self.index[path, key] = len(self.units)
            self.units.append((path, key))
        return self.index[path, key]

    def version(self, path: str, files: TreeFiles) -> FileVersion:
        """Return the version of a Python file in a tree, which is added if it is new."""
        known = self.versions.setdefault(path, {})
        content_hash = files.hash_of(path)
        if content_hash not in known:
            parts = files.parts_of(path)
            known[content_hash] = FileVersion(
                tuple(self.unit(path, key) for key in parts.keys), parts.imports
            )
        return known[content_hash]

    def add_run(self, files: TreeFiles, report: TestReport, records: Iterable[Mapping[str, Any]]) -> None:
        """Add what the recorded run of some tests has shown."""
        passed = {result.id: result.green for result in report.results}
        functions: list[set[int]] = []
        entries: dict[str, int] = {}
        for record in records:
            functions += (self._units_at(path, line, files) for path, line in record.get("new", ()))
            test: str = record["id"]
            if "like" in record:
                entries[test] = entries[record["like"]]
            else:
                units = {self.unit(path, f"r{files.hash_of(path)}") for path in record["read"]}
                units.update(*(functions[number] for number in record["functions"]))
                if not test:
                    self.collection |= units
                    continue
                is_blind = record["blind"] or "::" not in test  # a file that could not be imported
                entries[test] = self._add_entry(test, files, units, is_blind=is_blind)
            self._add_test(test, RecordedTest(entries[test], record["seconds"], passed.get(test, False)))
        for test in passed.keys() - entries.keys():  # where an import or a shared fixture failed
            entry = self._add_entry(test, files, (), is_blind=True)
            self._add_test(test, RecordedTest(entry, 0.0, passed[test]))

    def complete_files(self, files: TreeFiles, paths: Iterable[str], report: TestReport) -> None:
        """Mark test files as covered that `report`, of a run of whole files, has all results of."""
        tests_in_file: dict[str, list[str]] = {}
        results = dict.fromkeys(result.id for result in report.results)
        for test in dict.fromkeys([*report.collected, *results]):
            tests_in_file.setdefault(test_file_of(test), []).append(test)
        has_ended = report.problem is None or report.problem.kind == "no_tests"
        for path in paths:
            tests = tests_in_file.get(path, [])
            if results.keys() >= {*tests} and (tests or has_ended):
                self.set_tests(path, files, tests)

    def set_tests(self, path: str, files: TreeFiles, tests: Collection[str]) -> None:
        """Set the ids of all tests of a test file; those without a recorded run count as blind."""
        key = (path, files.hash_of(path))
        self.covered.pop(key, None)
        self.covered[key] = tuple(tests)
        for test in tests:
            if test not in self.tests:
                entry = self._add_entry(test, files, (), is_blind=True)
                self._add_test(test, RecordedTest(entry, 0.0, passed=False))

    def _units_at(self, path: str, line: int, files: TreeFiles) -> set[int]:
        if not path.endswith(".py"):
            return {self.unit(path, f"r{files.hash_of(path)}")}
        self.version(path, files)
        return {self.unit(path, key) for key in files.parts_of(path).keys_at(line)}

    def _add_entry(self, test: str, files: TreeFiles, units: Iterable[int], *, is_blind: bool) -> int:
        path = test_file_of(test)
        own = self.version(path, files).units[:1] if path.endswith(".py") else ()
        self.entries.append(Entry(array("I", sorted({*units, *own})), is_blind))
        return len(self.entries) - 1

    def _add_test(self, test: str, run: RecordedTest) -> None:
        self.tests[test] = (run, *self.tests.get(test, ()))[:KEPT]

    def save(self, file: Path) -> int:
        """Write what is still of use to a file, replacing it atomically; return its size in bytes."""
        versions = {path: dict([*known.items()][-KEPT:]) for path, known in self.versions.items()}
        entries = sorted({run.entry for runs in self.tests.values() for run in runs})
        used = {unit for number in entries for unit in self.entries[number].units}
        used.update(*(version.units for known in versions.values() for version in known.values()))
        used |= {unit for unit in self.collection if self.units[unit][1].startswith("r")}
        units = sorted(used, key=lambda unit: self.units[unit][0])
        new_unit = {unit: number for number, unit in enumerate(units)}
        new_entry = {entry: number for number, entry in enumerate(entries)}
        position = {test: number for number, test in enumerate(self.tests)}
        keys: dict[str, list[str]] = {}
        for unit in units:
            keys.setdefault(self.units[unit][0], []).append(self.units[unit][1])
        header = {
            "format": FORMAT,
            "units": keys,
            "versions": {
                path: {
                    content: [[new_unit[unit] for unit in version.units], version.imports]
                    for content, version in known.items()
                }
                for path, known in versions.items()
            },
            "entries": [
                2 * len(self.entries[number].units) + self.entries[number].is_blind for number in entries
            ],
            "tests": {
                test: [(new_entry[run.entry], round(run.seconds, 4), int(run.passed)) for run in runs]
                for test, runs in self.tests.items()
            },
            "covered": [
                (*key, [position[test] for test in tests])
                for key, tests in self.covered.items()
                if all(test in position for test in tests)
            ],
            "collection": sorted(new_unit[unit] for unit in self.collection if unit in new_unit),
        }
        numbers = array("I")
        for number in entries:
            numbers.extend(map(new_unit.__getitem__, self.entries[number].units))
        if sys.byteorder == "big":
            numbers.byteswap()
        content = json.dumps(header, separators=(",", ":")).encode("ascii") + b"\n" + numbers.tobytes()
        compressed = zlib.compress(content, 1)
        replace_bytes(file, compressed)
        return len(compressed)


def load_coverage(file: Path) -> CoverageMap:
    """Return a saved map; an empty one if there is none or it has another format."""
    coverage = CoverageMap()
    try:
        header, _, content = zlib.decompress(file.read_bytes()).partition(b"\n")
        document = json.loads(header)
        if document["format"] != FORMAT:
            return coverage
    except (OSError, ValueError, KeyError, zlib.error):
        return coverage
    numbers = array("I", content)
    if sys.byteorder == "big":
        numbers.byteswap()
    coverage.units = [(path, key) for path, keys in document["units"].items() for key in keys]
    coverage.index = {unit: number for number, unit in enumerate(coverage.units)}
    coverage.versions = {
        path: {
            content: FileVersion(tuple(units), tuple(imports)) for content, (units, imports) in known.items()
        }
        for path, known in document["versions"].items()
    }
    start = 0
    for size in document["entries"]:
        coverage.entries.append(Entry(numbers[start : start + size // 2], bool(size % 2)))
        start += size // 2
    coverage.tests = {
        test: tuple(RecordedTest(entry, seconds, bool(passed)) for entry, seconds, passed in runs)
        for test, runs in document["tests"].items()
    }
    tests = [*coverage.tests]
    coverage.covered = {
        (path, content): tuple(tests[number] for number in positions)
        for path, content, positions in document["covered"]
    }
    coverage.collection = {*document["collection"]}
    return coverage


class MapOnTree:
    """Coverage map as it applies to one tree, which must not change."""

    def __init__(self, tree: Path, coverage: CoverageMap, *, command: str = "") -> None:
        """Compare the units of the map with those of the tree; `command` may name more test files."""
        self.files = TreeFiles(tree)
        self.coverage = coverage
        self.is_test_file = test_file_predicate(self.files.tree, command)
        self.python_files = tuple(path for path in project_files(self.files.tree) if path.endswith(".py"))
        self.current = {unit for path in {path for path, _ in coverage.units} for unit in self.units_of(path)}
        self._stale = set(range(len(coverage.units))) - self.current

    def units_of(self, path: str) -> tuple[int, ...]:
        """Return the units of a file that the map knows."""
        content_hash = self.files.hash_of(path)
        read = self.coverage.index.get((path, f"r{content_hash}"))
        known = self.coverage.versions.get(path, {}).get(content_hash)
        if known is not None:
            units = known.units
        else:
            keys = self.files.parts_of(path).keys if path.endswith(".py") and content_hash else ()
            units = tuple(unit for key in keys if (unit := self.coverage.index.get((path, key))) is not None)
        return units if read is None else (*units, read)

    def outside_of(self, path: str) -> set[int]:
        """Return the unit of a module's code outside of functions, if the map knows it."""
        return {unit for unit in self.units_of(path) if self.coverage.units[unit][1].startswith("o")}

    def run_of(self, test: str) -> RecordedTest | None:
        """Return the newest recorded run of a test that holds on this tree, None if there is none."""
        for run in self.coverage.tests.get(test, ()):
            if self._stale.isdisjoint(self.coverage.entries[run.entry].units):
                return run
        return None

    def tests_of(self, path: str) -> tuple[str, ...] | None:
        """Return the ids of the tests of a test file, None if they are not known."""
        return self.coverage.covered.get((path, self.files.hash_of(path)))

    def known_tests(self, paths: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Return the ids of the tests of each of these test files of which all have a run that holds here."""
        known = {path: tests for path in paths if (tests := self.tests_of(path)) is not None}
        return {path: tests for path, tests in known.items() if None not in map(self.run_of, tests)}

    @property
    def test_files(self) -> tuple[str, ...]:
        return tuple(sorted(filter(self.is_test_file, self.python_files)))


FILES_PER_RUN = 20
LEAST_SECONDS = 2.0
"""Time below which no further run is started."""
SAVING_SHARE = 0.05
"""Share of the time that may be spent on saving."""


_RecordedRun = tuple[TestReport, list[Mapping[str, Any]]]


class MapProgress(NamedTuple):
    """Share of one tree that a map covers."""

    covered: int
    """Test files whose tests are all recorded."""
    files: int
    """Test files of the tree."""
    tests: int
    """Recorded tests in these files."""
    bytes: int
    """Size of the saved map."""


def record_map(
    runner: PytestRunner,
    tree: Path,
    coverage: CoverageMap,
    file: Path,
    *,
    seconds: float | None = None,
    progress: Progress | None = None,
    cores: int = 1,
) -> MapProgress:
    """Record the tests of a tree that the map lacks, save it repeatedly, and return what it covers now.

    It ends after `seconds`, or when the runner is stopped. Test files are run some at a
    time, in so many processes at once as there are `cores`.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    recording = _MapRecording(runner, tree, coverage)
    saved_at, saving_seconds = time.monotonic(), 0.0
    running: dict[Future[_RecordedRun], list[str]] = {}
    with ThreadPoolExecutor(cores) as pool:
        while True:
            remaining = None if deadline is None else deadline - time.monotonic()
            is_over = recording.is_stopped or (remaining or LEAST_SECONDS) < LEAST_SECONDS
            while recording.todo and len(running) < cores and not is_over:
                paths = recording.todo.pop(0)
                running[pool.submit(recording.run, paths, remaining, progress)] = paths
            if not running:
                break
            for run in wait(running, return_when=FIRST_COMPLETED).done:
                recording.add(running.pop(run), *run.result())
            if progress is not None:
                progress(f"{recording.covered} of {len(recording.view.test_files)} test files")
            if time.monotonic() - saved_at > saving_seconds / SAVING_SHARE:
                saved_at = time.monotonic()
                coverage.save(file)
                saving_seconds = time.monotonic() - saved_at
    return recording.summarize(coverage.save(file))


class _MapRecording:
    """Runs that complete a map for one tree."""

    def __init__(self, runner: PytestRunner, tree: Path, coverage: CoverageMap) -> None:
        self._runner = runner
        self._coverage = coverage
        self.view = MapOnTree(tree, coverage, command=runner.command)
        self.is_stopped = False
        for path in self.view.python_files:
            coverage.version(path, self.view.files)
        files = self.view.test_files
        known = self.view.known_tests(files)
        self.covered = len(known)
        self._partly = {
            path: [test for test in tests if self.view.run_of(test) is None]
            for path in files
            if path not in known and (tests := self.view.tests_of(path)) is not None
        }
        """Tests to run again of files whose tests are known."""
        unknown = [path for path in files if path not in known]
        self.todo = [
            unknown[start : start + FILES_PER_RUN] for start in range(0, len(unknown), FILES_PER_RUN)
        ]

    def run(self, paths: Sequence[str], seconds: float | None, progress: Progress | None) -> _RecordedRun:
        """Run the tests of some files that are not known."""
        tests = [test for path in paths for test in self._partly.get(path, [path])]
        return self._runner.record_coverage(
            self.view.files.tree, tests, timeout_seconds=seconds, progress=progress
        )

    def add(self, paths: Sequence[str], report: TestReport, records: Sequence[Mapping[str, Any]]) -> None:
        """Add the results of a run; after a crash, its files are run again one by one."""
        files = self.view.files
        problem = report.problem
        self._coverage.add_run(files, report, records)
        self._coverage.complete_files(files, [path for path in paths if path not in self._partly], report)
        recorded = {record["id"] for record in records}
        for path in paths:
            if {*self._partly.get(path, ())} <= recorded:
                self.covered += self.view.tests_of(path) is not None
            elif problem is None or problem.kind == "no_tests":  # some tests have other names by now
                del self._partly[path]
                self.todo.append([path])
        if problem is None or problem.kind == "no_tests":
            return
        if problem.kind in ("stopped", "timeout"):
            self.is_stopped = True
        elif len(paths) > 1:
            self.todo += [[path] for path in paths if self.view.tests_of(path) is None]
        elif self.view.tests_of(paths[0]) is None:
            self._coverage.set_tests(paths[0], files, [paths[0]])

    def summarize(self, size: int) -> MapProgress:
        view = MapOnTree(self.view.files.tree, self._coverage, command=self._runner.command)
        known = view.known_tests(view.test_files)
        return MapProgress(len(known), len(view.test_files), sum(map(len, known.values())), size)
