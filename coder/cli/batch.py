"""`coder batch`: fix many issues, on this machine or on a cluster."""

import sys
from collections import Counter
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coder.cli.options import MODEL, Options, open_executor, read_file, with_options
from coder.core.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coder.batch import Batch, IssueProgress, RejectedLine


@with_options(
    *MODEL, "strategy", "attempts", "test", "max_usd", "max_seconds", "on", "trust", "unsafe_no_sandbox"
)
def batch(
    issues: Annotated[
        Path,
        typer.Argument(
            metavar="ISSUES.jsonl",
            help="A JSON object a line: issue; optional: id, repo, base, strategy, model, test, limits.",
        ),
    ],
    output: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where results are kept.", show_default="batch-ISSUES")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the batch in that directory: what is done stays.")
    ] = False,
    *,
    options: Options,
) -> int:
    """Fix many issues, each in a session of its own from a commit, and keep a folder of evidence for each.

    The limits of money and time are those of the whole batch: each session gets an equal share of what is
    left. Fixes are diffs (coder apply DIR/ID/fix.diff); no repository is changed. Exit codes: 0 all are done,
    whatever their verdicts; 1 some are not; 2 wrong use; 130 interrupted.
    """
    from coder.batch import Batch, BatchFolder, BatchOptions, parse_issues

    rows, rejected = parse_issues(read_file(issues, kind="file").split("\n"))
    if not rows and not rejected:
        raise UserError(f'{issues} holds no issues: write a JSON object a line, such as {{"issue": "..."}}.')
    folder = BatchFolder(output or Path(f"batch-{issues.stem}"))
    if not resume and folder.read_results():
        raise UserError(
            f"{folder.path} holds results already. To go on: --resume. Else name another --output."
        )
    flags = {
        **options.settings,
        "max_usd": None,
        "max_seconds": None,
    }
    with ExitStack() as stack:
        stack.enter_context(folder.lock())
        executor = stack.enter_context(open_executor(options.on or "local"))
        run = Batch(
            rows,
            options=BatchOptions(
                beside=issues.resolve().parent,
                flags=flags,
                max_usd=options.settings["max_usd"],
                max_seconds=options.max_seconds,
                trusted=options.trust,
                unsafe=options.unsafe_no_sandbox,
            ),
            folder=folder,
            executor=executor,
            report=_report,
        )
        _announce(run, rejected, place=executor.label)
        try:
            run.run()
        except KeyboardInterrupt:
            print(
                f"Interrupted; what is done is kept in {folder.path}. To go on, add --resume.",
                file=sys.stderr,
            )
            return 130
        finally:
            _write_table(run, rejected, folder.path)
    return _print_summary(run, rejected, folder.path)


def _print_summary(run: "Batch", rejected: "Sequence[RejectedLine]", directory: Path) -> int:
    """Print the counts of verdicts and everything that was not done; return the exit code.

    The first line is such as `3 of 7 done: 3 PROVEN; $0.0100`.
    """
    entries = [*run.progress.values()]
    missing = [entry for entry in entries if not entry.result]
    labels = Counter(entry.result.label for entry in entries if entry.result)
    counts = ", ".join(f"{count} {label}" for label, count in labels.most_common())
    done = f"{sum(labels.values())} of {len(entries) + len(rejected)} done{f': {counts}' if counts else ''}"
    print(f"{done}; {_format_usd(run.spent_usd, unpriced=any(map(_is_unpriced, entries)))}")
    for line in rejected:
        print(f"not done  line {line.line}: {line.reason}")
    for entry in missing:
        print(f"not done  {entry.issue.id}: {entry.reason}")
    print(f"Results: {directory}")
    return 1 if missing or rejected else 0


def _format_usd(usd: Decimal, *, unpriced: bool = False) -> str:
    """Format an amount; of work whose price is not known in part, the rest."""
    if not unpriced:
        return f"${usd:.4f}"
    return f"${usd:.4f} and an unknown price" if usd else "price unknown"


def _is_unpriced(entry: "IssueProgress") -> bool:
    return entry.result is not None and entry.result.spent.cost_usd is None


def _write_table(run: "Batch", rejected: "Sequence[RejectedLine]", directory: Path) -> None:
    """Write table.md into the folder of a batch: a row for each issue; where it cannot be, warn."""
    from coder.bench.runner import markdown_table

    rows = []
    for entry in run.progress.values():
        result = entry.result
        label, why = (result.label, result.summary) if result else ("not done", entry.reason or entry.state)
        seconds, worker = (f"{result.seconds:.1f}", result.worker) if result else ("", entry.worker)
        cost = "unknown" if _is_unpriced(entry) else f"{entry.spent_usd:.4f}"
        rows.append((entry.issue.id, label, seconds, cost, worker, " ".join(why.split())))
    rows += [(f"line {line.line}", "not done", "", "", "", line.reason) for line in rejected]
    table = markdown_table(("issue", "verdict", "seconds", "USD", "where", "why"), rows)
    try:
        (directory / "table.md").write_text(f"{table}\n", encoding="utf-8")
    except OSError as error:
        print(f"table.md cannot be written: {error.strerror}.", file=sys.stderr)


def _report(entry: "IssueProgress") -> None:
    """Print a line on an issue that ends or begins anew."""
    text, result = entry.reason, entry.result
    if entry.state == "done" and result is not None:
        cost = _format_usd(entry.spent_usd, unpriced=_is_unpriced(entry))
        text = f"{result.label}, {result.seconds:.1f} s, {cost}"
    elif entry.state == "not done":
        text = f"not done: {entry.reason}"
    if text:
        print(f"{entry.issue.id}: {text}", file=sys.stderr, flush=True)
        entry.reason = entry.reason if entry.state == "not done" else ""


def _announce(run: "Batch", rejected: "Sequence[RejectedLine]", *, place: str) -> None:
    known = sum(entry.state == "done" for entry in run.progress.values())
    before = f", {known} of them done before" if known else ""
    print(f"{len(run.progress)} issues{before}, on {place}", file=sys.stderr)
    for line in rejected:
        print(f"line {line.line}: {line.reason}", file=sys.stderr)
