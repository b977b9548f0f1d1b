"""`coder locate`: where an issue's code stands, found without a model."""

import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coder.cli.options import UnsafeOption, issue_text

if TYPE_CHECKING:
    from coder.core.values.history import Change
    from coder.core.values.proposal import Suspected
    from coder.retrieval.locating.ranking import Likely, Located

MOST_SHOWN = 8
HISTORY_SECONDS = 5.0
"""What git has told by then is enough."""
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
    issue_file: Annotated[
        Path | None, typer.Option("--issue", metavar="FILE", help="Read the issue from a file: as @FILE.")
    ] = None,
    tests: Annotated[
        bool, typer.Option("--tests", help="Run the tests, and rank what failing ones execute as well.")
    ] = False,
    test: Annotated[
        list[str] | None,
        typer.Option("--test", metavar="ID", help="With --tests: this failing test alone; again."),
    ] = None,
    unsafe_no_sandbox: UnsafeOption = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object instead of text.")] = False,
) -> None:
    """Rank the files and definitions that an issue is about, with no model; nothing is changed, and but for --tests nothing run."""
    from coder.core.errors import UserError

    if (issue is None) == (issue_file is None) and not (tests and issue is None):
        raise UserError("Give the issue once: as text, @file or -, or with --issue FILE.")
    root = repo if repo is not None else _around(Path.cwd())
    if not root.is_dir():
        raise UserError(f"{str(root)!r} is no directory.")
    said = f"@{issue_file}" if issue_file is not None else issue
    text = issue_text(said) if said is not None else ""
    traced = _traced(root, tuple(test or ()), unsafe=unsafe_no_sandbox) if tests or test else None
    found = located(root, text) if text else None
    print(_as_json(found, traced) if json else _as_text(found, traced), flush=True)


def _traced(root: Path, tests: tuple[str, ...], *, unsafe: bool) -> "Suspected":
    from coder.cli.trusting import settle
    from coder.repo.git import find
    from coder.sandbox.choice import required
    from coder.settings import configured
    from coder.wiring.faults import suspected

    top = find(root).root
    walls = required(unsafe=unsafe, image=configured(top, {}).image)
    settle(
        top,
        attended=sys.stdin.isatty() and sys.stdout.isatty(),
        walled=walls is not None and not walls.reduced,
    )
    return suspected(
        top,
        tests,
        walls=walls,
        progress=lambda line: print(f"\r{line[:WIDTH]:<{WIDTH}}", end="\r", file=sys.stderr),
    )


def located(root: Path, text: str) -> "Located":
    """Rank with the index that is kept for a tree.

    Raises:
        UserError: its files cannot be listed.
    """
    from coder.core.errors import ToolError, UserError
    from coder.index.index import SymbolIndex
    from coder.retrieval.locating.issue_terms import clues
    from coder.retrieval.locating.ranking import locate as rank
    from coder.settings import index_database

    database = index_database(root)
    database.parent.mkdir(parents=True, exist_ok=True)
    try:
        return rank(SymbolIndex(root.resolve(), database).current(), clues(text), _recent(root))
    except ToolError as error:
        raise UserError(str(error)) from None


def _recent(root: Path) -> "tuple[Change, ...]":
    """The newest commits; none where git knows nothing of this directory as the top of a checkout."""
    from coder.core.errors import CoderError
    from coder.repo.git import find
    from coder.repo.history.history import GitHistory
    from coder.retrieval.locating.commit_history import MOST_COMMITS

    if not (root / ".git").exists():
        return ()
    try:
        place = find(root)
        return GitHistory(git=place.git, revision=place.head, seconds=HISTORY_SECONDS).recent(
            count=MOST_COMMITS
        )
    except CoderError:
        return ()


def _around(directory: Path) -> Path:
    """The checkout that a directory lies in, or itself."""
    return next((place for place in (directory, *directory.parents) if (place / ".git").exists()), directory)


def _as_json(found: "Located | None", traced: "Suspected | None") -> str:
    import json

    answer: dict[str, object] = {}
    if found is not None:
        reasons = {likely.name: likely.reasons for likely in (*found.files, *found.symbols) if likely.reasons}
        answer |= {
            "files": [likely.path for likely in found.files],
            "symbols": [likely.name for likely in found.symbols],
        }
        answer["reasons"] = reasons
    if traced is not None:
        answer |= {
            "suspects": [suspect.model_dump() for suspect in traced.suspects],
            "failing": traced.tests,
            "problem": traced.problem,
        }
    return json.dumps(answer, ensure_ascii=True)


def _as_text(found: "Located | None", traced: "Suspected | None") -> str:
    parts = [_by_tests(traced)] if traced is not None else []
    parts += [_by_words(found)] if found is not None else []
    return "\n\n".join(parts)


def _by_tests(traced: "Suspected") -> str:
    if traced.problem:
        return f"Nothing can be told from tests: {traced.problem}"
    lines = [f"Executed by failing tests ({len(traced.tests)}) and less by passing ones"]
    for number, suspect in enumerate(traced.suspects[:MOST_SHOWN], 1):
        path, colons, name = suspect.place.partition("::")
        lines.append(f"{number:>2}  {_shown(name or path)}")
        lines += [f"      {_shown(path)}:{suspect.line}, suspicion {suspect.score:.2f}"] if colons else []
    return "\n".join(lines)


def _by_words(found: "Located") -> str:
    if not found.files:
        return "Nothing in this tree says anything of the issue."
    lines = ["Files"]
    for number, likely in enumerate(found.files[:MOST_SHOWN], 1):
        lines += [f"{number:>2}  {_shown(likely.path)}", *_why(likely)]
    if found.symbols:
        lines += ["", "Definitions"]
    for number, likely in enumerate(found.symbols[:MOST_SHOWN], 1):
        if likely.item is not None:
            lines += [
                f"{number:>2}  {likely.item.name}",
                f"      {_shown(likely.path)}:{likely.item.line}",
                *_why(likely),
            ]
    return "\n".join(lines)


def _shown(path: str) -> str:
    from coder.files.ripgrep import shown

    return shown(path)


def _why(likely: "Likely") -> list[str]:
    text = "".join(character if character.isprintable() else "?" for character in "; ".join(likely.reasons))
    return textwrap.wrap(
        text, WIDTH - 6, initial_indent=" " * 6, subsequent_indent=" " * 6, max_lines=2, placeholder=" …"
    )
