"""Outcomes as Markdown, CSV and JSON tables."""

import csv
import io
import json
from collections.abc import Sequence

from coder.bench.outcome import Outcome
from coder.bench.summary import GroupSummary, Share, summarize_outcomes

GROUPS = (
    "strategy",
    "model",
    "runs",
    "PROVEN",
    "solved by hidden tests",
    "wrongly PROVEN",
    "rightly left alone",
)
MEANS = ("attempts", "requests", "tokens in, cached, out", "USD", "seconds")
COLUMNS = (
    "task",
    "strategy",
    "model",
    "seed",
    "solvable",
    "verdict",
    "passes_hidden",
    "hidden_problem",
    "hidden_passed",
    "hidden_failed",
    "delivered",
)
COSTS = (
    "attempts",
    "requests",
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "cost_usd",
    "tokens_by_role",
    "seconds",
    "session",
    "summary",
)


def results_markdown(outcomes: Sequence[Outcome]) -> str:
    """Return a table with a row for each strategy and model, then one with a row for each run."""
    groups = [_group_row(group) for group in summarize_outcomes(outcomes)]
    runs = [_run_row(outcome) for outcome in sort_outcomes(outcomes)]
    head = (
        "task",
        "strategy",
        "model",
        "seed",
        "verdict",
        "hidden tests",
        "attempts",
        "requests",
        "tokens",
        "USD",
        "seconds",
        "explanation",
    )
    note = (
        "Shares are of the tasks that can be solved, with 95 % intervals (Wilson); attempts and what "
        "follows are means of a run."
    )
    return f"{markdown_table((*GROUPS, *MEANS), groups)}\n\n{note}\n\n{markdown_table(head, runs)}\n"


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def sort_outcomes(outcomes: Sequence[Outcome]) -> list[Outcome]:
    return sorted(
        outcomes,
        key=lambda outcome: (outcome.job.task, outcome.job.strategy, outcome.job.model, outcome.job.seed),
    )


def format_share(share: Share) -> str:
    """Format a share, such as `7 of 11 (64 %, 35 to 85)`."""
    if share.of == 0:
        return "none"
    return (
        f"{share.count} of {share.of} ({100 * share.value:.0f} %, {100 * share.low:.0f} to "
        f"{100 * share.high:.0f})"
    )


def _group_row(group: GroupSummary) -> tuple[str, ...]:
    tokens = [
        sum(getattr(role, kind) for role in group.tokens.values()) / group.runs
        for kind in ("input", "cached", "output")
    ]
    shares = (
        format_share(group.proven),
        format_share(group.solved),
        str(group.wrongly_proven),
        format_share(group.left_alone),
    )
    costs = (
        f"{group.attempts:.1f}",
        f"{group.requests:.1f}",
        ", ".join(f"{count:.0f}" for count in tokens),
        format_usd(group.usd),
        f"{group.seconds:.1f}",
    )
    return (group.strategy, group.model, str(group.runs), *shares, *costs)


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


def _run_row(outcome: Outcome) -> tuple[str, ...]:
    tokens = outcome.spent.input_tokens + outcome.spent.output_tokens
    costs = (
        str(outcome.attempts),
        str(outcome.spent.requests),
        str(tokens),
        format_usd(outcome.spent.cost_usd),
        f"{outcome.seconds:.1f}",
    )
    explanation = "" if outcome.delivered else " ".join(outcome.summary.split())
    return (
        outcome.job.task,
        outcome.job.strategy,
        outcome.job.model,
        str(outcome.job.seed),
        verdict_label(outcome),
        hidden_test_label(outcome),
        *costs,
        explanation,
    )


def results_csv(outcomes: Sequence[Outcome]) -> str:
    """Return CSV with a row for each run."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow((*COLUMNS, *COSTS))
    for outcome in sort_outcomes(outcomes):
        job, spent = outcome.job, outcome.spent
        roles = json.dumps(
            {role: role_spent.model_dump(mode="json") for role, role_spent in sorted(outcome.roles.items())}
        )
        job_cells = (
            job.task,
            job.strategy,
            job.model,
            job.seed,
            outcome.solvable,
            verdict_label(outcome),
            outcome.passes_hidden,
            outcome.hidden_problem,
        )
        result_cells = (
            outcome.hidden.passed,
            outcome.hidden.failed,
            outcome.delivered,
            outcome.attempts,
            spent.requests,
        )
        cost_cells = (
            spent.input_tokens,
            spent.cached_tokens,
            spent.output_tokens,
            spent.cost_usd,
            roles,
            round(outcome.seconds, 3),
        )
        rows.writerow((*job_cells, *result_cells, *cost_cells, outcome.session, outcome.summary))
    return text.getvalue()


def results_json(outcomes: Sequence[Outcome]) -> str:
    """Return the summaries and every run with its change as JSON."""
    groups = [group.model_dump(mode="json") for group in summarize_outcomes(outcomes)]
    return (
        json.dumps(
            {
                "sums": groups,
                "runs": [outcome.model_dump(mode="json") for outcome in sort_outcomes(outcomes)],
            },
            indent=1,
            ensure_ascii=False,
        )
        + "\n"
    )
