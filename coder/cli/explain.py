"""Commands that explain code and behavior: locate, compare, why."""

import sys
import textwrap
from collections.abc import Iterator
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coder.cli.options import Options, read_issue, with_options
from coder.core.errors import SameTreesError, UserError
from coder.core.paths import find_command_tests
from coder.repo.git import find_root

if TYPE_CHECKING:
    from coder.behavior.comparison import BehaviorComparison, ComparedFunction
    from coder.retrieval.ranking import Localization, RankedPlace
    from coder.wiring.regression import Regression

MAX_SHOWN = 8
WIDTH = 80


def locate(
    issue: Annotated[
        str, typer.Argument(metavar="ISSUE", help="What is wrong: text, @file, or - for standard input.")
    ],
    repo: Annotated[
        Path | None,
        typer.Option(
            "--repo", metavar="DIR", help="The tree to look in, git or not.", show_default="this repository"
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object instead of text.")] = False,
) -> None:
    """Rank the files and definitions that an issue is about, with no model; nothing is changed or run."""
    from coder.wiring.project_runtime import rank_tree

    root = repo if repo is not None else find_root(Path.cwd()) or Path.cwd()
    if not root.is_dir():
        raise UserError(f"{str(root)!r} is no directory.")
    matches = rank_tree(root, read_issue(issue))
    print(_as_json(matches) if json else _as_text(matches), flush=True)


def _as_json(matches: "Localization") -> str:
    answer = {
        "files": [likely.path for likely in matches.files],
        "symbols": [likely.name for likely in matches.symbols],
        "reasons": {
            likely.name: likely.reasons for likely in (*matches.files, *matches.symbols) if likely.reasons
        },
    }
    return dumps(answer, ensure_ascii=True)


def _as_text(matches: "Localization") -> str:
    from coder.files.ripgrep import escape_path

    if not matches.files:
        return "No match: no file or definition here shares a telling word with the issue."
    lines = ["Files"]
    for number, likely in enumerate(matches.files[:MAX_SHOWN], 1):
        lines += [f"{number:>2}  {escape_path(likely.path)}", *_format_reasons(likely)]
    if matches.symbols:
        lines += ["", "Definitions"]
    for number, likely in enumerate(matches.symbols[:MAX_SHOWN], 1):
        if likely.item is not None:
            lines += [
                f"{number:>2}  {likely.item.name}",
                f"      {escape_path(likely.path)}:{likely.item.line}",
                *_format_reasons(likely),
            ]
    return "\n".join(lines)


def _format_reasons(likely: "RankedPlace") -> list[str]:
    text = "".join(character if character.isprintable() else "?" for character in "; ".join(likely.reasons))
    return textwrap.wrap(
        text, WIDTH - 6, initial_indent=" " * 6, subsequent_indent=" " * 6, max_lines=2, placeholder=" …"
    )


SAME, DIFFERENT, NOT_COMPARED = 0, 1, 7
"""Exit codes of a comparison."""
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
        print(dumps(row) if options.json else f"{error}".partition(":")[0] + ": no file differs.")
        return SAME
    functions = comparison.functions() if comparison else []
    code = _comparison_code(functions)
    if options.json:
        rows = [row.model_dump(mode="json") for row in functions]
        print(dumps({"change": label, "exit_code": code, **_totals(functions), "functions": rows}))
    else:
        print(*_comparison_lines(label, functions, comparison), sep="\n")
    return code


def _comparison_code(functions: list["ComparedFunction"]) -> int:
    if not any(row.inputs for row in functions):
        return NOT_COMPARED
    return DIFFERENT if any(row.changed for row in functions) else SAME


def _totals(functions: list["ComparedFunction"]) -> dict[str, int]:
    return {
        name: sum(getattr(row, name) for row in functions)
        for name in ("calls", "compared", "inputs", "changed")
    }


def _comparison_lines(
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


def regression_lines(regression: "Regression") -> Iterator[str]:
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
