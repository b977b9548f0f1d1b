"""Summary, tables, comparison and predictions of benchmark runs."""

import csv
import io
import json
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

from coder.bench.runner import NO_MODEL_NAME, Outcome
from coder.core.values import Value

V = TypeVar("V")


def results_markdown(outcomes: Sequence[Outcome]) -> str:
    """Return a table with a row for each strategy and model, then one with a row for each run."""
    groups = [_row(GROUP_COLUMNS, group) for group in summarize_outcomes(outcomes)]
    runs = [_row(RUN_COLUMNS, outcome) for outcome in sort_outcomes(outcomes)]
    note = (
        "Shares are of the tasks that can be solved, with 95 % intervals (Wilson); attempts and what "
        "follows are means of a run."
    )
    tables = markdown_table([*GROUP_COLUMNS], groups), markdown_table([*RUN_COLUMNS], runs)
    return f"{tables[0]}\n\n{note}\n\n{tables[1]}\n"


def _row(columns: Mapping[str, Callable[[V], object]], value: V) -> list[str]:
    return [str(cell(value)) for cell in columns.values()]


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def sort_outcomes(outcomes: Sequence[Outcome]) -> list[Outcome]:
    return sorted(outcomes, key=_job_key)


class Share(Value):
    """Count out of a total, with Wilson's interval (E. B. Wilson, 1927)."""

    count: int
    of: int
    low: float
    high: float

    @property
    def value(self) -> float:
        return self.count / self.of if self.of else 0.0


def format_share(share: Share) -> str:
    """Format a share, such as `7 of 11 (64 %, 35 to 85)`."""
    if share.of == 0:
        return "none"
    return (
        f"{share.count} of {share.of} ({100 * share.value:.0f} %, {100 * share.low:.0f} to "
        f"{100 * share.high:.0f})"
    )


class GroupSummary(Value):
    strategy: str
    model: str
    runs: int
    proven: Share
    """Share of the solvable tasks."""
    fixed: Share
    """Share of the solvable tasks that are FIXED or PROVEN."""
    solved: Share
    """Share of the solvable tasks, by the hidden tests."""
    wrongly_proven: int
    """Count among all runs."""
    wrongly_fixed: int
    """Count among all runs of changes delivered as FIXED or PROVEN."""
    left_alone: Share
    """Share of the unsolvable tasks for which nothing was delivered."""
    attempts: float
    """Mean of all runs, like the fields below."""
    requests: float
    usd: Decimal | None
    """None if a price is unknown."""
    seconds: float
    tokens: tuple[float, float, float]
    """Sent, cached, received."""


def format_usd(usd: object) -> str:
    return "not known" if usd is None else f"{usd:.4f}"


def verdict_label(outcome: Outcome) -> str:
    return outcome.verdict.value if outcome.verdict else "failed"


def hidden_test_label(outcome: Outcome) -> str:
    """Describe the result of the hidden tests in a few words."""
    if not outcome.delivered:
        return "nothing delivered"
    if outcome.hidden_problem:
        return f"could not be run: {outcome.hidden_problem}"
    return (
        "pass"
        if outcome.passes_hidden
        else f"{outcome.hidden.failed} fail"
        if outcome.hidden.failed
        else "could not be run"
    )


def _roles_json(outcome: Outcome) -> str:
    return json.dumps({role: spent.model_dump(mode="json") for role, spent in sorted(outcome.roles.items())})


GROUP_COLUMNS: Mapping[str, Callable[[GroupSummary], object]] = {
    "strategy": lambda group: group.strategy,
    "model": lambda group: group.model,
    "runs": lambda group: group.runs,
    "PROVEN": lambda group: format_share(group.proven),
    "PROVEN or FIXED": lambda group: format_share(group.fixed),
    "solved by hidden tests": lambda group: format_share(group.solved),
    "wrongly PROVEN": lambda group: group.wrongly_proven,
    "wrongly FIXED": lambda group: group.wrongly_fixed,
    "rightly left alone": lambda group: format_share(group.left_alone),
    "attempts": lambda group: f"{group.attempts:.1f}",
    "requests": lambda group: f"{group.requests:.1f}",
    "tokens in, cached, out": lambda group: ", ".join(f"{count:.0f}" for count in group.tokens),
    "USD": lambda group: format_usd(group.usd),
    "seconds": lambda group: f"{group.seconds:.1f}",
}
JOB_COLUMNS: Mapping[str, Callable[[Outcome], object]] = {
    "task": lambda outcome: outcome.job.task,
    "strategy": lambda outcome: outcome.job.strategy,
    "model": lambda outcome: outcome.job.model,
    "seed": lambda outcome: outcome.job.seed,
}
RUN_COLUMNS: Mapping[str, Callable[[Outcome], object]] = {
    **JOB_COLUMNS,
    "verdict": verdict_label,
    "hidden tests": hidden_test_label,
    "attempts": lambda outcome: outcome.attempts,
    "requests": lambda outcome: outcome.spent.requests,
    "tokens": lambda outcome: outcome.spent.input_tokens + outcome.spent.output_tokens,
    "USD": lambda outcome: format_usd(outcome.spent.cost_usd),
    "seconds": lambda outcome: f"{outcome.seconds:.1f}",
    "explanation": lambda outcome: "" if outcome.delivered else " ".join(outcome.summary.split()),
}
"""Cells of a row for each run."""
CSV_COLUMNS: Mapping[str, Callable[[Outcome], object]] = {
    **JOB_COLUMNS,
    "solvable": lambda outcome: outcome.solvable,
    "verdict": verdict_label,
    "passes_hidden": lambda outcome: outcome.passes_hidden,
    "hidden_problem": lambda outcome: outcome.hidden_problem,
    "hidden_passed": lambda outcome: outcome.hidden.passed,
    "hidden_failed": lambda outcome: outcome.hidden.failed,
    "delivered": lambda outcome: outcome.delivered,
    "attempts": lambda outcome: outcome.attempts,
    "requests": lambda outcome: outcome.spent.requests,
    "input_tokens": lambda outcome: outcome.spent.input_tokens,
    "cached_tokens": lambda outcome: outcome.spent.cached_tokens,
    "output_tokens": lambda outcome: outcome.spent.output_tokens,
    "cost_usd": lambda outcome: outcome.spent.cost_usd,
    "tokens_by_role": _roles_json,
    "seconds": lambda outcome: round(outcome.seconds, 3),
    "session": lambda outcome: outcome.session,
    "summary": lambda outcome: outcome.summary,
}


def results_csv(outcomes: Sequence[Outcome]) -> str:
    """Return CSV with a row for each run."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(CSV_COLUMNS)
    rows.writerows([cell(outcome) for cell in CSV_COLUMNS.values()] for outcome in sort_outcomes(outcomes))
    return text.getvalue()


Z = 1.959963984540054
"""Quantile of the normal distribution for 95 % intervals."""


def wilson_interval(count: int, of: int) -> tuple[float, float]:
    """Return Wilson's score interval for a share, from 0 to 1."""
    if of == 0:
        return 0.0, 1.0
    share, square = count / of, Z * Z / of
    middle = (share + square / 2) / (1 + square)
    half = Z * math.sqrt(share * (1 - share) / of + square / (4 * of)) / (1 + square)
    return (max(0.0, middle - half) if count else 0.0), (min(1.0, middle + half) if count < of else 1.0)


def share_of_true(truths: Iterable[bool]) -> Share:
    values = [*truths]
    low, high = wilson_interval(sum(values), len(values))
    return Share(count=sum(values), of=len(values), low=low, high=high)


def summarize_outcomes(outcomes: Sequence[Outcome]) -> tuple[GroupSummary, ...]:
    """Return a summary for each strategy and model, sorted by name."""
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault((outcome.job.strategy, outcome.job.model), []).append(outcome)
    return tuple(
        _summarize(*group, outcomes=group_outcomes) for group, group_outcomes in sorted(groups.items())
    )


def _summarize(strategy: str, model: str, *, outcomes: Sequence[Outcome]) -> GroupSummary:
    solvable = [outcome for outcome in outcomes if outcome.solvable]
    prices = [outcome.spent.cost_usd for outcome in outcomes]
    known_prices = [price for price in prices if price is not None]
    return GroupSummary(
        strategy=strategy,
        model=model,
        runs=len(outcomes),
        proven=share_of_true(outcome.proven for outcome in solvable),
        fixed=share_of_true(outcome.fixed for outcome in solvable),
        solved=share_of_true(outcome.passes_hidden for outcome in solvable),
        wrongly_proven=sum(outcome.wrongly_proven for outcome in outcomes),
        wrongly_fixed=sum(outcome.wrongly_fixed for outcome in outcomes),
        left_alone=share_of_true(not outcome.delivered for outcome in outcomes if not outcome.solvable),
        attempts=statistics.fmean(outcome.attempts for outcome in outcomes),
        requests=statistics.fmean(outcome.spent.requests for outcome in outcomes),
        usd=sum(known_prices, Decimal(0)) / len(known_prices) if len(known_prices) == len(prices) else None,
        seconds=statistics.fmean(outcome.seconds for outcome in outcomes),
        tokens=(
            statistics.fmean(outcome.spent.input_tokens for outcome in outcomes),
            statistics.fmean(outcome.spent.cached_tokens for outcome in outcomes),
            statistics.fmean(outcome.spent.output_tokens for outcome in outcomes),
        ),
    )


def _job_key(outcome: Outcome) -> tuple[str, str, str, int]:
    return outcome.job.task, outcome.job.strategy, outcome.job.model, outcome.job.seed


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


def _label(group: GroupSummary, *, is_only: bool) -> str:
    if group.model == NO_MODEL_NAME:
        return "no model"
    return group.model if is_only else f"{group.model} with {group.strategy}"


def _format_mean(group: GroupSummary) -> str:
    if group.model == NO_MODEL_NAME:
        return "$0"
    return "an unknown price" if group.usd is None else f"${group.usd:.2f}"


PREDICTIONS = "predictions.jsonl"


def write_predictions(directory: Path, outcomes: Sequence[Outcome]) -> list[Path]:
    """Write the changes of each strategy and model as `swebench` evaluates them, and return the files.

    A file holds one change an instance, that of the first seed; if there is one strategy and model, it is
    predictions.jsonl.
    """
    groups: dict[str, dict[str, Outcome]] = {}
    for outcome in sorted(outcomes, key=lambda outcome: outcome.job.seed):
        groups.setdefault(_model_name(outcome), {}).setdefault(outcome.job.task, outcome)
    files = []
    for name, by_instance in sorted(groups.items()):
        file = directory / (PREDICTIONS if len(groups) == 1 else f"predictions-{_file_part(name)}.jsonl")
        lines = (
            json.dumps({"instance_id": instance, "model_name_or_path": name, "model_patch": outcome.diff})
            for instance, outcome in sorted(by_instance.items())
        )
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        files.append(file)
    return files


def _model_name(outcome: Outcome) -> str:
    return f"coder-{outcome.job.strategy}-{outcome.job.model}"


def _file_part(name: str) -> str:
    return "".join(character if character.isalnum() or character in "-._" else "-" for character in name)
