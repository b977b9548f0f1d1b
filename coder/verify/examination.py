"""Second stage of a verdict, for a change that broke nothing: behavior, linters, issue code, then mutants."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from coder.core.ports import Progress, Trials
from coder.core.verdict import BehaviorReport, Finding, LintReport
from coder.verify.change import JudgedChange
from coder.verify.example import IssueCode
from coder.verify.mutate import mutate_change
from coder.verify.report import limit_notes, shorten_test_id
from coder.verify.verdict import Facts

EXAMPLES_SHOWN = 5
MUTANT_SECONDS, LEAST_MUTANT_SECONDS = 10.0, 3.0
"""Time limits for the mutants of a fix: at most, and where its targets are quicker."""


@dataclass(frozen=True, kw_only=True)
class ExaminationTools:
    trials: Trials
    """Tries mutants."""
    checks: Callable[[Path, Path, Sequence[str]], LintReport]
    """Compares the findings of linters in an old and a new tree at some paths."""
    issue_code: IssueCode
    """Runs the code of the issue in an old and a new tree."""
    behavior: Callable[..., tuple[BehaviorReport | None, list[Finding]]] | None = None
    """Compares the answers to calls in two trees with the same tests, as `BehaviorRuns.examine` does."""
    strict: bool = False
    """Whether new findings of linters keep a fix from being PROVEN."""


def examine_change(
    change: JudgedChange, facts: Facts, tools: ExaminationTools, *, cut: Event, progress: Progress | None
) -> bool:
    """Add what behavior, linters, the issue's code and mutants show of a change that broke nothing.

    Once `cut` is set it ends soon; what a comparison of behavior saw until then says nothing. Return whether
    it came to all that decides: mutants, which come last, decide nothing.
    """
    if progress:
        progress("examining: behavior, linters and mutants")
    with change.split.checkout("base") as old, change.split.checkout("change") as new:
        sources = [path for path in change.sources if path.endswith(".py")]
        found = _compare_behavior(change, facts, tools, new, sources)
        if cut.is_set():
            return False
        facts.behavior = found[0]
        facts.findings += found[1]
        linters = tools.checks(old, new, change.changed)
        if cut.is_set():
            return False
        facts.linters = linters
        facts.note("linter", *limit_notes([*map(shorten_test_id, linters.new)]))
        if facts.targets and sources:
            _answer_quoted(change, facts, tools.issue_code, old, new)
        if tools.strict and linters.new:
            facts.leave_open(
                "linter",
                "the project's own checks find what they did not find before, and that counts here",
            )
        if cut.is_set():
            return False
        if facts.targets and change.sources:
            _try_mutants(change, facts, tools.trials, old)
    return True


def _compare_behavior(
    change: JudgedChange, facts: Facts, tools: ExaminationTools, new: Path, sources: Sequence[str]
) -> tuple[BehaviorReport | None, list[Finding]]:
    """Return what the change does to calls of the targets, and of tests that pass on both sides."""
    if tools.behavior is None or not sources:
        return None, []
    failed = {result.id for result in facts.before.results if not result.green}
    ran = facts.after.results if facts.after else ()
    passing = [result.id for result in ran if result.outcome == "passed" and result.id not in failed]
    with change.split.checkout("tests") as base:
        return tools.behavior(base, new, sources, targets=facts.targets, tests=passing)


def _answer_quoted(change: JudgedChange, facts: Facts, issue_code: IssueCode, old: Path, new: Path) -> None:
    """Show first what the issue's own code gives on both sides, as far as behavior was compared."""
    answers = issue_code.answer_quoted(old, new, change.issue, facts.targets, change.sources)
    facts.cap("persisting-error", *answers.persisting)
    if facts.behavior is not None:
        told = {(example.before, example.after) for example in answers.examples}  # in two spellings
        rest = [row for row in facts.behavior.examples if (row.before, row.after) not in told]
        shown = (*answers.examples, *rest)[:EXAMPLES_SHOWN]
        facts.behavior = facts.behavior.model_copy(update={"examples": shown})


def _try_mutants(change: JudgedChange, facts: Facts, trials: Trials, old: Path) -> None:
    """Mutate the change, in a tree of its own, and note which mutants no target notices, hunks first."""
    seconds = max(LEAST_MUTANT_SECONDS, min(MUTANT_SECONDS, facts.target_seconds))
    with change.split.checkout("change") as tree:
        facts.mutation = mutate_change(
            old, tree, change.sources, tests=facts.targets, trials=trials, seconds=seconds
        )
    places = sorted(facts.mutation.survivors if facts.mutation else (), key=lambda row: not row.whole_hunk)
    notes = [
        f"{row.path}:{row.line}: the tests that turned green pass, too, when it {row.what}" for row in places
    ]
    facts.note("survivor", *limit_notes(notes))
