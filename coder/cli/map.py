"""`coder map`: record which code and files each test uses."""

import sys
from typing import Annotated

import typer

from coder.cli.options import Options, with_options

WIDTH = 80


@with_options("repo", "test", "trust", "unsafe_no_sandbox")
def record(
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", min=1, help="End after that time; the next run goes on from there."),
    ] = None,
    *,
    options: Options,
) -> int:
    """Record which code and files each test of HEAD uses, so that a change is judged by the tests that it
    affects. Only tests that are new or affected since the last time are run.
    """
    from coder.wiring.mapping import record_head

    covered, file = record_head(options.repo, seconds=seconds, progress=_report_progress, **options.runtime)
    print(
        f"map: {covered.covered:,} of {covered.files:,} test files, {covered.tests:,} tests, "
        f"{covered.bytes / 1e6:.1f} MB, {file}"
    )
    return 0


def _report_progress(line: str) -> None:
    """Show a line of progress: in place at a terminal, of whole runs alone in a log."""
    if sys.stderr.isatty():
        print(f"\r{line[:WIDTH]:<{WIDTH}}", end="\r", file=sys.stderr, flush=True)
    elif line.endswith("test files"):
        print(line, file=sys.stderr, flush=True)
