"""`coder compare`: show what a change alters in the behavior of a program."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coder.cli.options import Options, with_options
from coder.core.errors import SameTreesError
from coder.core.paths import find_command_tests

if TYPE_CHECKING:
    from coder.behavior.comparison import BehaviorComparison, ComparedFunction

SAME, DIFFERENT, NOT_COMPARED = 0, 1, 7
"""Exit codes."""
SECONDS = 60.0


@with_options("repo", "against", "test", "trust", "unsafe_no_sandbox", "json")
def compare(
    change: Annotated[
        str | None,
        typer.Argument(
            metavar="REV",
            help="A commit, branch or range A..B.",
            show_default="the uncommitted work; of a clean branch, the branch",
        ),
    ] = None,
    environment: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Virtual environment for the change, such as one with upgrades."),
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=1, metavar="N", help="Time for repeating calls, beside that of the tests.")
    ] = SECONDS,
    *,
    options: Options,
) -> int:
    """Compare what the calls that tests make return, raise, print and alter, before and after a change.

    Each call is repeated as it was made and with varied arguments. No test result counts: for refactorings
    and upgrades.

    Exit codes: 0 the same, 1 differences, 7 nothing could be compared, 2 wrong use.
    """
    from coder.wiring.comparing import compare_behavior

    try:
        label, comparison = compare_behavior(
            options.repo,
            revision=change,
            against=options.against,
            tests=find_command_tests(options.test) if options.test else (),
            environment=environment,
            seconds=seconds,
            progress=lambda line: print(line, file=sys.stderr, flush=True),
            **options.runtime,
        )
    except SameTreesError as error:
        row: dict[str, object] = {"change": change, "exit_code": SAME, **_totals([]), "functions": []}
        print(json.dumps(row) if options.json else f"{error}".partition(":")[0] + ": no file differs.")
        return SAME
    functions = comparison.functions() if comparison else []
    code = _exit_code(functions)
    if options.json:
        rows = [row.model_dump(mode="json") for row in functions]
        print(json.dumps({"change": label, "exit_code": code, **_totals(functions), "functions": rows}))
    else:
        print(*_table(label, functions, comparison), sep="\n")
    return code


def _exit_code(functions: list["ComparedFunction"]) -> int:
    if not any(row.inputs for row in functions):
        return NOT_COMPARED
    return DIFFERENT if any(row.changed for row in functions) else SAME


def _totals(functions: list["ComparedFunction"]) -> dict[str, int]:
    return {
        name: sum(getattr(row, name) for row in functions)
        for name in ("calls", "compared", "inputs", "changed")
    }


def _table(
    label: str, functions: list["ComparedFunction"], comparison: "BehaviorComparison | None"
) -> list[str]:
    """Return the lines of the text output: a summary, then the functions that differ with examples."""
    from coder.core.verdict_summary import describe_example
    from coder.workspace.workspace import format_count

    totals = _totals(functions)
    if comparison is not None and comparison.is_cut and not totals["inputs"]:
        longer = "give it longer (--seconds), or one test whose calls count (--test)"
        return [f"Nothing could be compared of {label} in the time: {longer}."]
    if not totals["calls"] and comparison is not None and comparison.problem:
        return [f"Nothing could be compared of {label}: {comparison.problem}"]
    if not totals["calls"]:
        return [
            f"Nothing to compare: no test of {label} makes a call that enters the change and can be repeated."
        ]
    share = f"{totals['compared']} of {totals['calls']} calls compared"
    cut = (
        "; others were left out (--seconds, or very many of one function)"
        if comparison and comparison.is_cut
        else ""
    )
    differing = [row for row in functions if row.changed]
    if not totals["inputs"]:
        calls = format_count(totals["calls"], "call")
        return [f"Nothing could be compared of {label}: none of {calls} of tests can be repeated."]
    answers = f"{totals['changed']} of {totals['inputs']} inputs (variations included) differ"
    if not differing:
        answers = f"the same on {totals['inputs']} inputs (variations included)"
    count = format_count(len(functions), "function")
    lines = [f"{label}: {answers}; {share} of {count}{cut}."]
    for row in differing:
        lines += [
            "",
            f"{row.path} {row.name}: {row.changed} of {row.inputs} tried calls now answer differently",
        ]
        lines += [f"  {describe_example(example)}" for example in row.examples]
    return lines
