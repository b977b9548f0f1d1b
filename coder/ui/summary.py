"""The end of a session on the screen: the diff, and five lines."""

from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.markdown import Markdown
from rich.syntax import Syntax
from rich.text import Text

from coder.core.events import SessionFinished
from coder.core.messages import Spent
from coder.core.state import outcome
from coder.core.values.candidate import Delivery
from coder.core.values.text import printable
from coder.core.values.verdict import Counts, Guarded, VerdictKind

STYLES = {
    VerdictKind.PROVEN: "bold green",
    VerdictKind.PASSING: "bold yellow",
    VerdictKind.GAVE_UP: "bold red",
    VerdictKind.LIMIT: "bold red",
    VerdictKind.BROKEN: "bold red",
    VerdictKind.INCONCLUSIVE: "bold magenta",
}


def amounts(spent: Spent) -> list[str]:
    """Requests, tokens and money as short words; nothing where nothing was spent."""
    if not spent.requests:
        return []
    tokens = spent.input_tokens + spent.output_tokens
    cached = f" ({short(spent.cached_tokens)} cached)" if spent.cached_tokens else ""
    return [
        f"{spent.requests} request{'s' * (spent.requests != 1)}",
        f"{short(tokens)} tokens{cached}",
        money(spent),
    ]


def shares(roles: Mapping[str, Spent]) -> list[str]:
    """What each role had of it; nothing where there was but one."""
    parts = [
        f"{role} {spent.requests} with {short(spent.input_tokens + spent.output_tokens)}"
        for role, spent in roles.items()
    ]
    return [f"of which {'; '.join(parts)}"] if len(parts) > 1 else []


def money(spent: Spent) -> str:
    return "price unknown" if spent.cost_usd is None else f"${spent.cost_usd:.3f}"


def short(number: int) -> str:
    """950, 12.3k, 1.2M."""
    if number < 1000:
        return str(number)
    return f"{number / 1000:.1f}k" if number < 1_000_000 else f"{number / 1_000_000:.1f}M"


def show(console: Console, finished: SessionFinished, *, session: str) -> None:
    """Print how a session ended."""
    diff, report = printable(finished.delivery.diff if finished.delivery else ""), printable(learnt(finished))
    if diff:
        console.print()
        if console.is_terminal:
            console.print(Syntax(diff, "diff", theme="ansi_dark", background_color="default"))
        else:
            console.print(Text(diff), soft_wrap=True)
    if report:
        console.print()
        console.print(Markdown(report) if console.is_terminal else Text(report), soft_wrap=True)
    console.print()
    for line in ending(finished, session=session):
        console.print(line, soft_wrap=not console.is_terminal)


def learnt(finished: SessionFinished) -> str:
    """The report, without the heading and the reason that the last lines say again."""
    heading, _, rest = finished.report.partition(f"\n\n{finished.summary}\n")
    return rest.strip("\n") if rest and heading.startswith("# ") and "\n" not in heading else finished.report


def ending(finished: SessionFinished, *, session: str) -> Iterable[Text]:
    """Up to five lines: verdict, what changed, tests, cost, what to do next."""
    kind = finished.kind
    yield Text.assemble(
        (outcome(finished), STYLES[kind] if kind else "bold red"), f"  {printable(finished.summary)}"
    )
    if finished.delivery:
        yield _row("changed", _changes(finished.delivery.diff))
    verdict = finished.verdict
    if verdict and verdict.before and verdict.after:
        yield _row(
            "tests",
            f"before: {tally(verdict.before)}; after: {tally(verdict.after)}{_guard(verdict.guarded)}",
        )
    attempts = f"{finished.attempts} attempt{'s' * (finished.attempts != 1)}"
    yield _row(
        "cost",
        ", ".join([attempts, *amounts(finished.spent), f"{finished.seconds:.0f} s", *shares(finished.roles)]),
    )
    if finished.delivery:
        yield _row("next", _next(finished.delivery, session))
    else:
        yield _row(
            "next",
            (
                "nothing was left in the repository; the record: coder log show "
                f"{session}{_tried(finished, session)}"
            ),
        )


def _guard(guarded: Guarded | None) -> str:
    """How many ways of getting the change wrong a test would notice."""
    if guarded is None or not guarded.tried:
        return ""
    return f"; {guarded.tried - len(guarded.unguarded)} of {guarded.tried} ways to break the change noticed"


def _tried(finished: SessionFinished, session: str) -> str:
    """Where the work of an interrupted session is, if a model was at it."""
    return (
        f"; what had been changed: coder log diff {session}"
        if finished.kind is None and finished.spent.requests
        else ""
    )


def _next(delivery: Delivery, session: str) -> str:
    if delivery.merged:
        return f"it is on your branch; take it back: coder undo {session}"
    if delivery.branch:
        return (
            f"on branch {delivery.branch}; take it: coder apply {session}; take it back: coder undo {session}"
        )
    return f"nothing was written to the repository; take it: coder apply {session}"


def _changes(diff: str) -> str:
    """`a.py (+2 -1), b.py (+9)` from a git diff."""
    counts: dict[str, list[int]] = {}
    path = ""
    for line in diff.splitlines():
        if line.startswith("diff --git "):
            path = line.rsplit(" b/", 1)[-1]
            counts[path] = [0, 0]
        elif line.startswith("+") and not line.startswith("+++"):
            counts[path][0] += 1
        elif line.startswith("-") and not line.startswith("---"):
            counts[path][1] += 1
    return ", ".join(f"{path} (+{plus} -{minus})" for path, (plus, minus) in counts.items())


def tally(counts: Counts) -> str:
    """`12 passed, 1 failed`, leaving out what is zero."""
    return (
        ", ".join(f"{number} {name}" for name, number in counts.model_dump().items() if number) or "no tests"
    )


def _row(name: str, text: str) -> Text:
    return Text.assemble((f"{name:<9}", "dim"), text)
