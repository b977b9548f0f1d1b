"""What else is known of a change that broke nothing: how closely tests watch it, what linters, callers and the issue's code say of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from coder.core.ports.sandbox import Progress
from coder.core.values.paths import file_of, is_test_path
from coder.core.values.verdict import Checked, Guarded, TestReport, Verdict, VerdictKind
from coder.verify.impact.import_graph import imported_by
from coder.verify.mutation.run import killed, watched
from coder.verify.results.comparison import short
from coder.verify.review.api_diff import surface_changes
from coder.verify.review.issue_scripts import Shown
from coder.verify.warm.warm_tests import WarmRunner

SHOWN = 4
LEAST_MUTANTS = 3
"""Fewer that go unnoticed say nothing of a test."""


@dataclass(frozen=True, kw_only=True)
class Instruments:
    """What an examination asks."""

    warm: Callable[[Path, Sequence[str]], WarmRunner]
    """Keeps the tests of a tree ready."""
    checks: Callable[[Path, Path, Sequence[str]], Checked]
    """Compares what linters find in an old and a new tree at some paths."""
    scripts: Callable[[Path, Path, Sequence[str], str], Shown]
    """Runs the code of an issue in an old and a new tree."""
    strict: bool = False
    """What linters newly find is no PROVEN fix."""


@dataclass(frozen=True, kw_only=True)
class Examined:
    """One change in two trees, with its verdict and the reports of the suite on both."""

    old: Path
    new: Path
    changed: Sequence[str]
    verdict: Verdict
    before: TestReport
    after: TestReport

    @property
    def paths(self) -> tuple[str, ...]:
        """The test files that stand for the suite; empty where it was run as a whole."""
        if self.verdict.scope == "whole":
            return ()
        return tuple(
            dict.fromkeys(
                file for result in self.after.results if (self.new / (file := file_of(result.id))).is_file()
            )
        )

    @property
    def sources(self) -> list[str]:
        return [path for path in self.changed if not is_test_path(path)]


def examine(change: Examined, instruments: Instruments, *, issue: str, progress: Progress | None) -> Verdict:
    """The verdict, with what was seen in its notes; a module that cannot be imported any more makes it BROKEN."""
    verdict = change.verdict
    told = progress or (lambda _line: None)
    told("guard: what of the change would no test miss?")
    guarded = _guarded(change, instruments)
    told("checks: what do linters newly find?")
    checked = instruments.checks(change.old, change.new, change.changed)
    notes = [
        *_unguarded(guarded if verdict.targets else None),
        *_kills(guarded if not verdict.targets else None),
        *_cut(checked.new),
    ]
    notes += _cut(surface_changes(_texts(change.old, change.sources), _texts(change.new, change.sources)))
    shown = Shown() if verdict.targets else instruments.scripts(change.old, change.new, change.changed, issue)
    notes += [f"the issue's own code failed before and works now: `{line}`" for line in shown.fixed]
    notes += [f"the issue's own code fails as before: `{line}`" for line in shown.failing]
    notes += [f"`{command}` failed before and passes now" for command in checked.mended]
    notes += [f"`{command}` fails as before" for command in checked.failing]
    verdict = verdict.model_copy(
        update={"guarded": guarded, "checked": checked, "notes": (*verdict.notes, *notes)}
    )
    if verdict.kind is VerdictKind.PROVEN and _is_unwatched(change, guarded):
        reason = f"{verdict.reason.rstrip('.')}, but the new tests notice none of {guarded.mutants if guarded else 0} ways to change the fix."
        verdict = verdict.model_copy(update={"kind": VerdictKind.PASSING, "reason": reason})
    if checked.broken:
        reason = f"The change of the configuration breaks {', '.join(f'`{command}`' for command in checked.broken)}, which passed before."
        return verdict.model_copy(update={"kind": VerdictKind.BROKEN, "reason": reason})
    if shown.lost:
        reason = f"The change breaks the import of {', '.join(shown.lost)}."
        return verdict.model_copy(update={"kind": VerdictKind.BROKEN, "reason": reason})
    if instruments.strict and checked.new and verdict.kind is VerdictKind.PROVEN:
        reason = f"{verdict.reason.rstrip('.')}, but the project's own checks find what they did not find before, and that counts here."
        return verdict.model_copy(update={"kind": VerdictKind.PASSING, "reason": reason})
    return verdict


def _is_unwatched(change: Examined, guarded: Guarded | None) -> bool:
    """Do the targets, all of them new, notice no mutant of the change?"""
    are_new = change.before.problem is None and all(
        change.before.of(target) is None for target in change.verdict.targets
    )
    return are_new and guarded is not None and guarded.mutants >= LEAST_MUTANTS and guarded.caught == 0


def _guarded(change: Examined, instruments: Instruments) -> Guarded | None:
    """How closely the targets and whatever reaches the change watch it; of a change to tests alone, what these would notice."""
    added = [
        result.id for result in change.after.results if result.green and change.before.of(result.id) is None
    ]
    if change.verdict.targets and change.sources:
        with instruments.warm(change.new, change.paths) as warm:
            return watched(
                change.old,
                change.new,
                change.sources,
                targets=change.verdict.targets,
                after=change.after,
                warm=warm,
            )
    if added and not change.sources and change.before.problem is None:
        with instruments.warm(change.new, change.paths) as warm:
            return killed(change.new, imported_by(change.new, sorted(set(map(file_of, added)))), added, warm)
    return None


def _unguarded(guarded: Guarded | None) -> list[str]:
    """What nobody would miss, half a sentence each, the hunks first."""
    loose = sorted(guarded.unguarded if guarded else (), key=lambda place: not place.whole_hunk)
    return _cut([f"no test notices when {place.path}:{place.line} {place.what}" for place in loose])


def _kills(guarded: Guarded | None) -> list[str]:
    if guarded is None or not guarded.tried:
        return []
    return [
        f"the new tests notice {guarded.tried - len(guarded.unguarded)} of {guarded.tried} ways to break what they import"
    ]


def _cut(told: Sequence[str]) -> list[str]:
    lines = [short(line) for line in told]
    return (
        lines
        if len(lines) <= SHOWN
        else [*lines[:SHOWN], f"{len(lines) - SHOWN} more of this kind, in the evidence"]
    )


def _texts(tree: Path, paths: Sequence[str]) -> dict[str, str]:
    files = {path: tree / path for path in paths if path.endswith(".py")}
    return {
        path: file.read_text(encoding="utf-8", errors="replace")
        for path, file in files.items()
        if file.is_file()
    }
