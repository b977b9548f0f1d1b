"""Test impact analysis by a coverage map: the tests that edits of a tree can affect, nearest first."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from coder.core.paths import is_prose, is_test_path, test_file_of
from coder.verify.coverage_map import CoverageMap, MapOnTree, RecordedTest, split_source
from coder.verify.layout import may_configure, module_name
from coder.verify.select import (
    ImportGraph,
    SuiteSelection,
    changes_import_effects,
    defined_names,
    imported_names,
    select_test_files,
)
from coder.verify.trees import Trees

Edits = Mapping[str, str | None]
"""New texts by path, None where the file is deleted."""


class UnboundedImpact(Exception):
    """Raised where the impact cannot be bounded: any test may be affected."""


class AffectedUnits(NamedTuple):
    """Units of a map, test files and folders that edits change."""

    units: set[int]
    files: tuple[str, ...]
    """Test files that are changed, new or deleted."""
    folders: tuple[PurePosixPath, ...]
    """Folders all tests below which are affected, by their conftest.py."""


class ImpactAnalysis:
    """Finds what edits of one tree affect."""

    def __init__(self, view: MapOnTree) -> None:
        self.view = view

    def find_affected(self, edits: Edits) -> AffectedUnits:
        """Return what edits affect.

        Raises:
            UnboundedImpact: the map cannot tell.
        """
        changed = {path: text for path, text in edits.items() if text != self.view.files.text_of(path)}
        units: set[int] = set()
        folders: list[PurePosixPath] = []
        for path, text in changed.items():
            is_conftest = PurePosixPath(path).name == "conftest.py"
            if may_configure(path) and not is_conftest:
                raise UnboundedImpact(f"{path} may decide how tests run")
            if not path.endswith(".py"):
                units |= self._readers_of_data(path)
                continue
            differing, is_outside = self._changed_units(path, text)
            units |= differing
            if is_conftest and is_outside:
                folders.append(PurePosixPath(path).parent)
            if self.view.files.text_of(path) is not None:
                units |= self._outside_units(path, text or "") if is_outside else set()
            elif not is_conftest and not self.view.is_test_file(path):
                self._check_new_module(path, changed)
        return AffectedUnits(units, tuple(filter(self.view.is_test_file, changed)), tuple(folders))

    def _readers_of_data(self, path: str) -> set[int]:
        read = {*self.view.units_of(path)}
        if read & self.view.coverage.collection:
            raise UnboundedImpact(f"{path} is read before any test runs")
        if not read and not is_prose(path):
            raise UnboundedImpact(f"it is not known what reads {path}")
        return read

    def _changed_units(self, path: str, text: str | None) -> tuple[set[int], bool]:
        """Return the units of a module that differ, and whether code outside of functions is affected.

        It is as well if a function that differs was called while tests were collected.
        """
        units = {*self.view.units_of(path)}
        new = split_source(text).keys if text is not None else ()
        changed = {unit for unit in units if self.view.coverage.units[unit][1] not in new}
        old = self.view.files.text_of(path)
        is_outside = old is None or new[:1] != split_source(old).keys[:1]
        return changed, is_outside or not changed.isdisjoint(self.view.coverage.collection)

    def _outside_units(self, path: str, text: str) -> set[int]:
        """Return the units by which the tests are known that code outside of functions may affect.

        They enter anything in the module, or in one that imports it explicitly; where a name is gone that
        another file imports, nothing that executes this file can be imported any more.
        """
        importers = self._imports.explicit_importers(path)
        gone = defined_names(self.view.files.text_of(path) or "") - defined_names(text)
        if gone and self._imports.imports_any(path, gone):
            importers |= self._imports.importers(path)
        own = self.view.outside_of(path)
        is_hidden = not importers and not is_test_path(path)
        if is_hidden and not self._all_units.isdisjoint(own):
            raise UnboundedImpact(f"{path} is imported in a way that cannot be seen in the sources")
        return own.union(*map(self.view.outside_of, importers))

    def _check_new_module(self, path: str, edits: Edits) -> None:
        """Raise UnboundedImpact unless the edits themselves import a new module: something may find it."""
        name = module_name(path, self.view.files.tree) or ""
        stem = name.rpartition(".")[2]
        for other, text in edits.items():
            imported = imported_names(text) if other.endswith(".py") and other != path and text else ()
            if any(word.rpartition(".")[2] == stem for word in imported):
                return
        raise UnboundedImpact(f"{path} is new: who will find it is not known")

    @cached_property
    def _all_units(self) -> set[int]:
        """Units of all tests and of collection."""
        return {
            unit for entry in self.view.coverage.entries for unit in entry.units
        } | self.view.coverage.collection

    @cached_property
    def _imports(self) -> ImportGraph:
        versions = self.view.coverage.versions
        files = self.view.files
        imports = {}
        for path in self.view.python_files:
            known = versions.get(path, {}).get(files.hash_of(path))
            imports[path] = frozenset(known.imports if known else files.parts_of(path).imports)
        return ImportGraph(files.tree, imports)


class _Selection:
    """Tests of a tree by why they are selected."""

    def __init__(self, view: MapOnTree, edits: Edits, static: SuiteSelection | None) -> None:
        """Select; where the map cannot tell, the tests in the files of `static` are, all of them if None.

        Raises:
            UnboundedImpact: the map cannot tell at all.
        """
        affected = ImpactAnalysis(view).find_affected(edits)
        self._view = view
        self.changed = affected.files
        self.reached: dict[str, RecordedTest] = {}
        self.incomplete: list[str] = []
        """Tests without a complete record that holds on this tree."""
        self._unnamed: list[str] = []
        """Tests that start processes, in files that `static` does not name."""
        self.unknown: list[str] = []
        """Test files, or sources with tests, whose tests are not known."""
        self.is_complete = True
        named = None if static is None else frozenset(static.files)
        for path in view.test_files:
            tests = view.tests_of(path)
            is_named = named is None or path in named
            is_below = any(PurePosixPath(path).is_relative_to(folder) for folder in affected.folders)
            if tests is None:
                self.is_complete = False
                if path not in affected.files and (is_named or is_below):
                    self.unknown.append(path)
                continue
            for test in tests:
                self._add_test(
                    test, affected, is_named=is_named, is_affected=is_below or path in affected.files
                )
        if affected.units and not self.reached:  # only another process can have executed it
            self.incomplete += self._unnamed
        if static is not None:
            known = {*view.test_files, *affected.files}
            self.unknown += (path for path in static.files if path not in known)

    def _add_test(self, test: str, affected: AffectedUnits, *, is_named: bool, is_affected: bool) -> None:
        run = self._view.run_of(test)
        entry = None if run is None else self._view.coverage.entries[run.entry]
        if run is None or entry is None:
            self.is_complete = False
            if is_named or is_affected:
                self.incomplete.append(test)
        elif is_affected or not affected.units.isdisjoint(entry.units):
            self.reached[test] = run
        elif entry.is_blind:
            (self.incomplete if is_named else self._unnamed).append(test)

    def nearest_first(self) -> list[str]:
        """Return the reached tests, those first that enter the fewest units, then the quickest."""
        entries = self._view.coverage.entries
        return sorted(
            self.reached,
            key=lambda test: (len(entries[self.reached[test].entry].units), self.reached[test].seconds),
        )

    def seconds_of(self, tests: Iterable[str]) -> float:
        """Return the time that known tests took when they were recorded."""
        runs = self._view.coverage.tests
        return sum(runs[test][0].seconds for test in tests if test in runs)


def select_reaching(
    trees: Trees, tree: str, *, old: Path, new: Path, coverage: CoverageMap | None, command: str = ""
) -> SuiteSelection | None:
    """Return the tests that a change of the base to `tree` can reach, None if that may be any.

    `old` and `new` are both sides, checked out; `coverage` is None where the runner cannot record it.
    """
    static = select_test_files(old, new, trees.changed_paths(tree))
    edits = trees.changed_texts(tree)
    if edits is None or coverage is None:
        return static
    return select_tests(old, edits, coverage, static, command=command)


def select_tests(
    old: Path,
    edits: Edits,
    coverage: CoverageMap,
    static: SuiteSelection | None,
    *,
    command: str = "",
) -> SuiteSelection | None:
    """Return the tests that edits of a tree can affect, by the map and, where it cannot tell, by `static`.

    `static` is the selection by names and imports; None, also as the result, stands for any test. A test
    counts as affected if it enters a function whose body differs or reads a file that does; if other code of
    a module differs, also if it enters anything in the module or in an explicit importer. Test files that
    the map does not cover, tests whose record does not hold on this tree, and those that start processes,
    are selected where `static` names their file; the latter also where no test
    is reached. `command` is the test command, which may name more test files.
    """
    view = MapOnTree(old, coverage, command=command)
    if not coverage.tests or _has_import_effects(view, edits):
        return static
    try:
        selection = _Selection(view, edits, static)
    except UnboundedImpact:
        return static
    changed_files = [path for path in selection.changed if path in edits]
    reached = [test for test in selection.nearest_first() if test_file_of(test) not in changed_files]
    incomplete = [test for test in selection.incomplete if test_file_of(test) not in changed_files]
    known = [*reached, *incomplete]
    tests = [*changed_files, *_join_whole_files(known, view), *selection.unknown]
    own = [test for path in changed_files for test in view.tests_of(path) or ()]
    files = tuple(dict.fromkeys(map(test_file_of, tests)))
    return SuiteSelection(
        files=files,
        touched=frozenset(static.touched if static else ()) & frozenset(files),
        tests=tuple(tests),
        count=len(known) + len(own),
        by_map=selection.is_complete,
        counts={
            path: len(view.tests_of(path) or ()) or (static.weight(path) if static else 1) for path in files
        },
        seconds=None if selection.unknown else selection.seconds_of([*known, *own]),
    )


def _join_whole_files(tests: Sequence[str], view: MapOnTree) -> Iterator[str]:
    """Yield tests, and at the place of the first of them each file whose tests are all among them.

    A file finds the cases of parametrized tests that edits add.
    """
    selected = frozenset(tests)
    whole = {path: selected.issuperset(view.tests_of(path) or ("",)) for path in map(test_file_of, tests)}
    yield from dict.fromkeys(test_file_of(test) if whole[test_file_of(test)] else test for test in tests)


def _has_import_effects(view: MapOnTree, edits: Edits) -> bool:
    """Tell whether statements differ that run at import and do more than bind names, outside of tests."""
    return any(
        changes_import_effects(view.files.text_of(path) or "", text or "")
        for path, text in edits.items()
        if path.endswith(".py") and not view.is_test_file(path) and PurePosixPath(path).name != "conftest.py"
    )
