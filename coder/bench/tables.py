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

from coder.bench.runner import Outcome

V = TypeVar("V")


def results_markdown(outcomes: Sequence[Outcome]) -> str:
    """Return a table with a row for each strategy and model, then one with a row for each run."""
    groups = [_row(GROUP_COLUMNS, group) for group in group_outcomes(outcomes)]
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


def group_outcomes(outcomes: Sequence[Outcome]) -> list[list[Outcome]]:
    """Return the runs of each strategy and model, sorted by name."""
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault((outcome.job.strategy, outcome.job.model), []).append(outcome)
    return [group for _, group in sorted(groups.items())]


def format_share(truths: Iterable[bool]) -> str:
    """Format how many are true, with Wilson's interval, such as `7 of 11 (64 %, 35 to 85)`."""
    values = [*truths]
    if not values:
        return "none"
    count, of = sum(values), len(values)
    low, high = wilson_interval(count, of)
    return f"{count} of {of} ({100 * count / of:.0f} %, {100 * low:.0f} to {100 * high:.0f})"


def _share_of_solvable(name: str) -> "Callable[[Sequence[Outcome]], object]":
    return lambda group: format_share(getattr(outcome, name) for outcome in group if outcome.solvable)


def _mean(group: Sequence[Outcome], number: Callable[[Outcome], float]) -> float:
    return statistics.fmean(map(number, group))


def _mean_usd(group: Sequence[Outcome]) -> Decimal | None:
    """Return the mean cost of a run; None if a price is unknown."""
    prices = [outcome.spent.cost_usd for outcome in group]
    known = [price for price in prices if price is not None]
    return sum(known, Decimal(0)) / len(known) if len(known) == len(prices) else None


def _mean_tokens(group: Sequence[Outcome]) -> str:
    """Return means of the tokens sent, cached and received."""
    names = ("input_tokens", "cached_tokens", "output_tokens")
    return ", ".join(f"{_mean(group, lambda outcome: getattr(outcome.spent, name)):.0f}" for name in names)  # noqa: B023


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


GROUP_COLUMNS: Mapping[str, Callable[[Sequence[Outcome]], object]] = {
    "strategy": lambda group: group[0].job.strategy,
    "model": lambda group: group[0].job.model,
    "runs": len,
    "PROVEN": _share_of_solvable("proven"),
    "PROVEN or FIXED": _share_of_solvable("fixed"),
    "solved by hidden tests": _share_of_solvable("passes_hidden"),
    "wrongly PROVEN": lambda group: sum(outcome.wrongly_proven for outcome in group),
    "wrongly FIXED": lambda group: sum(outcome.wrongly_fixed for outcome in group),
    "rightly left alone": lambda group: format_share(
        not outcome.delivered for outcome in group if not outcome.solvable
    ),
    "attempts": lambda group: f"{_mean(group, lambda outcome: outcome.attempts):.1f}",
    "requests": lambda group: f"{_mean(group, lambda outcome: outcome.spent.requests):.1f}",
    "tokens in, cached, out": _mean_tokens,
    "USD": lambda group: format_usd(_mean_usd(group)),
    "seconds": lambda group: f"{_mean(group, lambda outcome: outcome.seconds):.1f}",
}
"""Cells of a row for each strategy and model."""
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


def _job_key(outcome: Outcome) -> tuple[str, str, str, int]:
    return outcome.job.task, outcome.job.strategy, outcome.job.model, outcome.job.seed


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
