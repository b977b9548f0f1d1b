"""`coder locate`: rank the code that an issue is about, without a model."""

import json
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coder.cli.options import UnsafeOption, is_at_terminal, read_issue
from coder.core.errors import UserError
from coder.repo.git import find_root

if TYPE_CHECKING:
    from coder.core.values import SuspectRanking
    from coder.retrieval.ranking import Localization, RankedPlace

MAX_SHOWN = 8
WIDTH = 80


def locate(
    issue: Annotated[
        str | None,
        typer.Argument(metavar="ISSUE", help="What is wrong: text, @file, or - for standard input."),
    ] = None,
    repo: Annotated[
        Path | None,
        typer.Option(
            "--repo", metavar="DIR", help="The tree to look in, git or not.", show_default="this repository"
        ),
    ] = None,
    tests: Annotated[
        bool, typer.Option("--tests", help="Run the tests, and rank what failing ones execute as well.")
    ] = False,
    test: Annotated[
        list[str] | None,
        typer.Option("--test", metavar="ID", help="With --tests: this failing test alone (repeatable)."),
    ] = None,
    unsafe_no_sandbox: UnsafeOption = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object instead of text.")] = False,
) -> None:
    """Rank the files and definitions that an issue is about, with no model; nothing is changed, and but for
    --tests nothing run.
    """
    from coder.wiring.project_runtime import rank_tree

    if issue is None and not tests:
        raise UserError("Give the issue: as text, @file or -; or --tests, for what failing tests execute.")
    root = repo if repo is not None else find_root(Path.cwd()) or Path.cwd()
    if not root.is_dir():
        raise UserError(f"{str(root)!r} is no directory.")
    text = read_issue(issue) if issue is not None else ""
    trace_result = _trace_tests(root, tuple(test or ()), unsafe=unsafe_no_sandbox) if tests or test else None
    matches = rank_tree(root, text) if text else None
    print(_as_json(matches, trace_result) if json else _as_text(matches, trace_result), flush=True)


def _trace_tests(root: Path, tests: tuple[str, ...], *, unsafe: bool) -> "SuspectRanking":
    from coder.wiring.session import locate_faults

    return locate_faults(
        root,
        tests,
        unsafe=unsafe,
        confirm=typer.confirm if is_at_terminal() else None,
        progress=lambda line: print(f"\r{line[:WIDTH]:<{WIDTH}}", end="\r", file=sys.stderr),
    )


def _as_json(matches: "Localization | None", trace_result: "SuspectRanking | None") -> str:
    answer: dict[str, object] = {}
    if matches is not None:
        reasons = {
            likely.name: likely.reasons for likely in (*matches.files, *matches.symbols) if likely.reasons
        }
        answer |= {
            "files": [likely.path for likely in matches.files],
            "symbols": [likely.name for likely in matches.symbols],
        }
        answer["reasons"] = reasons
    if trace_result is not None:
        answer |= {
            "suspects": [suspect.model_dump() for suspect in trace_result.suspects],
            "failing": trace_result.tests,
            "problem": trace_result.problem,
        }
    return json.dumps(answer, ensure_ascii=True)


def _as_text(matches: "Localization | None", trace_result: "SuspectRanking | None") -> str:
    parts = [_format_suspects(trace_result)] if trace_result is not None else []
    parts += [_format_located(matches)] if matches is not None else []
    return "\n\n".join(parts)


def _format_suspects(trace_result: "SuspectRanking") -> str:
    from coder.files.ripgrep import escape_path

    if trace_result.problem:
        return f"Nothing can be told from tests: {trace_result.problem}"
    lines = [f"Executed by failing tests ({len(trace_result.tests)}) and less by passing ones"]
    for number, suspect in enumerate(trace_result.suspects[:MAX_SHOWN], 1):
        path, colons, name = suspect.place.partition("::")
        lines.append(f"{number:>2}  {escape_path(name or path)}")
        lines += (
            [f"      {escape_path(path)}:{suspect.line}, suspicion {suspect.score:.2f}"] if colons else []
        )
    return "\n".join(lines)


def _format_located(matches: "Localization") -> str:
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
