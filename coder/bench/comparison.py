"""Comparison of two runs of a suite, task by task."""

from collections.abc import Sequence

from coder.bench.outcome import Outcome
from coder.bench.tables import hidden_test_label, markdown_table, verdict_label
from coder.core.values.base import Value

JobKey = tuple[str, str, str, int]


class Difference(Value):
    """One job with a different result, or that only one of the runs has."""

    task: str
    strategy: str
    model: str
    seed: int
    before: str
    after: str


class Comparison(Value):
    """Changes from one run of a suite to another."""

    compared: int
    gained: int
    """Jobs that pass the hidden tests now and did not before."""
    lost: int
    differences: tuple[Difference, ...]

    @property
    def sentence(self) -> str:
        if not self.differences:
            return f"{self.compared} runs compared: identical but for times."
        return (
            f"{self.compared} runs compared: {len(self.differences)} differ, {self.gained} solved now, "
            f"{self.lost} solved no longer."
        )


def compare_runs(before: Sequence[Outcome], after: Sequence[Outcome]) -> Comparison:
    """Compare two runs of a suite."""
    old, new = ({_job_key(outcome): outcome for outcome in run} for run in (before, after))
    common = [key for key in sorted(new) if key in old]
    all_differences = [_difference(key, old.get(key), new.get(key)) for key in sorted({*old, *new})]
    return Comparison(
        compared=len(common),
        gained=sum(new[key].passes_hidden and not old[key].passes_hidden for key in common),
        lost=sum(old[key].passes_hidden and not new[key].passes_hidden for key in common),
        differences=tuple(difference for difference in all_differences if difference),
    )


def _job_key(outcome: Outcome) -> JobKey:
    return outcome.job.task, outcome.job.strategy, outcome.job.model, outcome.job.seed


def _difference(key: JobKey, old: Outcome | None, new: Outcome | None) -> Difference | None:
    if old and new and old.stable_fields() == new.stable_fields():
        return None
    before, after = _describe_outcome(old), _describe_outcome(new)
    if before == after and old and new:
        names = [name for name, value in new.stable_fields().items() if value != old.stable_fields()[name]]
        after += f" (other {', '.join(names)})"
    task, strategy, model, seed = key
    return Difference(task=task, strategy=strategy, model=model, seed=seed, before=before, after=after)


def _describe_outcome(outcome: Outcome | None) -> str:
    if outcome is None:
        return "not run"
    counts = ((outcome.attempts, "attempt"), (outcome.spent.requests, "request"))
    return ", ".join(
        [
            verdict_label(outcome),
            f"hidden tests: {hidden_test_label(outcome)}",
            *(f"{count} {name}{'s' * (count != 1)}" for count, name in counts),
        ]
    )


def comparison_markdown(comparison: Comparison) -> str:
    """Return the summary sentence and a table with a row for each difference."""
    rows = [
        (
            difference.task,
            difference.strategy,
            difference.model,
            str(difference.seed),
            difference.before,
            difference.after,
        )
        for difference in comparison.differences
    ]
    head = ("task", "strategy", "model", "seed", "before", "now")
    return f"{comparison.sentence}\n" + (f"\n{markdown_table(head, rows)}\n" if rows else "")
