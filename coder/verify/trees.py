"""The trees of a change in clean worktrees, and what of it is a test."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from difflib import SequenceMatcher
from functools import cached_property
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Literal, Protocol

from coder.core.paths import is_test_path
from coder.files.regular_files import overwrite, read_regular_text
from coder.python.source import decode_text, split_lines
from coder.verify.layout import runs_examples, test_file_predicate
from coder.verify.select import find_paths_in_sources
from coder.verify.test_files import FILE as BUILD_FILE
from coder.verify.test_files import (
    INLINE_SUFFIXES,
    PYTHON,
    adds_only_tests,
    inline_tests,
    replace_inline_tests,
)

Side = Literal["base", "change", "tests", "sources", "harness"]
"""The base, the whole change, the base with only the tests or only the sources of the change, or the change
with the base's version of what decides how tests run, which `sources` has, too, once it is known.
"""


class Trees(Protocol):
    """The trees of a repository, as the proof needs them."""

    @property
    def base(self) -> str: ...

    def checkout(self, tree: str, paths: Sequence[str] | None = None) -> AbstractContextManager[Path]:
        """Check out `base` with the content of `tree`, all of it or at `paths` only, until exit."""
        ...

    def read(self, tree: str, paths: Sequence[str] | None = None) -> AbstractContextManager[Path]:
        """Provide the same content for reading alone: nothing may run or be written there."""
        ...

    def changed_paths(self, tree: str) -> tuple[str, ...]: ...


class ChangeSplit:
    """The tests and the sources of one change."""

    def __init__(self, trees: Trees, tree: str, *, command: str = "") -> None:
        """Split the change from the base to `tree`, by its paths and by what the test command collects."""
        self._trees = trees
        self.tree = tree
        self.changed = trees.changed_paths(tree)
        with trees.read(tree) as new:
            is_test_file = test_file_predicate(new, command)
            self._runs_examples = runs_examples(new, command)
        self.test_files = tuple(path for path in self.changed if is_test_file(path))
        """Changed files that the runner collects; those of other languages than Python are not among them."""
        tests = [path for path in self.changed if is_test_path(path) or is_test_file(path)]
        helpers = [path for path in tests if not is_test_file(path)]
        if helpers:
            with trees.read(tree) as new:
                used = find_paths_in_sources(new, helpers)
            tests = [path for path in tests if path not in used]
        self.registrations = self._find_registrations(tests)
        """Changed files of a build that do nothing but add the test programs of the change."""
        self.tests = tuple(path for path in self.changed if path in (*tests, *self.registrations))
        self.sources = tuple(path for path in self.changed if path not in self.tests)
        self._inline = self._find_inline_tests()
        self.harness: tuple[str, ...] = ()
        """Changed files that decide how tests run."""

    @property
    def inline_tests(self) -> tuple[str, ...]:
        """Sources that contain tests which the change adds, edits or removes."""
        return tuple(path for path, is_edited in self._inline.items() if is_edited)

    @property
    def has_tests(self) -> bool:
        return bool(self.tests or self.inline_tests)

    def changes_tests_of(self, path: str) -> bool:
        return path in self.tests or path in self.inline_tests

    def has_same_tests(self, path: str) -> bool:
        return path not in self.sources or path in self._inline

    def count_as_tests(self, paths: Collection[str]) -> None:
        self.tests = tuple(path for path in self.changed if path in self.tests or path in paths)
        self.test_files = tuple(
            path
            for path in self.changed
            if path in self.test_files or (path in paths and path.endswith(".py"))
        )
        self.sources = tuple(path for path in self.changed if path not in self.tests)
        self._inline = {path: edited for path, edited in self._inline.items() if path in self.sources}

    @contextmanager
    def checkout(self, side: Side) -> Iterator[Path]:
        """Provide a clean worktree with one side of the change, until exit."""
        match side:
            case "base":
                context = self._trees.checkout(self._trees.base, ())
            case "change":
                context = self._trees.checkout(self.tree)
            case "tests":
                context = self._trees.checkout(self.tree, self.tests)
            case "sources" | "harness":
                paths = self.sources if side == "sources" else self.changed
                kept = tuple(path for path in paths if path not in self.harness)
                context = self._trees.checkout(self.tree, kept)
        with context as place:
            if side in ("tests", "sources") and self.inline_tests:
                other = self._read(self.tree if side == "tests" else self._trees.base, self.inline_tests)
                for path in self.inline_tests:
                    if (place / path).is_file():
                        text = read_regular_text(place / path)
                        text = replace_inline_tests(path, text, other[path], adds_names=side == "tests")
                        overwrite(place / path, text.encode())
            yield place

    def read(self, side: Literal["base", "change"]) -> AbstractContextManager[Path]:
        return self._trees.read(self.tree) if side == "change" else self._trees.read(self._trees.base, ())

    @property
    def changed_lines(self) -> dict[str, list[int]]:
        """Lines of the changed Python sources that the base does not have, from 1, by path."""
        return {path: lines for path, lines in self._changed_lines.items() if path in self.sources}

    @cached_property
    def _changed_lines(self) -> dict[str, list[int]]:
        with self.read("base") as old, self.read("change") as new:
            before, after = read_texts(old, self.changed), read_texts(new, self.changed)
        return {path: find_changed_lines(before.get(path, ""), text) for path, text in after.items()}

    def _find_registrations(self, tests: Sequence[str]) -> tuple[str, ...]:
        candidates = [path for path in self.changed if PurePosixPath(path).name == BUILD_FILE]
        if not candidates or not tests:
            return ()
        old, new = self._read(self._trees.base, candidates), self._read(self.tree, candidates)
        return tuple(
            path
            for path in candidates
            if adds_only_tests(
                old[path],
                new[path],
                [
                    PurePosixPath(test).relative_to(PurePosixPath(path).parent).as_posix()
                    for test in tests
                    if PurePosixPath(test).is_relative_to(PurePosixPath(path).parent)
                ],
            )
        )

    def _find_inline_tests(self) -> dict[str, bool]:
        """Return the sources that contain tests, and whether the change touches these."""
        candidates = [path for path in self.sources if path.endswith(INLINE_SUFFIXES)]
        if not candidates:
            return {}
        old, new = self._read(self._trees.base, candidates), self._read(self.tree, candidates)
        tests = {path: (inline_tests(path, old[path]), inline_tests(path, new[path])) for path in candidates}
        return {
            path: before != after
            for path, (before, after) in tests.items()
            if (before or after) and (before == after or self._runs_examples or not path.endswith(PYTHON))
        }

    def _read(self, tree: str, paths: Collection[str]) -> dict[str, str]:
        with self._trees.read(tree, () if tree == self._trees.base else None) as place:
            return {path: read_regular_text(place / path) for path in paths}


def find_changed_lines(old: str, new: str) -> list[int]:
    """Return the lines of a text, from 1, that an old one does not have there."""
    before, after = split_lines(old), split_lines(new)
    start = _count_equal(before, after)
    end = _count_equal(reversed(before[start:]), reversed(after[start:]))
    rest = before[start : len(before) - end], after[start : len(after) - end]
    matcher = SequenceMatcher(None, *rest, autojunk=False)
    return [
        start + index + 1
        for tag, _, _, first, last in matcher.get_opcodes()
        if tag != "equal"
        for index in range(first, last)
    ]


def _count_equal(lines: Iterable[str], others: Iterable[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(lines, others, strict=False)))


LARGEST = 2 << 20


def read_texts(root: Path, paths: Iterable[str], suffixes: tuple[str, ...] = (".py",)) -> dict[str, str]:
    files = {path: root / path for path in paths if path.endswith(suffixes)}
    return {
        path: decode_text(file.read_bytes())
        for path, file in files.items()
        if file.is_file() and not file.is_symlink() and file.stat().st_size < LARGEST
    }
