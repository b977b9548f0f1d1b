"""`coder locate`: rank the code that an issue is about, without a model."""

import json
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coder.cli.options import read_issue
from coder.core.errors import UserError
from coder.repo.git import find_root

if TYPE_CHECKING:
    from coder.retrieval.ranking import Localization, RankedPlace

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
    return json.dumps(answer, ensure_ascii=True)


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
