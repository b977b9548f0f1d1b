"""`coder locate`: where an issue's code stands, found without a model."""

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coder.cli.options import issue_text

if TYPE_CHECKING:
    from coder.tools.locating.ranking import Likely, Located

MOST_SHOWN = 8
WIDTH = 80


def locate(
    issue: Annotated[str | None, typer.Argument(metavar="ISSUE", help="What is wrong: text, @file, or - for standard input.")] = None,
    repo: Annotated[
        Path | None, typer.Option("--repo", metavar="DIR", help="The tree to look in, git or not.", show_default="this repository")
    ] = None,
    issue_file: Annotated[Path | None, typer.Option("--issue", metavar="FILE", help="Read the issue from a file: as @FILE.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object instead of text.")] = False,
) -> None:
    """Rank the files and definitions that an issue is about, with no model; nothing is run and nothing is changed."""
    from coder.core.errors import UserError

    if (issue is None) == (issue_file is None):
        raise UserError("Give the issue once: as text, @file or -, or with --issue FILE.")
    text = issue_text(f"@{issue_file}" if issue is None else issue)
    root = repo if repo is not None else _around(Path.cwd())
    if not root.is_dir():
        raise UserError(f"{str(root)!r} is no directory.")
    found = located(root, text)
    print(_as_json(found) if json else _as_text(found), flush=True)


def located(root: Path, text: str) -> "Located":
    """Rank with the index that is kept for a tree."""
    from coder.settings import index_database
    from coder.tools.locating.clues import clues
    from coder.tools.locating.ranking import locate as rank
    from coder.tools.symbols.index import SymbolIndex

    database = index_database(root)
    database.parent.mkdir(parents=True, exist_ok=True)
    return rank(SymbolIndex(root.resolve(), database).current(), clues(text))


def _around(directory: Path) -> Path:
    """The checkout that a directory lies in, or itself."""
    return next((place for place in (directory, *directory.parents) if (place / ".git").exists()), directory)


def _as_json(found: "Located") -> str:
    import json

    reasons = {likely.name: likely.reasons for likely in (*found.files, *found.symbols) if likely.reasons}
    answer = {"files": [likely.path for likely in found.files], "symbols": [likely.name for likely in found.symbols], "reasons": reasons}
    return json.dumps(answer, ensure_ascii=True)


def _as_text(found: "Located") -> str:
    if not found.files:
        return "Nothing in this tree says anything of the issue."
    lines = ["Files"]
    for number, likely in enumerate(found.files[:MOST_SHOWN], 1):
        lines += [f"{number:>2}  {_shown(likely.path)}", *_why(likely)]
    if found.symbols:
        lines += ["", "Definitions"]
    for number, likely in enumerate(found.symbols[:MOST_SHOWN], 1):
        if likely.item is not None:
            lines += [f"{number:>2}  {likely.item.name}", f"      {_shown(likely.path)}:{likely.item.line}", *_why(likely)]
    return "\n".join(lines)


def _shown(path: str) -> str:
    from coder.tools.ripgrep import shown

    return shown(path)


def _why(likely: "Likely") -> list[str]:
    text = "".join(character if character.isprintable() else "?" for character in "; ".join(likely.reasons))
    return textwrap.wrap(text, WIDTH - 6, initial_indent=" " * 6, subsequent_indent=" " * 6, max_lines=2, placeholder=" …")
