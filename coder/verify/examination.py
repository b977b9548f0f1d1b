"""Second stage of a verdict, for a change that broke nothing: behavior, linters, issue code, then mutants."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Protocol

from coder.core.ports import Progress, Trials
from coder.core.verdict import (
    BehaviorExample,
    BehaviorReport,
    Finding,
    LintReport,
    MutationReport,
)
from coder.verify.example import IssueCode
from coder.verify.mutate import mutate_change
from coder.verify.report import shorten_test_id
from coder.verify.trees import Side
from coder.verify.verdict import Facts

NOTES_SHOWN = 4
EXAMPLES_SHOWN = 5
MUTANT_SECONDS, LEAST_MUTANT_SECONDS = 10.0, 3.0
"""Time limits for the mutants of a fix: at most, and where its targets are quicker."""


class CompareBehavior(Protocol):
    def __call__(
        self,
        base: Path,
        change: Path,
        sources: Sequence[str],
        *,
        targets: Sequence[str],
        tests: Sequence[str],
    ) -> tuple[BehaviorReport | None, list[Finding]]:
        """Return what differs, and what keeps the change from being proven."""
        ...


@dataclass(frozen=True, kw_only=True)
class ExaminationTools:
    trials: Trials
    """Tries mutants."""
    checks: Callable[[Path, Path, Sequence[str]], LintReport]
    """Compares the findings of linters in an old and a new tree at some paths."""
    issue_code: IssueCode
    """Runs the code of the issue in an old and a new tree."""
    behavior: CompareBehavior | None = None
    """Compares the answers to calls in two trees with the same tests."""
    strict: bool = False
    """Whether new findings of linters keep a fix from being PROVEN."""


@dataclass(frozen=True, kw_only=True)
class ExaminedChange:
    """A change in two trees, with its verdict and the reports of the suite on both."""

    old: Path
    new: Path
    checkout: Callable[[Side], AbstractContextManager[Path]]
    """Checks out one side of the change in a tree of its own, which may be written to."""
    changed: Sequence[str]
    sources: Sequence[str]
    """Changed paths that are not tests."""
    facts: Facts
    """Facts of a change that broke nothing, with a report on it."""


def examine_change(
    change: ExaminedChange, tools: ExaminationTools, *, cut: Event, issue: str, progress: Progress | None
) -> bool:
    """Add what behavior, linters, the issue's code and mutants show of a change that broke nothing.

    Once `cut` is set it ends soon; what a comparison of behavior saw until then says nothing. Return whether
    it came to all that decides: mutants, which come last, decide nothing.
    """
    facts = change.facts
    report_progress = progress or (lambda _line: None)
    report_progress("examining: behavior, linters and mutants")
    behavior, found = _compare_behavior(change, tools)
    if cut.is_set():
        behavior, found = None, []
    linters = LintReport() if cut.is_set() else tools.checks(change.old, change.new, change.changed)
    facts.findings += found
    facts.behavior = behavior
    if cut.is_set():
        return False
    facts.linters = linters
    facts.note("linter", *_limit(linters.new))
    if facts.targets and any(path.endswith(".py") for path in change.sources):
        answers = tools.issue_code.answer_quoted(change.old, change.new, issue, facts.targets, change.sources)
        facts.cap("persisting-error", *answers.persisting)
        _show_first(facts, answers.examples)
    if tools.strict and linters.new:
        facts.leave_open(
            "linter",
            "the project's own checks find what they did not find before, and that counts here",
        )
    if cut.is_set():
        return False
    _examine_mutants(change, tools)
    return True


def _examine_mutants(change: ExaminedChange, tools: ExaminationTools) -> None:
    """Note which mutants no test notices."""
    mutation = change.facts.mutation = _run_mutants(change, tools)
    change.facts.note("survivor", *_survivor_notes(mutation))


def _compare_behavior(
    change: ExaminedChange, tools: ExaminationTools
) -> tuple[BehaviorReport | None, list[Finding]]:
    """Return what the change does to calls of the targets, and of tests that pass on both sides."""
    sources = [path for path in change.sources if path.endswith(".py")]
    if tools.behavior is None or not sources:
        return None, []
    failed = {result.id for result in change.facts.before.results if not result.green}
    ran = change.facts.after.results if change.facts.after else ()
    passing = [result.id for result in ran if result.outcome == "passed" and result.id not in failed]
    with change.checkout("tests") as base:
        return tools.behavior(base, change.new, sources, targets=change.facts.targets, tests=passing)


def _show_first(facts: Facts, examples: Sequence[BehaviorExample]) -> None:
    report = facts.behavior
    if report is None or not examples:
        return
    told = {(example.before, example.after) for example in examples}  # a call may be spelt in two ways
    rest = (example for example in report.examples if (example.before, example.after) not in told)
    facts.behavior = report.model_copy(update={"examples": (*examples, *rest)[:EXAMPLES_SHOWN]})


def _run_mutants(change: ExaminedChange, tools: ExaminationTools) -> MutationReport | None:
    """Mutate the change, in a tree of its own, and run the targets.

    None if nothing can be mutated or run.
    """
    tests = tuple(change.facts.targets)
    seconds = min(MUTANT_SECONDS, change.facts.target_seconds)
    if not tests or not change.sources:
        return None
    with change.checkout("change") as tree:
        return mutate_change(
            change.old,
            tree,
            change.sources,
            tests=tests,
            trials=tools.trials,
            seconds=max(LEAST_MUTANT_SECONDS, seconds),
        )


def _survivor_notes(mutation: MutationReport | None) -> list[str]:
    """Describe surviving mutants, half a sentence each, hunks first."""
    survivors = sorted(mutation.survivors if mutation else (), key=lambda place: not place.whole_hunk)
    return _limit(
        [f"untested: {place.path}:{place.line} (no test fails when it {place.what})" for place in survivors]
    )


def _limit(findings: Sequence[str]) -> list[str]:
    lines = [shorten_test_id(line) for line in findings]
    return (
        lines
        if len(lines) <= NOTES_SHOWN
        else [*lines[:NOTES_SHOWN], f"{len(lines) - NOTES_SHOWN} more of this kind, in the evidence"]
    )
