"""Outcomes as tables: Markdown for people, CSV and JSON for machines."""

import csv
import io
import json
from collections.abc import Sequence

from coder.bench.outcome import Outcome
from coder.bench.summary import Share, Sums, sums

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


def markdown(outcomes: Sequence[Outcome]) -> str:
    """A row for each strategy and model, then one for each run."""
    groups = [_group(item) for item in sums(outcomes)]
    runs = [_run(item) for item in ordered(outcomes)]
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
    return f"{table((*GROUPS, *MEANS), groups)}\n\n{note}\n\n{table(head, runs)}\n"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def ordered(outcomes: Sequence[Outcome]) -> list[Outcome]:
    return sorted(
        outcomes,
        key=lambda outcome: (outcome.job.task, outcome.job.strategy, outcome.job.model, outcome.job.seed),
    )


def written(share: Share) -> str:
    """Such as `7 of 11 (64 %, 35 to 85)`."""
    if share.of == 0:
        return "none"
    return (
        f"{share.count} of {share.of} ({100 * share.value:.0f} %, {100 * share.low:.0f} to "
        f"{100 * share.high:.0f})"
    )


def _group(one: Sums) -> tuple[str, ...]:
    tokens = [
        sum(getattr(role, kind) for role in one.tokens.values()) / one.runs
        for kind in ("input", "cached", "output")
    ]
    shares = (written(one.proven), written(one.solved), str(one.wrongly_proven), written(one.left_alone))
    costs = (
        f"{one.attempts:.1f}",
        f"{one.requests:.1f}",
        ", ".join(f"{count:.0f}" for count in tokens),
        money(one.usd),
        f"{one.seconds:.1f}",
    )
    return (one.strategy, one.model, str(one.runs), *shares, *costs)


def money(usd: object) -> str:
    return "not known" if usd is None else f"{usd:.4f}"


def verdict(one: Outcome) -> str:
    return one.verdict.value if one.verdict else "failed"


def hidden(one: Outcome) -> str:
    """Say in a few words what the hidden tests say."""
    if not one.delivered:
        return "nothing delivered"
    if one.hidden_problem:
        return f"could not be run: {one.hidden_problem}"
    return (
        "pass"
        if one.passes_hidden
        else f"{one.hidden.failed} fail"
        if one.hidden.failed
        else "could not be run"
    )


def _run(one: Outcome) -> tuple[str, ...]:
    tokens = one.spent.input_tokens + one.spent.output_tokens
    costs = (
        str(one.attempts),
        str(one.spent.requests),
        str(tokens),
        money(one.spent.cost_usd),
        f"{one.seconds:.1f}",
    )
    explanation = "" if one.delivered else " ".join(one.summary.split())
    return (
        one.job.task,
        one.job.strategy,
        one.job.model,
        str(one.job.seed),
        verdict(one),
        hidden(one),
        *costs,
        explanation,
    )


def comma_separated(outcomes: Sequence[Outcome]) -> str:
    """A row for each run."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow((*COLUMNS, *COSTS))
    for item in ordered(outcomes):
        job, spent = item.job, item.spent
        roles = json.dumps({role: each.model_dump(mode="json") for role, each in sorted(item.roles.items())})
        what = (
            job.task,
            job.strategy,
            job.model,
            job.seed,
            item.solvable,
            verdict(item),
            item.passes_hidden,
            item.hidden_problem,
        )
        came = (item.hidden.passed, item.hidden.failed, item.delivered, item.attempts, spent.requests)
        cost = (
            spent.input_tokens,
            spent.cached_tokens,
            spent.output_tokens,
            spent.cost_usd,
            roles,
            round(item.seconds, 3),
        )
        rows.writerow((*what, *came, *cost, item.session, item.summary))
    return text.getvalue()


def as_json(outcomes: Sequence[Outcome]) -> str:
    """The sums and every run, with its change."""
    groups = [item.model_dump(mode="json") for item in sums(outcomes)]
    return (
        json.dumps(
            {"sums": groups, "runs": [item.model_dump(mode="json") for item in ordered(outcomes)]},
            indent=1,
            ensure_ascii=False,
        )
        + "\n"
    )
