"""`coder why`: find the change that turned a test red."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from coder.cli.options import Options, with_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coder.wiring.regression import Regression

NOT_FOUND = 3


@with_options("repo", "test", "trust", "unsafe_no_sandbox", "json")
def why(
    failing_test: Annotated[str, typer.Argument(metavar="TEST", help="A test's id or name, or a test file.")],
    session: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="Search the replies of this session, from its start to the newest red one.",
            show_default="the newest one whose change you have, then the commits",
        ),
    ] = None,
    good: Annotated[
        str | None,
        typer.Option(metavar="REV", help="A commit where it is green.", show_default="found by going back"),
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="Runs in each state, so that flaky tests show.")] = 3,
    *,
    options: Options,
) -> int:
    """Find what turned a test red: a reply of a session, your uncommitted work or a commit, and its hunks.

    Your checkout, index, stash and branches stay untouched.

    Exit codes: 0 found, 3 not found, 2 wrong use, 130 interrupted.
    """
    from coder.wiring.regression import find_regression

    regression = find_regression(
        options.repo,
        failing_test,
        session=session or "",
        good=good,
        runs=runs,
        report_progress=lambda line: print(line, file=sys.stderr, flush=True),
        **options.runtime,
    )
    print(regression.model_dump_json() if options.json else "\n".join(regression_lines(regression)))
    return 0 if regression.stage else NOT_FOUND


def regression_lines(regression: "Regression") -> "Iterator[str]":
    """Yield the lines that explain why a test is red."""
    verb = "" if regression.now.light == "untestable" else "is "
    yield f"{regression.test} {verb}{regression.now.line}"
    for state in regression.skipped:
        yield f"skipped: {state}"
    if not regression.stage:
        yield f"{regression.explanation} ({regression.runs} runs)"
        return
    yield f"green until: {regression.green}"
    yield f"red since:   {regression.culprit}"
    if regression.suspects:
        yield f"or one of these, which could not be tested: {'; '.join(regression.suspects)}"
    names = regression.hunks
    verb = "alone turns" if len(names) == 1 else "together turn"
    yield f"{' and '.join([', '.join(names[:-1]), names[-1]] if names[1:] else names)} {verb} it red:"
    yield ""
    yield regression.diff.rstrip("\n")
    yield ""
    remedy = "It cannot be taken out alone: your files differ there now."
    if regression.removable:
        remedy = "Without it your files pass the test: coder why TEST | coder apply --reverse -"
    yield f"{remedy} ({regression.runs} runs)"
