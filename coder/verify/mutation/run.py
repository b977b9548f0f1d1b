"""Mutation testing in a warm process."""

import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from coder.core.paths import test_file_of
from coder.core.verdict import MutationReport, TestReport
from coder.verify.impact.import_graph import transitive_importers
from coder.verify.mutation.mutants import mutate_change, mutate_sources
from coder.verify.warm.warm_tests import WarmRefusal, WarmRunner

SECONDS = 10.0
"""Time limit for all mutants together, after collection."""


def mutate_verified_change(
    old: Path,
    new: Path,
    changed: Sequence[str],
    *,
    targets: Sequence[str],
    after: TestReport,
    warm: WarmRunner,
) -> MutationReport | None:
    """Run the targets and the tests that reach the change on mutants of it.

    `changed` are the sources that differ between the trees; `warm` runs the tests of `new`, where `after` is
    the report of the suite. None if a warm process cannot run them.
    """
    texts = {path: _read(new / path) for path in changed if path.endswith(".py") and (new / path).is_file()}
    if not texts or not targets or not _all_green(warm, {}, targets, SECONDS):
        return None
    deadline = time.monotonic() + SECONDS
    other_tests = [result.id for result in after.results if result.green and result.id not in targets]
    impacted_tests = cache(lambda: _tests_importing(new, [*texts], other_tests))

    def notices(variant: Mapping[str, str]) -> bool | None:
        green = _all_green(warm, variant, targets, deadline - time.monotonic())
        if green and impacted_tests():
            green = _all_green(warm, variant, impacted_tests(), deadline - time.monotonic())
        return None if green is None else not green

    return mutate_change(
        {path: _read(old / path) for path in texts},
        texts,
        notices,
        has_time=lambda: time.monotonic() < deadline,
    )


def mutate_for_new_tests(
    tree: Path, sources: Sequence[str], tests: Sequence[str], warm: WarmRunner, *, seconds: float = SECONDS
) -> MutationReport | None:
    """Run `tests` on mutants of the given sources; None if a warm process cannot run them."""
    if not tests or not _all_green(warm, {}, tests, SECONDS):
        return None
    deadline = time.monotonic() + seconds
    texts = {path: _read(tree / path) for path in sources}

    def notices(variant: Mapping[str, str]) -> bool | None:
        green = _all_green(warm, variant, tests, deadline - time.monotonic())
        return None if green is None else not green

    return mutate_sources(texts, notices, has_time=lambda: time.monotonic() < deadline)


def _all_green(
    warm: WarmRunner, edits: Mapping[str, str], tests: Sequence[str], seconds: float
) -> bool | None:
    """Tell whether all tests pass with these edits; None if that cannot be determined."""
    ran = warm.run(edits, tests, seconds=max(seconds, 0.1), until_red=True)
    if isinstance(ran, WarmRefusal):
        return None
    if ran.report.failures or (ran.report.problem is not None and ran.report.problem.kind == "crash"):
        return False
    return True if ran.report.problem is None else None


def _tests_importing(tree: Path, changed: Sequence[str], tests: Sequence[str]) -> tuple[str, ...]:
    """Return the tests whose files import the changed ones, directly or indirectly."""
    files = transitive_importers(tree, changed)
    return tuple(test for test in tests if test_file_of(test) in files)


def _read(file: Path) -> str:
    return file.read_bytes().decode("utf-8", "replace") if file.is_file() else ""
