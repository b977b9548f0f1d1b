"""The tool `git_history`."""

import re

from coder.core.errors import CoderError, ToolError
from coder.files.ripgrep import shown
from coder.index import definitions, named
from coder.retrieval.hotspots import hottest
from coder.tools.tool import tool
from coder.workspace.files import check_readable, text_of, visible
from coder.workspace.places import name_places
from coder.workspace.workspace import Workspace

MOST_CHARACTERS = 10_000
MOST_LINES = 60
LONGEST_WORD = 200


@tool
def git_history(
    workspace: Workspace,
    path: str = "",
    symbol: str = "",
    line: int | None = None,
    last_line: int | None = None,
    word: str = "",
    commit: str = "",
    hot: bool = False,
) -> str:
    """Show the newest ten commits: of all, of a path, of a symbol or lines (and who made them), or with a word; one commit; or what is hot.

    What takes git over 20 seconds is answered with what there was; an answer has at most 10,000 characters.

    Args:
        path: Only commits that touch this file or directory.
        symbol: A definition in `path`: `Parser.parse`.
        line: First line of a range of `path`.
        last_line: Its last line, at most 60 on.
        word: Only commits with this text in message or change.
        commit: Show this one, with its diff (of `path` alone, if given).
        hot: The files and functions (below `path`) that most of the newest 200 commits changed.
    """
    relative = workspace.resolve(path)[1] if path else None
    if relative:
        check_readable(workspace, relative)
    if commit and not re.fullmatch(r"[A-Za-z0-9][\w./^~@{}-]*", commit):
        raise ToolError(f"{commit!r} is no commit. Give a hash from this tool's other answers, or a tag.")
    if len(word) > LONGEST_WORD or "\0" in word:
        raise ToolError(
            f"A word has at most {LONGEST_WORD} characters and no NUL. Give the most telling part of it."
        )
    try:
        if hot:
            text = hottest(workspace, relative)
        else:
            text = _asked(
                workspace, relative, symbol=symbol, line=line, last_line=last_line, word=word, commit=commit
            )
    except CoderError as error:
        raise ToolError(f"git cannot answer that: {error} Check the path, line and commit.") from None
    name_places(workspace, text)
    if len(text) > MOST_CHARACTERS:
        text = f"{text[:MOST_CHARACTERS]}\n[... {len(text) - MOST_CHARACTERS:,} characters left out; give a path ...]"
    return "\n".join(map(visible, text.split("\n"))) or "No commit fits."


def _asked(
    workspace: Workspace,
    path: str | None,
    *,
    symbol: str,
    line: int | None,
    last_line: int | None,
    word: str,
    commit: str,
) -> str:
    if commit:
        return workspace.history.show(commit, path)
    if line is None and not symbol:
        return workspace.history.log(path=path, word=word or None)
    if path is None:
        raise ToolError("A line or symbol needs the path of its file, which search and find_symbol tell.")
    first, last = (
        _of_symbol(workspace, path, symbol)
        if symbol
        else _at_base(workspace, path, line or 1, max(line or 1, last_line or 0))
    )
    last = min(last, first + MOST_LINES - 1)
    made, commits = (
        workspace.history.blame(path, first, last),
        workspace.history.log(path=path, lines=(first, last)),
    )
    others = [commit for commit in commits.split("\n") if commit.partition(" ")[0] not in made]
    before = (
        "\n".join(["Newest other commits that changed them:", *others])
        if others
        else "No other commit changed them lately."
    )
    return f"Lines {first}-{last} of {shown(path)} were made by\n{made}\n{before}"


def _base(workspace: Workspace, path: str) -> str:
    """The file as the session found it: what this session changes is not in git's history."""
    base = workspace.history.file(path)
    if base is None:
        raise ToolError(
            f"{shown(path)} is no text file that git had when the session began, so it has no history."
        )
    return base.replace("\r\n", "\n")


def _of_symbol(workspace: Workspace, path: str, symbol: str) -> tuple[int, int]:
    found = definitions(path, _base(workspace, path))
    meant = named(symbol, found)
    if len(meant) == 1:
        return meant[0].start, meant[0].end
    names = ", ".join(item.name for item in meant or found if item.kind != "variable")[:600]
    if meant:
        raise ToolError(
            f"{shown(path)} defines {symbol!r} {len(meant)} times, as {names}. Give the dotted name, or line= and last_line=."
        )
    raise ToolError(
        f"{shown(path)} did not define {symbol!r} when the session began. It defined: {names or 'nothing that can be made out'}."
    )


def _at_base(workspace: Workspace, path: str, first: int, last: int) -> tuple[int, int]:
    """Lines of the file as it is now as those it had at the base: below what this session changed they have moved."""
    base, now = _base(workspace, path).split("\n"), text_of(workspace.root, path).split("\n")
    if base == now:
        return first, last
    same = min(len(base), len(now))
    above = next((index for index in range(same) if base[index] != now[index]), same)
    below = next(
        (index for index in range(same - above) if base[-1 - index] != now[-1 - index]), same - above
    )
    moved = len(base) - len(now)
    start = first if first <= above else first + moved if first > len(now) - below else above + 1
    end = last if last <= above else last + moved if last > len(now) - below else len(base) - below
    return start, max(start, end)
