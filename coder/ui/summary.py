"""Summary of a session on the screen: the diff, and a line for each thing to know."""

import re
from collections import Counter
from collections.abc import Iterable

from rich.console import Console
from rich.markdown import Markdown
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from coder.core.events import SessionFinished
from coder.core.messages import UsageTotals
from coder.core.state import outcome_label
from coder.core.text import join_first, sanitize_text
from coder.core.values import Delivery
from coder.core.verdict import VerdictKind
from coder.core.verdict_summary import Row, evidence_rows
from coder.patching.git_hunks import hunk_lines, split_git_diff

STYLES = {
    VerdictKind.PROVEN: "bold green",
    VerdictKind.FIXED: "bold green",
    VerdictKind.PASSING: "bold yellow",
    VerdictKind.GAVE_UP: "bold red",
    VerdictKind.LIMIT: "bold red",
    VerdictKind.NOT_FIXED: "bold red",
    VerdictKind.BROKEN: "bold red",
    VerdictKind.NOT_TESTED: "bold magenta",
}


def format_spending(spent: UsageTotals) -> list[str]:
    """Format requests, tokens and money; empty if nothing was spent."""
    if not spent.requests:
        return []
    tokens = spent.input_tokens + spent.output_tokens
    cached_text = f" ({abbreviate_number(spent.cached_tokens)} cached)" if spent.cached_tokens else ""
    return [
        f"{spent.requests} request{'s' * (spent.requests != 1)}",
        f"{abbreviate_number(tokens)} tokens{cached_text}",
        format_money(spent),
    ]


def format_money(spent: UsageTotals) -> str:
    return "price unknown" if spent.cost_usd is None else f"${spent.cost_usd:.3f}"


def abbreviate_number(number: int) -> str:
    """Abbreviate a number: 950, 12.3k, 1.2M."""
    if number < 1000:
        return str(number)
    return f"{number / 1000:.1f}k" if number < 1_000_000 else f"{number / 1_000_000:.1f}M"


def print_summary(
    console: Console,
    finish_event: SessionFinished,
    *,
    session: str,
    is_judged: bool = False,
    change: str = "",
) -> None:
    """Print the summary of a session; one that judges an existing change has neither diff nor report.

    `change` is what names it to `coder verify`.
    """
    if not is_judged:
        print_result(console, finish_event)
    verdict, *rows = summary_lines(finish_event, session=session, is_judged=is_judged, change=change)
    console.print(verdict, soft_wrap=not console.is_terminal)
    for row in rows:
        if console.is_terminal:
            table = Table.grid()
            table.add_row(row[:NAME_COLUMNS], row[NAME_COLUMNS:])
            console.print(table)
        else:
            console.print(row, soft_wrap=True)


def print_result(console: Console, finish_event: SessionFinished) -> None:
    diff, report = (
        sanitize_text(finish_event.delivery.diff if finish_event.delivery else ""),
        sanitize_text(report_body(finish_event)),
    )
    if diff:
        console.print()
        if console.is_terminal:
            console.print(Syntax(diff, "diff", theme="ansi_dark", background_color="default"))
        else:
            console.file.write(f"{diff}\n")  # rich would make spaces of its tabs
    if report:
        console.print()
        console.print(Markdown(fence_diffs(report)) if console.is_terminal else Text(report), soft_wrap=True)
    console.print()


_DIFF = (
    r"^(?:diff --git [^\n]*|--- \S[^\n]*\n\+\+\+ \S[^\n]*|@@ -\d[^\n]*)"
    r"(?:\n(?:[-+@ \\][^\n]*|(?=\n[ +@])"
    r"|(?:diff --git|index|new file|deleted file|old mode|new mode|rename|similarity) [^\n]*))*"
)
"""Matches a unified diff in prose."""
DIFF_IN_TEXT = re.compile(_DIFF, re.MULTILINE)
_FENCED_OR_DIFF = re.compile(rf"(?P<fenced>^```.*?(?:^```|\Z))|(?P<diff>{_DIFF})", re.MULTILINE | re.DOTALL)


def fence_diffs(text: str) -> str:
    """Return Markdown with each diff as code, of whose lines Markdown would make a list."""
    return _FENCED_OR_DIFF.sub(
        lambda match: match["fenced"] or f"```diff\n{match['diff'].rstrip()}\n```", text
    )


def report_body(finish_event: SessionFinished) -> str:
    """Return the report; empty if it is the verdict's evidence, which the summary lines say in short."""
    heading, found, _ = finish_event.report.partition(f"\n\n{finish_event.summary}\n")
    is_evidence = found and heading.startswith("# ") and "\n" not in heading
    return "" if is_evidence else finish_event.report


def summary_lines(
    finish_event: SessionFinished,
    *,
    session: str,
    command: str = "",
    is_judged: bool = False,
    change: str = "",
) -> Iterable[Text]:
    """Yield a line each: verdict, tests, examples, what is open, changed files, runs, cost, next step.

    `command` is how the user writes `apply` and `undo` for this session, by default with the end of its id.
    One that judges an existing change delivers nothing, and has a cost only where it asked a model; `change`
    names it to `coder verify`.
    """
    command = command or f"coder {{}} {session.rpartition('-')[2]}"
    kind, verdict = finish_event.kind, finish_event.verdict
    is_verdict = verdict is not None and finish_event.summary == verdict.reason
    yield Text.assemble(
        (outcome_label(finish_event), STYLES[kind] if kind else "bold red"),
        f"  {sanitize_text(verdict.headline if verdict and is_verdict else finish_event.summary)}",
    )
    if finish_event.kind is None and finish_event.exit_code == MISUSE and not finish_event.spent.requests:
        return  # refused before any work
    if finish_event.delivery:
        change = "HEAD" if finish_event.delivery.merged else finish_event.delivery.branch
    rows = [*evidence_rows(verdict, session=session, has_seconds=is_judged, change=change)] if verdict else []
    if finish_event.delivery:
        place = next((n for n, row in enumerate(rows) if row.name in ("tests", "evidence")), len(rows))
        rows.insert(place, Row("changed", _changed_files(finish_event.delivery.diff)))
    for row in rows:
        yield _row(row.name, sanitize_text(row.text))
    if not is_judged or finish_event.spent.requests:
        yield _row("cost", format_cost(finish_event))
    hint = _resume_hint(finish_event, session, command)
    if finish_event.delivery:
        yield _row("next", f"{hint}{_next_step(finish_event.delivery, command)}")
    elif not is_judged or not verdict:
        left = "nothing was left in the repository; " if finish_event.exit_code else ""
        changed = f"the change: coder log diff {session}; " if finish_event.has_changes else ""
        yield _row("next", f"{hint}{changed}{left}the record: coder log show {session}")


MISUSE, INTERRUPTED = 2, 130
"""Exit codes: wrong use, or a model that cannot be asked; stopped by the user."""
WAITING = "your answers"
"""Stage in which the session waits for the user, which is no cost."""


def format_cost(finish_event: SessionFinished) -> str:
    """Format the seconds and the parts that they add up from, then requests, tokens and money."""
    stages = finish_event.stages
    seconds = round(finish_event.seconds - stages.get(WAITING, 0.0))
    shares = {
        "tests": round(sum(stages.get(name, 0.0) for name in TEST_STAGES)),
        **{name: round(stages.get(name, 0.0)) for name in ("search", "checks", "tools", "model")},
    }
    rest = seconds - sum(shares.values())
    if rest > 1:
        shares["start and delivery"] = rest
    elif abs(rest) == 1:  # what rounding left
        shares[max(shares, key=shares.__getitem__)] += rest
    shown = [f"{name} {share} s" for name, share in shares.items() if share]
    split = f" ({', '.join(shown)})" if len(shown) > 1 else ""
    attempts, spent = finish_event.attempts, finish_event.spent
    spending = format_spending(spent)
    return ", ".join(
        [
            f"{seconds} s{split}",
            *([f"{attempts} attempts"] if attempts > 1 else []),
            *spending,
        ]
    )


TEST_STAGES = ("base", "reproduction", "targets", "impacted", "suite", "old tests")


def _resume_hint(finish_event: SessionFinished, session: str, command: str) -> str:
    """Return how to go on with an interrupted session."""
    if finish_event.kind is not None or finish_event.exit_code != INTERRUPTED:
        return ""
    return f"go on: {command.partition('{')[0]}resume {session}; "


def _next_step(delivery: Delivery, command: str) -> str:
    apply, undo = command.format("apply"), command.format("undo")
    if delivery.merged:
        return f"it is on your branch; undo: {undo}"
    if delivery.branch:
        return f"on branch {delivery.branch}; apply: {apply}; undo: {undo}"
    return f"nothing was written to the repository; apply: {apply}"


def _changed_files(diff: str) -> str:
    """Format the files of a git diff: `a.py (+2 -1), b.py (+9)`."""
    counts: dict[str, Counter[str]] = {}
    for hunk in split_git_diff(diff):
        signs = counts.setdefault(hunk.path, Counter())
        signs.update(line.sign for line in hunk_lines(hunk.body))
    files = [f"{path} (+{signs['+']} -{signs['-']})" for path, signs in counts.items()]
    return join_first(files, SHOWN_FILES)


def _row(name: str, text: str) -> Text:
    return Text.assemble((f"{name:<{NAME_COLUMNS}}", "dim"), text)


SHOWN_FILES = 8
NAME_COLUMNS = 9
