"""The results as one HTML page that needs nothing else."""

from collections.abc import Sequence
from html import escape

from coder.bench.charts import Point, chart, colour
from coder.bench.comparison import Comparison
from coder.bench.outcome import Outcome
from coder.bench.sums import Sums, sums
from coder.bench.tables import hidden, money, ordered, verdict, written

STYLE = """
:root { color-scheme: light dark; --line: #8884; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 90rem; padding: 0 1rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 1rem; }
svg { width: 100%; } svg text { font-size: 11px; fill: currentColor; } .grid { stroke: var(--line); }
.wide { overflow-x: auto; } table { border-collapse: collapse; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .6rem; text-align: left; vertical-align: top; }
.good { color: #009e73; } .bad { color: #d55e00; } .dot { display: inline-block; width: .8em; height: .8em; border-radius: 50%; }
pre { overflow-x: auto; font-size: 12px; }
"""


def page(name: str, outcomes: Sequence[Outcome], comparison: Comparison | None = None) -> str:
    """The whole page."""
    groups = sums(outcomes)
    parts = [f"<h1>{escape(name)}</h1>", _charts(groups), "<h2>Strategies and models</h2>", _groups(groups)]
    if comparison is not None:
        parts += ["<h2>Compared with the other run</h2>", _comparison(comparison)]
    parts += ["<h2>Runs</h2>", _runs(ordered(outcomes))]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(name)}</title><style>{STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>\n'


def _charts(groups: Sequence[Sums]) -> str:
    """Solved against what it took: by money where all prices are known."""
    kinds = [("attempts of a run", "attempts"), ("seconds of a run", "seconds")]
    if all(one.usd is not None for one in groups):
        kinds.insert(0, ("USD of a run", "usd"))
    drawn = []
    for across, field in kinds:
        points = [
            Point(label=one.label, x=float(getattr(one, field)), y=one.solved.value, low=one.solved.low, high=one.solved.high)
            for one in groups
        ]
        drawn.append(f"<figure><figcaption>Solved, by {escape(across)}</figcaption>{chart(points, across=across, up='solved')}</figure>")
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
        dot = f'<span class="dot" style="background:{colour(number)}"></span>'
        shares = (written(one.proven), written(one.solved), str(one.wrongly_proven), written(one.left_alone))
        roles = "; ".join(f"{role} {used.input} in, {used.cached} cached, {used.output} out" for role, used in one.tokens.items())
        costs = (f"{one.attempts:.1f}", f"{one.requests:.1f}", roles or "none", money(one.usd), f"{one.seconds:.1f}")
        cells = map(escape, (one.strategy, one.model, str(one.runs), *shares, *costs))
        rows.append((dot, *cells))
    note = "<p>Shares are of the tasks that can be solved, with 95 % intervals (Wilson). What stands without a unit is a mean of a run.</p>"
    return _table((*head, "tokens of all runs, by role", "USD", "seconds"), rows) + note


def _comparison(comparison: Comparison) -> str:
    rows = [tuple(map(escape, (one.task, one.strategy, one.model, str(one.seed), one.before, one.after))) for one in comparison.differences]
    told = f"<p>{escape(comparison.sentence)}</p>"
    return told + (_table(("task", "strategy", "model", "seed", "before", "now"), rows) if rows else "")


def _runs(outcomes: Sequence[Outcome]) -> str:
    rows = []
    for one in outcomes:
        right = one.passes_hidden if one.solvable else not one.delivered
        ended = f'<span class="{"good" if right else "bad"}">{escape(verdict(one))}</span>'
        change = (
            f"<details><summary>{escape(hidden(one))}</summary><pre>{escape(one.diff)}</pre></details>" if one.diff else escape(hidden(one))
        )
        what = map(escape, (one.job.task, one.job.strategy, one.job.model, str(one.job.seed)))
        costs = map(escape, (str(one.attempts), str(one.spent.requests), money(one.spent.cost_usd), f"{one.seconds:.1f}", one.summary))
        rows.append((*what, ended, change, *costs))
    head = ("task", "strategy", "model", "seed", "verdict", "hidden tests", "attempts", "requests", "USD", "seconds", "why")
    return _table(head, rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Cells are HTML already."""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
