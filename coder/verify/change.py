"""The change under judgement: its four contents in clean worktrees, its tests, their ties to the issue."""

import builtins
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Literal, Protocol

from coder.core.paths import (
    is_prose,
    is_test_path,
    match_test_ids,
    most_general_ids,
    test_file_of,
)
from coder.core.values import Value
from coder.core.verdict import IssueTie, ReplacedAssertion, TargetKind, TestReport, TestResult
from coder.files.regular_files import overwrite, project_files, read_regular_text, read_texts
from coder.files.tokenize import STOP_WORDS, count_terms
from coder.index.languages import LANGUAGES
from coder.index.parsers import definitions
from coder.python.source import fingerprint_files, split_lines
from coder.verify.layout import runs_examples, test_file_predicate
from coder.verify.results import (
    environment_problem,
    rejection_reason,
)
from coder.verify.select import (
    SuiteSelection,
    defines_asserting_tests,
    find_added_names,
    find_data_tests,
    find_edited_definitions,
    find_paths_in_sources,
    find_tests,
    find_words,
    is_source_as_data,
)
from coder.verify.test_files import (
    CODE,
    INLINE_SUFFIXES,
    PYTHON,
    RUST,
    WHOLE_FILE,
    ChangedTests,
    TestLocator,
    differs_by_imports_alone,
    find_changed_tests,
    find_replaced_assertions,
    inline_tests,
    is_example,
    replace_inline_tests,
    source_of_test,
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
        self.tests = tuple(path for path in self.changed if path in tests)
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


SUFFIXES = tuple(f".{extension}" for extension in LANGUAGES)
"""Those of the indexed languages other than Python."""
DISTINCTIVE_SHARE = 0.05
"""An identifier is distinctive if at most this share of the test files contain it, or one file; a word, if at
most this share of the test names do.
"""
MOST_NAMES = 3
"""A distinctive word may always occur in this many test names."""
_CALL = re.compile(r"[A-Za-z_][\w.]*\((?:[^()\n]|\([^()\n]*\))+\)")
_QUOTED = re.compile(r"(?P<quote>[\"'`])(?P<text>[^\"'`\n]{4,80})(?P=quote)")
_NUMBERED = re.compile(r"(?<![\w.:/-])\d[\d:./-]*[:./-]\d+(?![\w:/-])")
_ERROR = re.compile(r"\b\w*(?:Error|Exception|Warning)\b: (?P<message>[^\n`]{8,200})")
_COMPARED = re.compile(r"(?:^|AssertionError: )(?:assert )?(.{1,80}?) (?:==|!=) (.{1,80}?)(?: within | : |$)")
"""A failed comparison in the words of pytest and unittest: found and wanted value."""
_WORD = re.compile(r"[A-Za-z_]\w{2,}")
_CALLED = re.compile(r"([A-Za-z_]\w{2,})\(")
_DEFINED = re.compile(r"^\s*(?:async )?(?:def|class) (\w+)", re.MULTILINE)
_ALTERNATIVE = re.compile(r"(?i)\b(?:instead of|rather than)\b[^.;:\n]*")
_SUITE_FAILS = re.compile(
    r"(?i)\b(?:tests?|suite|build|CI)\b[^.\n]{0,40}\b(?:fail|red|broken)"
    r"|\b(?:fail|red|broken)\w*\b[^.\n]{0,20}\btests?\b"
)


class Purpose(Value):
    """The issue that changes are judged by, and the user's word on tests."""

    issue: str = ""
    unfinished_issues: tuple[str, ...] = ()
    """Earlier requests that this one goes on with: what is tied to them counts as tied by an identifier."""
    named_tests: tuple[str, ...] = ()
    needs_ties: bool = False
    """Whether a test of the base counts as a target only if it is tied to the issue."""
    requires_identifier_ties: bool = True
    """Whether red tests tied to the issue by an identifier alone have to pass where no other target does."""
    accepts_test_edits: bool = False

    @property
    def text(self) -> str:
        """The issue and the requests that it goes on with."""
        return "\n\n".join((self.issue, *self.unfinished_issues))


MOST_UNTIED, UNTIED_SECONDS = 20, 5.0
"""Red tests of the base that nothing ties to the issue are run with the targets up to these limits."""


@dataclass(kw_only=True)
class JudgedChange:
    """One change, as all steps of its judgement see it."""

    trees: Trees
    tree: str
    purpose: Purpose
    before: TestReport
    """The base's results, as far as they are known."""
    ties: Mapping[str, IssueTie] | None = None
    """Ties of red tests of the base to the issue, by test id; None if no tie is needed."""
    changed: tuple[str, ...] = field(init=False)
    """Paths of all changed files."""
    split: ChangeSplit = field(init=False)
    """What of the change is a test."""
    excluded: tuple[str, ...] = ()
    """Tests that are not about the issue, as the user or the model says."""
    _files: dict[str, tuple[str, ...]] = field(init=False, default_factory=dict)
    """Files that define tests whose ids are not paths."""
    _changed_tests: dict[str, ChangedTests] = field(init=False, default_factory=dict)
    _found_users: tuple[str, ...] = field(init=False, default=())
    """Tests of which a run has shown that they use helpers or data that the change edits."""

    def __post_init__(self) -> None:
        is_excluded = match_test_ids(self.excluded)
        if self.ties is not None:
            self.ties = {test: tie for test, tie in self.ties.items() if not is_excluded(test)}
        self.split = ChangeSplit(self.trees, self.tree, command=self.before.command)
        self.changed = self.split.changed
        self.learn_tests(self.before)

    @property
    def issue(self) -> str:
        return self.purpose.text

    @property
    def tests(self) -> tuple[str, ...]:
        return self.split.tests

    @property
    def sources(self) -> tuple[str, ...]:
        """Changed files that are no tests."""
        return self.split.sources

    @property
    def test_files(self) -> tuple[str, ...]:
        """Changed files whose tests the runner can run by themselves."""
        if self.before.whole_only:
            return ()
        if not self.before.indirect:
            return (*self.split.test_files, *self.split.inline_tests)
        return tuple(
            path for path in self.changed if self.split.changes_tests_of(path) and path.endswith(CODE)
        )

    def learn_tests(self, report: TestReport) -> None:
        """Count the changed files in which a report has tests as tests, whatever their names are."""
        ids = [*(result.id for result in report.results), *report.collected]
        if report.indirect:
            self._locate(ids)
        files = {path for test in ids if not is_example(test) for path in self.files_of(test) if path != test}
        self.split.count_as_tests([path for path in files if not path.endswith(RUST)])

    def files_of(self, test: str) -> tuple[str, ...]:
        """Return the files that define a test; empty if they cannot be found."""
        return self._files.get(test, (test_file_of(test),) if not self.before.indirect else ())

    def _with_file(self, test: str) -> str:
        """Return the id of a test with the file that defines it, if that is known."""
        files = self.files_of(test)
        return test if not files or test.startswith(f"{files[0]}::") else f"{files[0]}::{test}"

    def changes_test(self, test: str) -> bool:
        """Tell whether the change adds or edits a test, as far as the syntax of its file tells."""
        return match_test_ids((*self.data_users, *self._found_users))(test) or any(
            self.split.changes_tests_of(path) and _selects(self.changed_tests_in(path), path, test)
            for path in self.files_of(test)
        )

    def edits_only_imports(self, test: str) -> bool:
        """Tell whether the change edits nothing but imports in the files that define a test."""
        files = [[texts.get(path, "") for texts in self._texts] for path in self.files_of(test)]
        return bool(files) and all(differs_by_imports_alone(old, new) for old, new in files)

    def is_new(self, test: str) -> bool:
        """Tell whether the change adds a test, by the syntax of its file or else by what the base has."""
        changed = [self.changed_tests_in(path) for path in self.files_of(test) if path in self.test_files]
        if changed and not any(tests.is_whole for tests in changed):
            return any(match_test_ids(tests.added)(test) for tests in changed)
        return not self.before.has_test(test)

    def adds_test(self, test: str) -> bool:
        """Tell whether the syntax of its file shows that the change adds a test."""
        changed = (self.changed_tests_in(path) for path in self.files_of(test) if path in self.test_files)
        return any(match_test_ids(tests.added)(test) for tests in changed)

    @property
    def is_prose(self) -> bool:
        """Whether only documentation, and comments in Python sources, have changed."""
        return bool(self.changed) and all(
            not self.split.changes_tests_of(path) and (is_prose(path) or self._has_same_code(path))
            for path in self.changed
        )

    def _has_same_code(self, path: str) -> bool:
        """Tell whether comments and layout of a Python file differ, and neither its code nor its mode."""
        old, new = (texts.get(path) for texts in self._texts)
        if old is None or new is None or not path.endswith((".py", ".pyi")):
            return False
        with self.split.read("base") as base, self.split.read("change") as changed:
            if (base / path).stat().st_mode != (changed / path).stat().st_mode:
                return False
        return fingerprint_files({path: old}) == fingerprint_files({path: new})

    @property
    def removed_tests(self) -> tuple[str, ...]:
        """The tests of the base that the change removes, by id, where syntax tells."""
        return tuple(test for path in self.test_files for test in self.changed_tests_in(path).removed)

    @cached_property
    def data_users(self) -> frozenset[str]:
        """Names of tests that the change leaves as they are and that use data which it edits."""
        data = self._data
        if not data or self.before.indirect:
            return frozenset()
        with self.split.read("base") as tree:
            users = {name for names in find_data_tests(tree, data).values() for name in names}
        return frozenset(name for name in users if test_file_of(name) not in self.test_files)

    @cached_property
    def _data(self) -> tuple[str, ...]:
        """Changed files of the tests' side that tests read, and that nothing imports."""
        with self.split.read("change") as tree:
            return tuple(
                path for path in self.helpers if not path.endswith(CODE) or is_source_as_data(tree, path)
            )

    @property
    def helpers(self) -> tuple[str, ...]:
        """Changed files of the tests' side that hold no tests themselves, such as fixtures and data."""
        return tuple(path for path in self.tests if path not in self.test_files)

    @property
    def uncollected_tests(self) -> tuple[str, ...]:
        """New files, and files of tests, in Python whose test functions the runner does not collect."""
        if self.before.indirect:
            return ()
        old, new = self._texts
        return tuple(
            path
            for path, text in new.items()
            if path.endswith(".py")
            and path not in self.test_files
            and (path not in old or is_test_path(path))
            and defines_asserting_tests(text)
        )

    @property
    def edits_helpers(self) -> bool:
        """Whether the change edits what tests use beside themselves, where the runner tells tests apart."""
        code = [path for path in self.helpers if path not in self._data or not self.data_users]
        return bool(code) and not self.before.indirect

    def changed_tests_in(self, path: str) -> ChangedTests:
        """Return the tests of a changed file that differ, as far as its syntax tells."""
        if self.before.indirect or path not in self.split.test_files or not path.endswith(".py"):
            return WHOLE_FILE
        if path not in self._changed_tests:
            old, new = (texts.get(path, "") for texts in self._texts)
            self._changed_tests[path] = find_changed_tests(path, old, new)
        return self._changed_tests[path]

    @property
    def own_tests(self) -> tuple[str, ...]:
        """The tests that the change adds or edits, by id; whole files where these cannot be told apart."""
        changed = (test for path in self.test_files for test in self.changed_tests_in(path).selection(path))
        return (*changed, *self.data_users, *self._found_users)

    @property
    def replaced_tests(self) -> tuple[str, ...]:
        """The tests of the base that the change edits or removes, in the same form."""
        changed = (
            test for path in self.test_files for test in self.changed_tests_in(path).selection(path, old=True)
        )
        found = (test for test in self._found_users if self.before.has_test(test))
        return (*changed, *self.data_users, *found)

    def learn_users(self, without_sources: TestReport) -> bool:
        """Count tests that only the change's tests' side turns red as edited; tell whether there are any.

        Nothing in the text of helpers and data need say which tests are made from them.
        """
        known = match_test_ids(self.own_tests)
        red_before = {red.id for red in self.before.failures}
        self._found_users = tuple(
            red.id
            for red in without_sources.failures
            if red.when != "collect" and red.id not in red_before and not known(red.id)
        )
        return bool(self._found_users)

    def find_stable_tests(self, tests: Iterable[str]) -> list[str]:
        def is_same(test: str, path: str) -> bool:
            is_documentation = is_example(test) and path.endswith(RUST)
            return path not in self.sources if is_documentation else self.split.has_same_tests(path)

        return [test for test in tests if all(is_same(test, path) for path in self.files_of(test))]

    def _locate(self, tests: Sequence[str]) -> None:
        if unknown := [test for test in tests if test not in self._files]:
            with self.split.read("change") as new:
                locator = TestLocator(new)
                self._files |= {test: locator.find_files(test) for test in unknown}

    def has_tests_in_tree(self) -> bool:
        """Tell whether the change has any file that looks like Python tests."""
        with self.split.read("change") as tree:
            return bool(find_tests(tree))

    def first_tests(self, named: Sequence[str]) -> tuple[str, ...]:
        """Return the tests to run before all others, the same on each side: no test can tell which it is on.

        They are those that the change edits, those `named`, and those that may turn green. What another
        selects is left out, so that runs for several purposes are one.
        """
        return most_general_ids([*self.own_tests, *named, *self.find_red_candidates()])

    def find_red_candidates(self) -> tuple[str, ...]:
        """Return the red tests of the base that may turn green because of the change.

        Where ties to the issue are needed they are the tied ones; others, which decide nothing and are only
        mentioned, as long as they cost little. Tests that this machine cannot run are left out.
        """
        is_excluded = match_test_ids(self.excluded)
        reds = [result for result in self.before.failures if not is_excluded(result.id)]
        if self.ties is None:
            return tuple(result.id for result in reds)
        strong = [result.id for result in reds if self.ties.get(result.id, "identifier") != "identifier"]
        capable = [result for result in reds if not (result.failure and environment_problem(result.failure))]
        weak = [result.id for result in capable if self.ties.get(result.id) == "identifier"]
        others = [result for result in capable if result.id not in self.ties]
        is_cheap = len(others) <= MOST_UNTIED and sum(result.seconds for result in others) <= UNTIED_SECONDS
        return (*strong, *weak, *(result.id for result in others if is_cheap))

    def is_weak(self, test: str) -> bool:
        """Tell whether at most an identifier ties this test of the base to the issue.

        That its file was edited ties it only where the syntax shows that the test itself was.
        """
        if self.ties is None or match_test_ids(self.purpose.named_tests)(test) or self._is_edited(test):
            return False
        return self.ties.get(test, "identifier") == "identifier"

    def _is_edited(self, test: str) -> bool:
        """Tell whether the change adds or edits a test, as far as more than its file is known to differ."""
        changed = [self.changed_tests_in(path) for path in self.files_of(test) if path in self.test_files]
        is_known = not (changed and all(tests.is_whole for tests in changed) and self.before.has_test(test))
        return is_known and self.changes_test(test)

    @cached_property
    def _texts(self) -> tuple[dict[str, str], dict[str, str]]:
        with self.split.read("base") as base, self.split.read("change") as changed:
            return read_texts(base, self.changed, CODE), read_texts(changed, self.changed, CODE)

    @property
    def source_texts(self) -> tuple[dict[str, str], dict[str, str]]:
        old, new = ({path: texts[path] for path in self.sources if path in texts} for texts in self._texts)
        return old, new

    @cached_property
    def added_names(self) -> frozenset[str]:
        """Names that the sources define anew; as long as only tests are written, the words of the issue."""
        return find_added_names(*self.source_texts) if self.sources else find_words(self.issue)

    @cached_property
    def removed_names(self) -> frozenset[str]:
        old, new = self.source_texts
        return find_added_names(new, old)

    def rejection_reason(self, test: str, red: TestResult, *, after: TestResult | None = None) -> str:
        """Return why a test is not red on the base for the right reason; empty if it is.

        `red` is its result there, or that of its file.
        """
        return rejection_reason(
            red,
            issue=self.issue,
            is_existing_test=not self.changes_test(test),
            edited_sources=self.sources,
            added_names=self.added_names,
            after=after,
        )

    def target_kind(self, test: str) -> TargetKind:
        if match_test_ids(self.purpose.named_tests)(test):
            return "named"
        if self.is_new(test):
            return "new"
        result = self.before.result_for(test)
        if result is None:
            return "edited" if match_test_ids(self.own_tests)(test) else "existing"
        return "existing" if result.red else "edited"

    def is_off_topic(self, reds: Sequence[TestResult]) -> bool:
        """Tell whether the issue names definitions that neither the tests nor the change are about."""
        reds = [red.model_copy(update={"id": self._with_file(red.id)}) for red in reds]
        if not all(test_file_of(red.id).endswith((".py", *SUFFIXES)) for red in reds):
            return False
        names = find_edited_definitions(*self.texts_in((".py", *SUFFIXES)))
        subject = without_alternatives(self.issue)
        if names & find_words(subject) or count_terms(" ".join(names)) & count_terms(subject):
            return False
        with self.split.read("base") as base:
            if not names_definitions(subject, base):
                return False
        with self.split.read("change") as tree:
            return not any(
                shares_names(subject, red, tree) or shares_words(subject, red, tree) for red in reds
            )

    def texts_in(self, suffixes: tuple[str, ...]) -> tuple[dict[str, str], dict[str, str]]:
        """Return the changed sources in some languages on both sides, without tests inside of them."""
        old, new = (
            {
                path: replace_inline_tests(path, text, "") if path.endswith(RUST) else text
                for path, text in texts.items()
                if path.endswith(suffixes)
            }
            for texts in self.source_texts
        )
        return old, new

    def find_replaced_assertions(self, tests: Sequence[str]) -> tuple[ReplacedAssertion, ...]:
        if not tests:
            return ()
        with self.split.read("base") as base, self.split.read("change") as changed:
            paths = (*self.tests, *self.split.inline_tests)
            old, new = (read_texts(tree, paths, ("",)) for tree in (base, changed))
        return find_replaced_assertions(old, new, [*map(self._with_file, tests)])

    def find_existing_tests(self, selection: SuiteSelection) -> tuple[str, ...]:
        """Return the tests and test files of a selection, nearest first, as far as the change has them.

        Of a file that only the change's own tests tie to it these tests alone are among them, unless it lost
        some.
        """
        tests: list[str] = []
        for name in selection.files:
            changed = self.changed_tests_in(name) if name in selection.touched else WHOLE_FILE
            tests += (name,) if changed.removed else changed.selection(name)
        with self.trees.read(self.tree) as new:
            return tuple(test for test in tests if (new / test_file_of(test)).is_file())


def _selects(changed: ChangedTests, path: str, test: str) -> bool:
    """Tell whether a test, or a file that could not be collected, is among the changed ones of a file."""
    return changed.is_whole or test == path or match_test_ids((*changed.added, *changed.edited))(test)


# Ties of tests to the issue: words, examples and errors


def tie_tests_to_issue(
    issue: str, reds: Sequence[TestResult], tree: Path, tests: Collection[str]
) -> Mapping[str, IssueTie]:
    """Return how each red test is tied to the issue, by id, without tests that nothing ties.

    `tree` holds the tested code; `tests` are the ids of all tests in it. An issue that only says that tests
    fail is tied to all red ones. A test that did not get as far as to run is tied by its error alone.
    """
    reds = [result for result in reds if result.when == "call" or _names_error(issue, result)]
    bodies = {result.id: read_test_source(tree, result.id) for result in reds}
    strong = {result.id: kind for result in reds if (kind := _strong_tie(issue, result, bodies[result.id]))}
    rest = [result for result in reds if result.id not in strong]
    identifiers = {result.id: _shared_identifiers(issue, result, bodies[result.id]) for result in rest}
    distinctive = _distinctive_names(
        {name for names in identifiers.values() for name in names},
        tree,
        {test_file_of(test) for test in tests},
    )
    distinctive_words = _distinctive_words(count_terms(issue).keys(), tests)
    weak = [
        test
        for test, names in identifiers.items()
        if names & distinctive or count_terms(test.partition("::")[2]).keys() & distinctive_words
    ]
    if not strong and not weak and _SUITE_FAILS.search(issue):
        weak = [result.id for result in reds]
    return {**strong, **dict.fromkeys(weak, "identifier")}


def _names_error(issue: str, result: TestResult) -> bool:
    words = {*_WORD.findall(result.failure.message if result.failure else "")}
    return any(name in words and _is_identifier(name, issue) for name in {*_WORD.findall(issue)})


def shares_names(issue: str, result: TestResult, tree: Path) -> bool:
    """Tell whether a red test shares an example, a message or an identifier with the issue."""
    body = read_test_source(tree, result.id)
    return bool(_strong_tie(issue, result, body) or _shared_identifiers(issue, result, body))


def names_definitions(issue: str, tree: Path) -> bool:
    """Tell whether the issue uses the name of a function or class of the project as one.

    In other languages than Python any word that is such a name counts.
    """
    words = {*_WORD.findall(issue)} - STOP_WORDS
    names = {name for name in words if _is_identifier(name, issue)}
    for path in project_files(tree):
        if path.endswith(".py"):
            found = not names.isdisjoint(_DEFINED.findall(read_regular_text(tree / path)))
        else:
            found = path.endswith(SUFFIXES) and any(
                definition.bare_name in words and definition.kind != "variable"
                for definition in definitions(path, read_regular_text(tree / path))
            )
        if found:
            return True
    return False


def without_alternatives(issue: str) -> str:
    """Return an issue without what it only names as an alternative: `instead of the mean`."""
    return _ALTERNATIVE.sub(" ", issue)


def shares_words(issue: str, result: TestResult, tree: Path) -> bool:
    """Tell whether a test, or its name, has any word of the issue in one of its forms."""
    body = read_test_source(tree, result.id)
    words = count_terms(f"{result.id.partition('::')[2]}\n{body}").keys()
    return not words.isdisjoint(count_terms(issue).keys())


def _strong_tie(issue: str, result: TestResult, body: str) -> IssueTie | None:
    if _examples(issue) & _examples(body):
        return "example"
    failure = result.failure
    if failure is None:
        return None
    headline = failure.message.partition("\n")[0].strip()
    if (compared := _COMPARED.search(headline)) and all(_shows(issue, value) for value in compared.groups()):
        return "example"
    quoted = (error["message"].strip() for error in _ERROR.finditer(issue))
    is_assertion = failure.type == "AssertionError"
    if any(message in failure.message for message in quoted) or (
        not is_assertion and len(headline) >= 12 and headline in issue
    ):
        return "message"
    return None


def _shows(issue: str, value: str) -> bool:
    """Tell whether an issue has a value of a failed comparison, as it is or without its quotes."""
    text = value.strip().strip("'\"")
    return len(text) > 1 and re.search(rf"(?<!\w){re.escape(text)}(?!\w)", issue) is not None


def _examples(text: str) -> set[str]:
    """Return examples as both an issue and a test write them.

    These are calls with literal arguments, quoted values, and values such as 09:30.
    """
    calls = {re.sub(r"\s+", "", call).replace('"', "'") for call in _CALL.findall(text)}
    examples = {
        call.partition("(")[0].rpartition(".")[2] + "(" + call.partition("(")[2]
        for call in calls
        if re.search(r"[\d']", call)
    }
    examples |= {
        match["text"] for match in _QUOTED.finditer(text) if re.search(r"[^A-Za-z_.]", match["text"].strip())
    }
    return examples | set(_NUMBERED.findall(text))


def _shared_identifiers(issue: str, result: TestResult, body: str) -> set[str]:
    functions = {frame.function for frame in result.failure.own_frames} if result.failure else set()
    shared = set(_WORD.findall(issue)) & ({*_WORD.findall(body)} | functions)
    called = set(_CALLED.findall(body))
    return {
        name
        for name in shared - set(dir(builtins))
        if name in called or (name not in STOP_WORDS and _is_identifier(name, issue))
    }


def _is_identifier(name: str, issue: str) -> bool:
    """Tell whether the issue uses this word as a name.

    A name has an underscore or inner capitals, stands in backticks, or is called.
    """
    return bool(
        "_" in name
        or re.search(r"[a-z][A-Z]", name)
        or re.search(rf"`[^`\n]*\b{re.escape(name)}\b|\b{re.escape(name)}\(", issue)
    )


def _distinctive_names(names: Collection[str], tree: Path, files: Collection[str]) -> set[str]:
    if not names:
        return set()
    words = [set(_WORD.findall(read_regular_text(tree / path))) for path in files]
    limit = max(1, len(files) * DISTINCTIVE_SHARE)
    return {name for name in names if sum(name in words_in_file for words_in_file in words) <= limit}


def _distinctive_words(words: Collection[str], tests: Collection[str]) -> set[str]:
    counts = Counter(word for test in tests for word in count_terms(test.partition("::")[2]).keys() & words)
    limit = max(MOST_NAMES, len(tests) * DISTINCTIVE_SHARE)
    return {word for word, count in counts.items() if count <= limit}


def read_test_source(tree: Path, test: str) -> str:
    """Return the source of a test; its whole file where its language is unknown or it is not found there."""
    path = test_file_of(test)
    text = read_regular_text(tree / path)
    if path.endswith(".py"):
        return source_of_test(path, text, test)
    return (source_of_test(path, text, test) if path.endswith(SUFFIXES) else "") or text
