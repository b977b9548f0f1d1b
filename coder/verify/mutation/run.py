"""Asks a warm process how closely the tests watch a change."""

import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from coder.core.values.paths import file_of
from coder.core.values.verdict import Guarded, TestReport
from coder.verify.impact.import_graph import importing
from coder.verify.mutation.mutants import guard, weighed
from coder.verify.warm.warm_tests import Cold, WarmRunner

SECONDS = 10.0
"""For all variants together, once the tests are collected."""


def watched(
    old: Path,
    new: Path,
    changed: Sequence[str],
    *,
    targets: Sequence[str],
    after: TestReport,
    warm: WarmRunner,
) -> Guarded | None:
    """Make the change otherwise, a place at a time; None where a warm process cannot tell.

    `changed` are the sources that differ between the trees; `warm` runs the tests of `new`, where `after` was the suite.
    """
    texts = {path: _text(new / path) for path in changed if path.endswith(".py") and (new / path).is_file()}
    if not texts or not targets or not _all_green(warm, {}, targets, SECONDS):
        return None
    over = time.monotonic() + SECONDS
    rest = [result.id for result in after.results if result.green and result.id not in targets]
    reaching = cache(lambda: _reaching(new, [*texts], rest))

    def notices(variant: Mapping[str, str]) -> bool | None:
        green = _all_green(warm, variant, targets, over - time.monotonic())
        if green and reaching():
            green = _all_green(warm, variant, reaching(), over - time.monotonic())
        return None if green is None else not green

    return guard(
        {path: _text(old / path) for path in texts}, texts, notices, in_time=lambda: time.monotonic() < over
    )


def killed(tree: Path, sources: Sequence[str], tests: Sequence[str], warm: WarmRunner) -> Guarded | None:
    """Make these sources wrong, a place at a time, and see which of it the tests notice; None where a warm process cannot tell."""
    if not tests or not _all_green(warm, {}, tests, SECONDS):
        return None
    over = time.monotonic() + SECONDS
    texts = {path: _text(tree / path) for path in sources}

    def notices(variant: Mapping[str, str]) -> bool | None:
        green = _all_green(warm, variant, tests, over - time.monotonic())
        return None if green is None else not green

    return weighed(texts, notices, in_time=lambda: time.monotonic() < over)


def _all_green(
    warm: WarmRunner, edits: Mapping[str, str], tests: Sequence[str], seconds: float
) -> bool | None:
    """None: not known."""
    ran = warm.run(edits, tests, seconds=max(seconds, 0.1), until_red=True)
    if isinstance(ran, Cold):
        return None
    if ran.report.reds or (ran.report.problem is not None and ran.report.problem.kind == "crash"):
        return False
    return True if ran.report.problem is None else None


def _reaching(tree: Path, changed: Sequence[str], tests: Sequence[str]) -> tuple[str, ...]:
    """The tests whose files import the changed ones, however indirectly."""
    files = importing(tree, changed)
    return tuple(test for test in tests if file_of(test) in files)


def _text(file: Path) -> str:
    return file.read_bytes().decode("utf-8", "replace") if file.is_file() else ""
