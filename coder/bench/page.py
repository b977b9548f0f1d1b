"""Report of benchmark results as one self-contained HTML page."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote

from coder.bench.runner import Outcome
from coder.bench.tables import (
    Comparison,
    GroupSummary,
    Share,
    format_usd,
    hidden_test_label,
    sort_outcomes,
    summarize_outcomes,
    verdict_label,
)
from coder.core.values import Value

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


def results_page(
    name: str,
    outcomes: Sequence[Outcome],
    comparison: Comparison | None = None,
    logs: Mapping[str, Path] = MappingProxyType({}),
) -> str:
    """Return the whole page; `logs` are files beside it, by session."""
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
    parts += ["<h2>Runs</h2>", _runs(sort_outcomes(outcomes), logs)]
    return html_page(name, parts)


def html_page(title: str, parts: Sequence[str]) -> str:
    """Return a page of its own, with the style inside; the parts are HTML already."""
    head = (
        '<meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width"><title>{escape(title)}</title><style>{STYLE}</style>'
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
    return html_table((*head, "USD", "seconds", "tokens of all runs, by role"), rows) + note


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
    return html_table(
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
    return sentence + (
        html_table(("task", "strategy", "model", "seed", "before", "now"), rows) if rows else ""
    )


def _runs(outcomes: Sequence[Outcome], logs: Mapping[str, Path]) -> str:
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
        log = logs.get(outcome.session)
        log_cell = f'<a href="{escape(quote(log.as_posix()))}">{log.name}</a>' if log else ""
        rows.append((*job_cells, verdict_cell, diff_cell, *costs, log_cell))
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
        "log",
    )
    return html_table(head, rows)


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an HTML table; the cells of `rows` are HTML already."""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


WIDTH, HEIGHT = 420, 260
LEFT, RIGHT, TOP, BOTTOM = 48, 14, 14, 44
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999")
"""Distinguishable with any colour vision (M. Okabe, K. Ito)."""
MARK_DISTANCE = 12.0
"""Least distance of two marks in SVG units, so that none hides another."""


class Point(Value):
    """Result of one strategy with one model."""

    label: str
    x: float
    y: float
    """Share from 0 to 1, with its interval `low` to `high`."""
    low: float
    high: float


def series_colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def scatter_plot(points: Sequence[Point], *, across: str, up: str) -> str:
    """Return a scatter plot with intervals; the x axis begins at 0, and overlapping marks are moved apart."""
    ticks = _ticks(max((point.x for point in points), default=0.0))
    places = _spread_overlaps([_x(point.x, ticks[-1]) for point in points])
    parts = [
        *_frame(across, up, ticks),
        *(_mark(point, number, places[number]) for number, point in enumerate(points)),
    ]
    name = escape(f"{up} against {across}", quote=True)
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{name}">{"".join(parts)}</svg>'


def _ticks(maximum: float) -> list[float]:
    """Return up to six round numbers from 0 to just beyond the largest value."""
    if maximum <= 0:
        return [0.0, 1.0]
    power = 10.0 ** math.floor(math.log10(maximum / 5))
    step = next(step * power for step in (1, 2, 5, 10) if step * power * 5 >= maximum)
    return [number * step for number in range(math.ceil(maximum / step) + 1)]


def _spread_overlaps(places: Sequence[float]) -> list[float]:
    """Return the positions in their order, with those too close to each other spread around their mean."""
    groups: list[list[int]] = []
    for number in sorted(range(len(places)), key=places.__getitem__):
        groups.append([number])
        while (
            len(groups) > 1
            and _spread(groups[-1], places)[0] - _spread(groups[-2], places)[-1] < MARK_DISTANCE
        ):
            groups[-2:] = [groups[-2] + groups[-1]]
    positions = {
        number: position
        for group in groups
        for number, position in zip(group, _spread(group, places), strict=True)
    }
    return [positions[number] for number in range(len(places))]


def _spread(group: Sequence[int], places: Sequence[float]) -> list[float]:
    middle = sum(places[number] for number in group) / len(group)
    return [middle + (rank - (len(group) - 1) / 2) * MARK_DISTANCE for rank in range(len(group))]


def _x(value: float, maximum: float) -> float:
    return LEFT + value / maximum * (WIDTH - LEFT - RIGHT)


def _y(share: float) -> float:
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def _frame(across: str, up: str, ticks: Sequence[float]) -> list[str]:
    parts = []
    for quarter in range(5):
        share = quarter / 4
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{_y(share):.1f}" y2="{_y(share):.1f}"/>'
        )
        parts.append(
            f'<text x="{LEFT - 6}" y="{_y(share) + 4:.1f}" text-anchor="end">{100 * share:.0f} %</text>'
        )
    for value in ticks:
        parts.append(
            f'<text x="{_x(value, ticks[-1]):.1f}" y="{HEIGHT - BOTTOM + 16}" '
            f'text-anchor="middle">{value:g}</text>'
        )
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" '
        f'text-anchor="middle">{escape(across)}</text>'
    )
    parts.append(f"<title>{escape(up)} against {escape(across)}</title>")
    return parts


def _mark(point: Point, number: int, x: float) -> str:
    shade = series_colour(number)
    title = (
        f"{point.label}: {100 * point.y:.0f} % ({100 * point.low:.0f} to {100 * point.high:.0f}), "
        f"{point.x:.4g}"
    )
    return (
        f"<g><title>{escape(title)}</title>"
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_y(point.low):.1f}" y2="{_y(point.high):.1f}" '
        f'stroke="{shade}" stroke-width="2"/>'
        f'<circle cx="{x:.1f}" cy="{_y(point.y):.1f}" r="5" fill="{shade}"/></g>'
    )
