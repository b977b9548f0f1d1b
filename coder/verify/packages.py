"""Packages of a repository whose tests run by themselves, and the division of a run among processes."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from coder.core.paths import test_file_of
from coder.core.values import Value
from coder.files.regular_files import read_regular_text
from coder.verify.layout import (
    VENDORED,
    holds_code,
    is_module,
    is_package,
    nested_projects,
    option_words,
    pytest_options,
    source_roots,
    test_file_predicate,
)
from coder.verify.runners.adapter import nearest, source_files

DEEPEST_CONFIGURATION = 3
"""Depth of directories in which packages that configure pytest are looked for."""
_IMPORTED = re.compile(r"^\s*(?:from|import)\s+(\w+)", re.MULTILINE)
_PLACE_OPTIONS = ("-c", "--config-file", "--rootdir", "--confcutdir", "-s", "--start-directory", "discover")


class PackageRun(Value):
    """The part of a test run that one process can do."""

    root: str = "."
    """Working directory, relative to the tree."""
    tests: tuple[str, ...] = ()
    """Ids, files and directories to run, relative to the tree; none means all below `root`."""
    ignored: tuple[str, ...] = ()
    """Files and directories below `root` that other processes run."""

    @property
    def prefix(self) -> str:
        """The prefix that makes paths in `root` relative to the tree."""
        return "" if self.root == "." else f"{self.root}/"


def divide_run(tree: Path, tests: Sequence[str]) -> tuple[PackageRun, ...]:
    """Return the processes that together run `tests`, all if there are none, as users of the packages do.

    A package that configures pytest below a root that does not is run in its own directory. So are packages
    whose test files or helpers have one name, of which a process would import the first for all. Where no
    package separates such files, each process runs some of them.
    """
    return tuple(_Suite(tree).divide(tests)) or (PackageRun(tests=tuple(tests)),)


def find_packages(tree: Path) -> tuple[str, ...]:
    """Return the directories, relative to a tree, whose tests run by themselves where all tests run."""
    return _Suite(tree).packages


def names_place(word: str, tree: Path) -> bool:
    """Tell whether an argument of a runner names a place in a tree, or decides where it runs."""
    is_path = not word.startswith("-") and (tree / test_file_of(word)).exists()
    return is_path or word.startswith(_PLACE_OPTIONS)


package_of = nearest
"""Returns the innermost of the packages that contains a path; `.` if none does."""


class _Suite:
    """The test files of a tree, and the modules of one name that they import from different places."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        options = option_words(pytest_options(tree)[1].get("addopts", ""))
        self._by_path = "--import-mode=importlib" in options
        """True if test files are imported by their paths, whatever their names."""
        self._projects = [path.relative_to(tree).as_posix() for path in nested_projects(tree)]
        is_test = test_file_predicate(tree)
        self._files = [path for path in source_files(tree, (".py",)) if is_test(path)]
        configured = [] if pytest_options(tree)[0] else list(_configured_directories(tree, self._files))
        self._needs = self._find_needs({*self._projects, *configured})
        self.packages = tuple(sorted({*configured, *self._separating_packages(configured)}))

    def divide(self, tests: Sequence[str]) -> Iterator[PackageRun]:
        """Yield the processes for some tests; all if there are none."""
        for root, own in self._assign(tests).items():
            _, *others = self._compatible_groups(root)
            elsewhere = frozenset(file for group in others for file in group)
            inner = [package for package in self.packages if package != root and is_below(package, root)]
            remaining = tuple(test for test in own or () if test_file_of(test) not in elsewhere)
            if own is None or remaining:
                yield PackageRun(root=root, tests=remaining, ignored=(*inner, *sorted(elsewhere)))
            for group in others:
                ids = [test for test in own or () if test_file_of(test) in group]
                files = [file for file in group if own is None or any(is_below(file, test) for test in own)]
                if named := tuple(dict.fromkeys((*ids, *(file for file in files if file not in ids)))):
                    yield PackageRun(root=root, tests=named)

    def _assign(self, tests: Sequence[str]) -> Mapping[str, Sequence[str] | None]:
        """Return the tests to run by package; None for all of a package."""
        owners = {file: package_of(self.packages, file) for file in self._files}
        if not tests:
            return dict.fromkeys(sorted({*owners.values()}, key=lambda root: (root != ".", root)))
        assigned: dict[str, list[str] | None] = {}
        for test in tests:
            path = test_file_of(test)
            inner = [package for package in self.packages if is_below(package, path)]
            own = package_of(self.packages, path)
            if not inner or any(is_below(file, path) and owners[file] == own for file in owners):
                assigned.setdefault(own, [])
                if (named := assigned[own]) is not None:
                    named.append(test)
            assigned |= dict.fromkeys(inner)
        return assigned

    def _compatible_groups(self, root: str) -> list[list[str]]:
        """Return the test files of a package in groups, each without two modules of one name."""
        groups: list[list[str]] = [[]]
        places: list[dict[str, Path]] = [{}]
        for file in self._files:
            if package_of(self.packages, file) != root:
                continue
            needs = self._needs.get(file, {})
            for group, known in zip(groups, places, strict=True):
                if all(known.get(name, place) == place for name, place in needs.items()):
                    group.append(file)
                    known |= needs
                    break
            else:
                groups.append([file])
                places.append(dict(needs))
        return groups

    def _find_needs(self, projects: Collection[str]) -> dict[str, dict[str, Path]]:
        """Return, by test file, the names that other places have too, and where the file finds them."""
        tops = {file: _top_module(self._tree, file) for file in self._files}
        bases = {base for _, base in tops.values()}
        roots = {project: source_roots(self._tree / project) for project in projects}
        owners: dict[str, set[Path]] = defaultdict(set)
        for place in {*bases, *(root for found in roots.values() for root in found)}:
            for child in place.iterdir():
                if is_module(child) or is_package(child):
                    owners[child.stem].add(place)
        for name, base in tops.values():
            owners[name].add(base)
        shared = {name: places for name, places in owners.items() if len(places) > 1}
        needs: dict[str, dict[str, Path]] = {}
        for file, (name, base) in tops.items() if shared else ():
            found = {name: base} if name in shared and not self._by_path else {}
            places = [base, *roots.get(package_of(projects, file), ())]
            imported = {*_IMPORTED.findall(read_regular_text(self._tree / file))} & shared.keys()
            for word in imported:
                owner = next((place for place in places if place in shared[word]), None)
                if owner is not None:
                    found.setdefault(word, owner)
            needs[file] = found
        return needs

    def _separating_packages(self, configured: Sequence[str]) -> Iterator[str]:
        """Yield the packages to which test files belong that cannot run in one process."""
        known = {*self._projects, *configured}
        users: dict[str, dict[Path, list[str]]] = defaultdict(lambda: defaultdict(list))
        for file, needs in self._needs.items():
            for name, place in needs.items():
                users[name][place].append(file)
        for places in users.values():
            files = [file for group in places.values() for file in group]
            owners = {package_of(known, file) for file in files} if len(places) > 1 else set[str]()
            if owners == {"."}:
                owners = set(self._top_directories(files))
            yield from owners - {"."} if len(owners) > 1 else ()

    def _top_directories(self, files: Sequence[str]) -> Iterator[str]:
        """Yield the directories at the top that hold code beside their tests, where nothing is configured."""
        if not pytest_options(self._tree)[0] and not (self._tree / "conftest.py").exists():
            tops = {PurePosixPath(file).parts[0] for file in files if "/" in file}
            yield from (top for top in tops if holds_code(self._tree / top))


def _configured_directories(tree: Path, files: Sequence[str]) -> Iterator[str]:
    """Yield the directories above test files that configure pytest."""
    above = {parent for file in files for parent in list(PurePosixPath(file).parents)[:-1]}
    for folder in sorted(above):
        is_near = len(folder.parts) <= DEEPEST_CONFIGURATION and VENDORED.isdisjoint(folder.parts)
        if is_near and pytest_options(tree / folder)[0]:
            yield folder.as_posix()


def _top_module(tree: Path, path: str) -> tuple[str, Path]:
    """Return the first part of the name by which pytest imports a file, and where that is imported from."""
    file = tree / path
    base, name = file.parent, file.stem
    while base != tree and (base / "__init__.py").exists():
        base, name = base.parent, base.name
    return name, base


def is_below(path: str, directory: str) -> bool:
    return directory == "." or path == directory or path.startswith(f"{directory}/")
