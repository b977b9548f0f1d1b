"""The results as one HTML page that needs nothing else."""

from collections.abc import Sequence
from html import escape

from coder.bench.charts import Point, chart, colour
from coder.bench.comparison import Comparison
from coder.bench.outcome import Outcome
from coder.bench.summary import Share, Sums, sums
from coder.bench.tables import hidden, money, ordered, verdict

STYLE = """
:root { color-scheme: light dark; --line: #8884; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 90rem; padding: 0 1rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(22rem, 1fr)); gap: 1.5rem; } figure { margin: 0; }
svg { width: 100%; } svg text { font-size: 12px; fill: currentColor; } .grid { stroke: var(--line); }
.legend span { margin-right: 1.5em; white-space: nowrap; } .legend .dot { margin-right: .4em; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .6rem; text-align: left; vertical-align: top; }
th { vertical-align: bottom; } small { display: block; white-space: nowrap; opacity: .75; } td:nth-child(-n+3) { white-space: nowrap; }
.good { color: #009e73; } .bad { color: #d55e00; } .dot { display: inline-block; width: .8em; height: .8em; border-radius: 50%; }
pre { overflow-x: auto; font-size: 12px; }
"""


def page(name: str, outcomes: Sequence[Outcome], comparison: Comparison | None = None) -> str:
    """The whole page."""
    groups = sums(outcomes)
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
    parts += ["<h2>Runs</h2>", _runs(ordered(outcomes))]
    head = (
        '<meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width"><title>{escape(name)}</title><style>{STYLE}</style>'
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>\n'


def _legend(groups: Sequence[Sums]) -> str:
    return f'<p class="legend">{"".join(f"<span>{_dot(number)}{escape(one.label)}</span>" for number, one in enumerate(groups))}</p>'


def _dot(number: int) -> str:
    return f'<span class="dot" style="background:{colour(number)}"></span>'


def _charts(groups: Sequence[Sums]) -> str:
    """Solved against what it took: by money where all prices are known."""
    kinds = [("attempts", "attempts of a run", "attempts"), ("time", "seconds of a run", "seconds")]
    if all(group.usd is not None for group in groups):
        kinds.insert(0, ("cost", "USD of a run", "usd"))
    drawn = []
    for name, across, field in kinds:
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
        drawn.append(
            "<figure><figcaption>Solved against "
            f"{name}</figcaption>{chart(points, across=across, up='solved')}</figure>"
        )
    return f'<div class="charts">{"".join(drawn)}</div>'


def _groups(groups: Sequence[Sums]) -> str:
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
    for number, one in enumerate(groups):
        shares = (_share(one.proven), _share(one.solved), str(one.wrongly_proven), _share(one.left_alone))
        costs = (
            f"{one.attempts:.1f}",
            f"{one.requests:.1f}",
            escape(money(one.usd)),
            f"{one.seconds:.1f}",
            _roles(one),
        )
        rows.append((_dot(number), escape(one.strategy), escape(one.model), str(one.runs), *shares, *costs))
    note = (
        "<p>Shares are of the tasks that can be solved, with 95 % intervals (Wilson). What stands without "
        "a unit is a mean of a run.</p>"
    )
    return _table((*head, "USD", "seconds", "tokens of all runs, by role"), rows) + note


def _share(share: Share) -> str:
    """Such as `7 of 11`, and small below it `64 % (35 to 85)`."""
    told = f"{100 * share.value:.0f} % ({100 * share.low:.0f} to {100 * share.high:.0f})"
    return f"{share.count} of {share.of}<small>{told}</small>" if share.of else "none"


def _roles(sums: Sums) -> str:
    told = (
        f"{role}: {used.input:,} in, {used.cached:,} cached, {used.output:,} out"
        for role, used in sums.tokens.items()
    )
    return "".join(f"<small>{escape(line)}</small>" for line in told) or "none"


def _tasks(groups: Sequence[Sums], outcomes: Sequence[Outcome]) -> str:
    """A row for each task: how its runs ended under each strategy and model."""
    ended: dict[str, dict[str, list[Outcome]]] = {}
    for item in ordered(outcomes):
        ended.setdefault(item.job.task, {}).setdefault(f"{item.job.strategy}, {item.job.model}", []).append(
            item
        )
    labels = [group.label for group in groups]
    return _table(
        ("task", *labels),
        [(escape(task), *(_ends(found.get(label, [])) for label in labels)) for task, found in ended.items()],
    )


def _ends(outcomes: Sequence[Outcome]) -> str:
    """What came of one task: in a word, or counted where it was run more than once."""
    if not outcomes:
        return "not run"
    right = [_right(outcome) for outcome in outcomes]
    word = f"{sum(right)} of {len(right)}"
    if len(outcomes) == 1:
        word = (
            ("solved" if outcomes[0].solvable else "left alone")
            if right[0]
            else "wrong"
            if outcomes[0].delivered
            else "not solved"
        )
    return f'<span class="{"good" if all(right) else "bad"}">{word}</span>'


def _right(one: Outcome) -> bool:
    return one.passes_hidden if one.solvable else not one.delivered


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
    told = f"<p>{escape(comparison.sentence)}</p>"
    return told + (_table(("task", "strategy", "model", "seed", "before", "now"), rows) if rows else "")


def _runs(outcomes: Sequence[Outcome]) -> str:
    rows = []
    for outcome in outcomes:
        ended = f'<span class="{"good" if _right(outcome) else "bad"}">{escape(verdict(outcome))}</span>'
        change = (
            f"<details><summary>{escape(hidden(outcome))}</summary><pre>{escape(outcome.diff)}</pre></details>"
            if outcome.diff
            else escape(hidden(outcome))
        )
        what = map(escape, (outcome.job.task, outcome.job.strategy, outcome.job.model, str(outcome.job.seed)))
        costs = map(
            escape,
            (
                str(outcome.attempts),
                str(outcome.spent.requests),
                money(outcome.spent.cost_usd),
                f"{outcome.seconds:.1f}",
                outcome.summary,
            ),
        )
        rows.append((*what, ended, change, *costs))
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
    """Cells are HTML already."""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
