"""Summary of a benchmark on the bugs that the user's own repository had."""

from collections.abc import Sequence
from pathlib import Path

from coder.bench.runner import NO_MODEL_NAME, Outcome
from coder.bench.tables import GroupSummary, summarize_outcomes
from coder.wiring.strategy_record import StrategyResult, write_results


def describe_own_bugs(outcomes: Sequence[Outcome]) -> str:
    """Return one sentence, such as `31 bugs of this repository: model A solves 22 at $0.31 each, ...`."""
    groups = summarize_outcomes(outcomes)
    models = [group.model for group in groups]
    count = len({outcome.job.task for outcome in outcomes})
    parts = [
        f"{_label(group, is_only=models.count(group.model) == 1)} solves {group.solved.count}"
        f"{'' if group.solved.of == count else f' of {group.solved.of} runs'} at {_format_mean(group)} each"
        for group in sorted(groups, key=lambda group: -group.solved.value)
    ]
    return f"{count} bug{'s' * (count != 1)} of this repository: {', '.join(parts)}."


def remember_results(root: Path, outcomes: Sequence[Outcome]) -> None:
    """Store what each strategy solved with each model, for `auto`."""
    write_results(
        root,
        [
            StrategyResult(
                strategy=group.strategy,
                model=group.model,
                solved=group.solved.count,
                of=group.solved.of,
                usd=None if group.usd is None else float(group.usd),
            )
            for group in summarize_outcomes(outcomes)
        ],
    )


def _label(group: GroupSummary, *, is_only: bool) -> str:
    if group.model == NO_MODEL_NAME:
        return "no model"
    return group.model if is_only else f"{group.model} with {group.strategy}"


def _format_mean(group: GroupSummary) -> str:
    if group.model == NO_MODEL_NAME:
        return "$0"
    return "an unknown price" if group.usd is None else f"${group.usd:.2f}"
