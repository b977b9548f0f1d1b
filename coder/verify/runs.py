"""The runs of tests on the way to one verdict, each in a clean worktree of its own."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from coder.core.ports import Progress, TestRunner
from coder.core.verdict import Run, TestReport
from coder.verify.evidence import run_of
from coder.verify.runner import labelled


class Trees(Protocol):
    """What the proof needs of a repository."""

    @property
    def base(self) -> str: ...

    def checkout(self, tree: str, paths: Sequence[str] | None = None) -> AbstractContextManager[Path]:
        """A clean worktree at `base` with the content of `tree`, all of it or at `paths` only; gone on exit."""
        ...

    def changed(self, tree: str) -> tuple[str, ...]: ...


class Runs:
    """Runs tests on one change and on its base, and keeps account of it."""

    def __init__(self, *, trees: Trees, runner: TestRunner, tree: str, sources: Sequence[str], progress: Progress | None) -> None:
        """`tree` is the change; where a file of `sources` is loaded from elsewhere, a run says nothing."""
        self._trees = trees
        self._runner = runner
        self._tree = tree
        self._sources = sources
        self._progress = progress
        self.made: list[Run] = []

    def on_change(self, label: str, tests: Sequence[str]) -> TestReport:
        return self.run(label, self._tree, None, tests)

    def on_base(self, label: str, tests: Sequence[str]) -> TestReport:
        return self.run(label, self._trees.base, (), tests)

    def run(self, label: str, tree: str, paths: Sequence[str] | None, tests: Sequence[str]) -> TestReport:
        """Run tests, or the whole suite, on the base with what `tree` has at `paths`, or everywhere."""
        with self._trees.checkout(tree, paths) as place:
            sources = [path for path in self._sources if (place / path).is_file()]
            report = self._runner.run(place, tests, expect_loaded=sources, progress=labelled(label, self._progress))
        self.made.append(run_of(label, tests, report))
        return report
