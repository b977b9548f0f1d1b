"""The change under judgement: its tree, what it touches, and the base's results."""

from dataclasses import dataclass, field

from coder.core.values.paths import is_test_path
from coder.core.values.verdict import TestReport
from coder.verify.impact.test_selection import SuiteSelection
from coder.verify.verdict.runs import WHOLE, SuiteLimits, Trees
from coder.workspace.files import format_count


@dataclass(frozen=True, kw_only=True)
class JudgedChange:
    """One change, as all steps of its judgement see it."""

    trees: Trees
    tree: str
    """The git tree with the change."""
    issue: str
    before: TestReport
    """The base's results of the suite, or of the part that stands for it."""
    part: SuiteSelection | None = None
    """Test files that stand for the suite; None is the whole."""
    limits: SuiteLimits = WHOLE
    changed: tuple[str, ...] = field(init=False)
    """Paths of all changed files."""
    tests: tuple[str, ...] = field(init=False)
    sources: tuple[str, ...] = field(init=False)
    """Changed files that are no tests."""

    def __post_init__(self) -> None:
        changed = self.trees.changed_paths(self.tree)
        object.__setattr__(self, "changed", changed)
        object.__setattr__(self, "tests", tuple(path for path in changed if is_test_path(path)))
        object.__setattr__(self, "sources", tuple(path for path in changed if not is_test_path(path)))

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
