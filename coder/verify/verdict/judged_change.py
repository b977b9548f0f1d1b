"""The change under judgement: its tree, what it touches, and the base's results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from coder.core.values.paths import is_test_path, match_test_ids, test_file_of
from coder.core.values.verdict import IssueTie, TestReport
from coder.verify.impact.test_selection import SuiteSelection
from coder.verify.results.comparison import shorten_test_id
from coder.verify.verdict.base_tests import BaseTests
from coder.verify.verdict.runs import WHOLE, Runs, SuiteLimits, Trees
from coder.workspace.files import format_count


@dataclass(kw_only=True)
class JudgedChange:
    """One change, as all steps of its judgement see it."""

    trees: Trees
    tree: str
    """The git tree with the change."""
    issue: str
    before: TestReport
    """The base's results of the suite or of the part that stands for it; with `base`, as far as known."""
    base: BaseTests | None = None
    """Runs tests of the base on demand; None where `before` is complete."""
    part: SuiteSelection | None = None
    """Test files that stand for the suite; None is the whole."""
    fallback: SuiteSelection | None = None
    """Test files that stand for the suite if it turns out to take too long."""
    limits: SuiteLimits = WHOLE
    ties: Mapping[str, IssueTie] | None = None
    """Ties of red tests of the base to the issue, by test id; None if no tie is needed."""
    asked: tuple[str, ...] = ()
    """Tests that the user named."""
    extensions: tuple[str, ...] = ()
    """Paths of extension modules that were built from each side's own sources."""
    changed: tuple[str, ...] = field(init=False)
    """Paths of all changed files."""
    tests: tuple[str, ...] = field(init=False)
    sources: tuple[str, ...] = field(init=False)
    """Changed files that are no tests."""

    def __post_init__(self) -> None:
        self.changed = self.trees.changed_paths(self.tree)
        self.tests = tuple(path for path in self.changed if is_test_path(path))
        self.sources = tuple(path for path in self.changed if not is_test_path(path))

    def complete_before(self, report: TestReport, files: Sequence[str], runs: Runs) -> None:
        """Make sure that `before` has what a comparison with a report on these files needs (none: all)."""
        if self.base is not None:
            self.before = self.base.complete(self.before, report, files, runs)

    def is_weak(self, test: str) -> bool:
        """Tell whether at most an identifier ties this test of the base to the issue."""
        if self.ties is None or match_test_ids(self.asked)(test) or test_file_of(test) in self.tests:
            return False
        return self.ties.get(test, "identifier") == "identifier"

    def find_untied(self, targets: Sequence[str]) -> list[str]:
        """Return the targets if nothing ties any of them to the issue."""
        loose = [
            test
            for test in targets
            if self.is_weak(test) and test not in (self.ties or {}) and self.before.has_test(test)
        ]
        return loose if len(loose) == len(targets) else []

    def impacted_files(self) -> list[str]:
        """Return the test files that stand for the suite, as far as the change has them."""
        with self.trees.checkout(self.tree) as new:
            return [path for path in (self.part.files if self.part else ()) if (new / path).is_file()]

    def describe_scope(self, after: TestReport | None) -> str:
        """Return what was searched for new failures, as the end of a sentence."""
        if self.part is None or after is None:
            return "nothing that passed before fails now"
        files = f"{len(self.part.files)} of {self.part.total} test files"
        return f"no new failures in {format_count(len(after.results), 'impacted test')} ({files})"

    def find_gaps(self, targets: Sequence[str], after: TestReport) -> list[str]:
        """Return what was not run on either side, half a sentence each."""
        gaps = []
        if self.part is not None and self.limits.whole_seconds is None:
            gaps.append("the whole suite takes longer than its limit")
        suite = "suite" if self.part is None else "impacted tests"
        for report, side in ((self.before, "on the base"), (after, "on the change")):
            if report.problem is not None and report.problem.kind == "timeout":
                gaps.append(f"only a part of the {suite} could be run {side}: {report.problem.text}")
        was_cut = after.problem is not None and after.problem.kind == "timeout"
        unseen = [shorten_test_id(target) for target in targets if after.result_for(target) is None]
        if unseen and not was_cut:
            gaps.append(f"the suite as it is run does not run {', '.join(unseen[:3])}")
        return gaps
