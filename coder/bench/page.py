"""Report of benchmark results as one self-contained HTML page."""

from collections.abc import Sequence
from html import escape

from coder.bench.charts import Point, scatter_plot, series_colour
from coder.bench.comparison import Comparison
from coder.bench.outcome import Outcome
from coder.bench.summary import GroupSummary, Share, summarize_outcomes
from coder.bench.tables import format_usd, hidden_test_label, sort_outcomes, verdict_label

STYLE = """
:root { color-scheme: light dark; --line: #8884; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 90rem; padding: 0 1rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(22rem, 1fr)); gap: 1.5rem; } \
figure { margin: 0; }
svg { width: 100%; } svg text { font-size: 12px; fill: currentColor; } .grid { stroke: var(--line); }
.legend span { margin-right: 1.5em; white-space: nowrap; } .legend .dot { margin-right: .4em; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .6rem; text-align: left; vertical-align: top; }
th { vertical-align: bottom; } small { display: block; white-space: nowrap; opacity: .75; } \
td:nth-child(-n+3) { white-space: nowrap; }
.good { color: #009e73; } .bad { color: #d55e00; } \
.dot { display: inline-block; width: .8em; height: .8em; border-radius: 50%; }
pre { overflow-x: auto; font-size: 12px; }
"""


def results_page(name: str, outcomes: Sequence[Outcome], comparison: Comparison | None = None) -> str:
    """Return the whole page."""
    groups = summarize_outcomes(outcomes)
    parts = [
        f"<h1>{escape(name)}</h1>",
        _legend(groups),
        _charts(groups),
        "<h2>Strategies and models</h2>",
        _groups(groups),
    ]
    parts += ["<h2>Task by task</h2>", _tasks(groups, outcomes)]
    if comparison is not None:
        parts += ["<h2>Compared with the other run</h2>", _comparison(comparison)]
    parts += ["<h2>Runs</h2>", _runs(sort_outcomes(outcomes))]
    head = (
        '<meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width"><title>{escape(name)}</title><style>{STYLE}</style>'
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>\n'


def _legend(groups: Sequence[GroupSummary]) -> str:
    return (
        '<p class="legend">'
        f"{''.join(f'<span>{_dot(index)}{escape(group.label)}</span>' for index, group in enumerate(groups))}"
        "</p>"
    )


def _dot(number: int) -> str:
    return f'<span class="dot" style="background:{series_colour(number)}"></span>'


def _charts(groups: Sequence[GroupSummary]) -> str:
    """Plot the share of solved tasks against attempts, time and, if all prices are known, money."""
    axes = [("attempts", "attempts of a run", "attempts"), ("time", "seconds of a run", "seconds")]
    if all(group.usd is not None for group in groups):
        axes.insert(0, ("cost", "USD of a run", "usd"))
    figures = []
    for name, across, field in axes:
        points = [
            Point(
                label=group.label,
                x=float(getattr(group, field)),
                y=group.solved.value,
                low=group.solved.low,
                high=group.solved.high,
            )
            for group in groups
        ]
        figures.append(
            "<figure><figcaption>Solved against "
            f"{name}</figcaption>{scatter_plot(points, across=across, up='solved')}</figure>"
        )
    return f'<div class="charts">{"".join(figures)}</div>'


def _groups(groups: Sequence[GroupSummary]) -> str:
    head = (
        "",
        "strategy",
        "model",
        "runs",
        "PROVEN",
        "solved by hidden tests",
        "wrongly PROVEN",
        "rightly left alone",
        "attempts",
        "requests",
    )
    rows = []
    for number, group in enumerate(groups):
        shares = (
            _share_cell(group.proven),
            _share_cell(group.solved),
            str(group.wrongly_proven),
            _share_cell(group.left_alone),
        )
        costs = (
            f"{group.attempts:.1f}",
            f"{group.requests:.1f}",
            escape(format_usd(group.usd)),
            f"{group.seconds:.1f}",
            _tokens_cell(group),
        )
        rows.append(
            (_dot(number), escape(group.strategy), escape(group.model), str(group.runs), *shares, *costs)
        )
    note = (
        "<p>Shares are of the tasks that can be solved, with 95 % intervals (Wilson). What stands without "
        "a unit is a mean of a run.</p>"
    )
    return _table((*head, "USD", "seconds", "tokens of all runs, by role"), rows) + note


def _share_cell(share: Share) -> str:
    """Format a share such as `7 of 11`, and below it in small print `64 % (35 to 85)`."""
    interval = f"{100 * share.value:.0f} % ({100 * share.low:.0f} to {100 * share.high:.0f})"
    return f"{share.count} of {share.of}<small>{interval}</small>" if share.of else "none"


def _tokens_cell(sums: GroupSummary) -> str:
    rows = (
        f"{role}: {tokens.input:,} in, {tokens.cached:,} cached, {tokens.output:,} out"
        for role, tokens in sums.tokens.items()
    )
    return "".join(f"<small>{escape(line)}</small>" for line in rows) or "none"


def _tasks(groups: Sequence[GroupSummary], outcomes: Sequence[Outcome]) -> str:
    """Return a row for each task: the results of its runs under each strategy and model."""
    outcomes_by_task: dict[str, dict[str, list[Outcome]]] = {}
    for outcome in sort_outcomes(outcomes):
        outcomes_by_task.setdefault(outcome.job.task, {}).setdefault(
            f"{outcome.job.strategy}, {outcome.job.model}", []
        ).append(outcome)
    labels = [group.label for group in groups]
    return _table(
        ("task", *labels),
        [
            (escape(task), *(_task_cell(outcomes_by_label.get(label, [])) for label in labels))
            for task, outcomes_by_label in outcomes_by_task.items()
        ],
    )


def _task_cell(outcomes: Sequence[Outcome]) -> str:
    """Describe the results of one task: one word for a single run, else a count."""
    if not outcomes:
        return "not run"
    results = [_is_right(outcome) for outcome in outcomes]
    text = f"{sum(results)} of {len(results)}"
    if len(outcomes) == 1:
        text = (
            ("solved" if outcomes[0].solvable else "left alone")
            if results[0]
            else "wrong"
            if outcomes[0].delivered
            else "not solved"
        )
    return f'<span class="{"good" if all(results) else "bad"}">{text}</span>'


def _is_right(outcome: Outcome) -> bool:
    return outcome.passes_hidden if outcome.solvable else not outcome.delivered


def _comparison(comparison: Comparison) -> str:
    rows = [
        tuple(
            map(
                escape,
                (
                    difference.task,
                    difference.strategy,
                    difference.model,
                    str(difference.seed),
                    difference.before,
                    difference.after,
                ),
            )
        )
        for difference in comparison.differences
    ]
    sentence = f"<p>{escape(comparison.sentence)}</p>"
    return sentence + (_table(("task", "strategy", "model", "seed", "before", "now"), rows) if rows else "")


def _runs(outcomes: Sequence[Outcome]) -> str:
    rows = []
    for outcome in outcomes:
        verdict_cell = (
            f'<span class="{"good" if _is_right(outcome) else "bad"}">{escape(verdict_label(outcome))}</span>'
        )
        diff_cell = (
            f"<details><summary>{escape(hidden_test_label(outcome))}</summary><pre>{escape(outcome.diff)}</pre></details>"
            if outcome.diff
            else escape(hidden_test_label(outcome))
        )
        job_cells = map(
            escape, (outcome.job.task, outcome.job.strategy, outcome.job.model, str(outcome.job.seed))
        )
        costs = map(
            escape,
            (
                str(outcome.attempts),
                str(outcome.spent.requests),
                format_usd(outcome.spent.cost_usd),
                f"{outcome.seconds:.1f}",
                outcome.summary,
            ),
        )
        rows.append((*job_cells, verdict_cell, diff_cell, *costs))
    head = (
        "task",
        "strategy",
        "model",
        "seed",
        "verdict",
        "hidden tests",
        "attempts",
        "requests",
        "USD",
        "seconds",
        "why",
    )
    return _table(head, rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an HTML table; the cells of `rows` are HTML already."""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
