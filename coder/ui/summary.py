"""Summary of a session on the screen: the diff and five lines."""

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.markdown import Markdown
from rich.syntax import Syntax
from rich.text import Text

from coder.core.events import SessionFinished
from coder.core.messages import UsageTotals
from coder.core.state import outcome_label
from coder.core.text import sanitize_text
from coder.core.values import Delivery
from coder.core.verdict import (
    DENIED,
    Counts,
    DeniedResource,
    MutationReport,
    VerdictKind,
    describe_behavior,
    describe_proof,
)

STYLES = {
    VerdictKind.PROVEN: "bold green",
    VerdictKind.PASSING: "bold yellow",
    VerdictKind.GAVE_UP: "bold red",
    VerdictKind.LIMIT: "bold red",
    VerdictKind.BROKEN: "bold red",
    VerdictKind.INCONCLUSIVE: "bold magenta",
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


def format_role_shares(roles: Mapping[str, UsageTotals]) -> list[str]:
    """Format the share of each role; empty if there is only one."""
    parts = [
        f"{role} {spent.requests} with {abbreviate_number(spent.input_tokens + spent.output_tokens)}"
        for role, spent in roles.items()
    ]
    return [f"of which {'; '.join(parts)}"] if len(parts) > 1 else []


STAGE_WORDS = {
    "base": "tests before the change",
    "targets": "tests of the issue",
    "impacted": "tests within reach",
    "suite": "all tests",
    "old tests": "earlier tests",
    "checks": "other checks",
}
"""Stages in words for the user; the others are called as they are."""


def format_stages(stages: Mapping[str, float]) -> str:
    """Format the seconds of a session by stage; empty if they are unknown or no stage took a second.

    Stages of less than a second count as other.
    """
    shown = {name: seconds for name, seconds in stages.items() if seconds >= 1 and name != "other"}
    other = sum(stages.values()) - sum(shown.values())
    parts = [f"{STAGE_WORDS.get(name, name)} {seconds:.0f}" for name, seconds in shown.items()]
    return f" ({', '.join([*parts, f'other {other:.0f}'])})" if parts else ""


def format_money(spent: UsageTotals) -> str:
    return "price unknown" if spent.cost_usd is None else f"${spent.cost_usd:.3f}"


def abbreviate_number(number: int) -> str:
    """Abbreviate a number: 950, 12.3k, 1.2M."""
    if number < 1000:
        return str(number)
    return f"{number / 1000:.1f}k" if number < 1_000_000 else f"{number / 1_000_000:.1f}M"


def print_summary(console: Console, finish_event: SessionFinished, *, session: str) -> None:
    """Print the summary of a session."""
    print_result(console, finish_event)
    for line in summary_lines(finish_event, session=session):
        console.print(line, soft_wrap=not console.is_terminal)


def print_result(console: Console, finish_event: SessionFinished) -> None:
    """Print the diff and the report of a session."""
    diff, report = (
        sanitize_text(finish_event.delivery.diff if finish_event.delivery else ""),
        sanitize_text(report_body(finish_event)),
    )
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


def report_body(finish_event: SessionFinished) -> str:
    """Return the report without its heading and the reason that the summary lines repeat."""
    heading, _, rest = finish_event.report.partition(f"\n\n{finish_event.summary}\n")
    return (
        rest.strip("\n") if rest and heading.startswith("# ") and "\n" not in heading else finish_event.report
    )


def summary_lines(
    finish_event: SessionFinished, *, session: str, command: str = "coder {} last"
) -> Iterable[Text]:
    """Yield a line each: verdict, changes, tests, what they prove, what else changes, cost, next step.

    `command` is how the user writes `apply` and `undo` for this session.
    """
    kind = finish_event.kind
    yield Text.assemble(
        (outcome_label(finish_event), STYLES[kind] if kind else "bold red"),
        f"  {sanitize_text(finish_event.summary)}",
    )
    if finish_event.delivery:
        yield _row("changed", _changed_files(finish_event.delivery.diff))
    verdict = finish_event.verdict
    if verdict and verdict.before and verdict.after:
        before = "" if verdict.before.partial else f"before: {format_counts(verdict.before)}; after: "
        yield _row("tests", f"{before}{format_counts(verdict.after)}{_mutation_result(verdict.mutation)}")
    by = "the model" if finish_event.delivery else "the change"
    if verdict and (proof := describe_proof(verdict, by=by)):
        yield _row("proof", sanitize_text(proof))
    if verdict and verdict.behavior:
        first, *examples = describe_behavior(verdict.behavior)
        yield _row("behavior", sanitize_text(first))
        for line in examples:
            yield _row("", sanitize_text(line))
    attempts = f"{finish_event.attempts} attempt{'s' * (finish_event.attempts != 1)}"
    yield _row(
        "cost",
        ", ".join(
            [
                attempts,
                *format_spending(finish_event.spent),
                f"{finish_event.seconds:.0f} s{format_stages(finish_event.stages)}",
                *format_role_shares(finish_event.roles),
            ]
        ),
    )
    if finish_event.delivery:
        yield _row("next", _next_step(finish_event.delivery, command))
    else:
        yield _row(
            "next",
            (
                "nothing was left in the repository; the record: coder log show "
                f"{session}{_interrupted_work_hint(finish_event, session)}"
            ),
        )


def _mutation_result(guarded: MutationReport | None) -> str:
    """Describe how many deliberate breakages of the change the tests notice."""
    if guarded is None or not guarded.tried:
        return ""
    return f"; tests caught {guarded.share} deliberate breakages of the change"


def _interrupted_work_hint(finish_event: SessionFinished, session: str) -> str:
    """Return how to see the work of an interrupted session, if it changed anything."""
    return (
        f"; what had been changed: coder log diff {session}"
        if finish_event.kind is None and finish_event.exit_code and finish_event.has_changes
        else ""
    )


def _next_step(delivery: Delivery, command: str) -> str:
    apply, undo = command.format("apply"), command.format("undo")
    if delivery.merged:
        return f"it is on your branch; undo: {undo}"
    if delivery.branch:
        return f"on branch {delivery.branch}; apply: {apply}; undo: {undo}"
    return f"nothing was written to the repository; apply: {apply}"


def _changed_files(diff: str) -> str:
    """Format the files of a git diff: `a.py (+2 -1), b.py (+9)`."""
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


def format_counts(counts: Counts, denied: Sequence[DeniedResource] = ()) -> str:
    """Format counts without zeros: `12 passed, 1 failed, 3 cannot run in the sandbox (no network)`.

    `denied` are the resources that the last of them lack.
    """
    lacks = f" ({', '.join(DENIED[resource] for resource in denied)})" if denied else ""
    names = {
        "passed": "passed",
        "failed": "failed",
        "skipped": "skipped",
        "denied": f"cannot run in the sandbox{lacks}",
    }
    numbers = counts.model_dump()
    return (
        ", ".join(f"{numbers[field]} {name}" for field, name in names.items() if numbers[field]) or "no tests"
    )


def _row(name: str, text: str) -> Text:
    return Text.assemble((f"{name:<9}", "dim"), text)
