"""The tool `git_history`."""

import re

from coder.core.errors import CoderError, ToolError
from coder.files.ripgrep import escape_path
from coder.index import definitions, match_definitions
from coder.tools.tool import tool
from coder.workspace.workspace import (
    Workspace,
    check_readable,
    read_text_or_empty,
    replace_control_characters,
)

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
) -> str:
    """Show the newest ten commits: of all, of a path, of a symbol or lines (and who made them), or with a word; or one commit.

    What takes git over 20 seconds is answered with what there was; an answer has at most 10,000 characters.

    Args:
        path: Only commits that touch this file or directory.
        symbol: A definition in `path`: `Parser.parse`.
        line: First line of a range of `path`.
        last_line: Its last line, at most 60 on.
        word: Only commits with this text in message or change.
        commit: Show this one, with its diff (of `path` alone, if given).
    """
    relative = workspace.resolve_path(path)[1] if path else None
    if relative:
        check_readable(workspace, relative)
    if commit and not re.fullmatch(r"[A-Za-z0-9][\w./^~@{}-]*", commit):
        raise ToolError(f"{commit!r} is no commit. Give a hash from this tool's other answers, or a tag.")
    if len(word) > LONGEST_WORD or "\0" in word:
        raise ToolError(
            f"A word has at most {LONGEST_WORD} characters and no NUL. Give the most telling part of it."
        )
    try:
        if commit:
            text = workspace.history.show(commit, relative)
        elif line is None and not symbol:
            text = workspace.history.log(path=relative, word=word or None)
        elif relative is None:
            raise ToolError("A line or symbol needs the path of its file, which search tells.")
        else:
            end = max(line or 1, last_line or 0)
            first, last = (
                _symbol_lines(workspace, relative, symbol)
                if symbol
                else _map_to_base(workspace, relative, line or 1, end)
            )
            text = _describe_lines(workspace, relative, first, min(last, first + MOST_LINES - 1))
    except CoderError as error:
        raise ToolError(f"git cannot answer that: {error} Check the path, line and commit.") from None
    if len(text) > MOST_CHARACTERS:
        text = (
            f"{text[:MOST_CHARACTERS]}\n[... {len(text) - MOST_CHARACTERS:,} characters left "
            "out; give a path ...]"
        )
    return "\n".join(map(replace_control_characters, text.split("\n"))) or "No commit fits."


def _describe_lines(workspace: Workspace, path: str, first: int, last: int) -> str:
    blame_rows, commits = (
        workspace.history.blame(path, first, last),
        workspace.history.log(path=path, lines=(first, last)),
    )
    others = [commit for commit in commits.split("\n") if commit.partition(" ")[0] not in blame_rows]
    before = (
        "\n".join(["Newest other commits that changed them:", *others])
        if others
        else "No other commit changed them lately."
    )
    return f"Lines {first}-{last} of {escape_path(path)} were made by\n{blame_rows}\n{before}"


def _base(workspace: Workspace, path: str) -> str:
    """Return the file as of the session's start: changes of this session are not in git's history."""
    base = workspace.history.read_file(path)
    if base is None:
        raise ToolError(
            f"{escape_path(path)} is no text file that git had when the session began, so it has no history."
        )
    return base.replace("\r\n", "\n")


def _symbol_lines(workspace: Workspace, path: str, symbol: str) -> tuple[int, int]:
    file_definitions = definitions(path, _base(workspace, path))
    matches = match_definitions(symbol, file_definitions)
    if len(matches) == 1:
        return matches[0].start, matches[0].end
    names = ", ".join(
        definition.name for definition in matches or file_definitions if definition.kind != "variable"
    )[:600]
    if matches:
        raise ToolError(
            f"{escape_path(path)} defines {symbol!r} {len(matches)} times, as {names}. Give the "
            "dotted name, or line= and last_line=."
        )
    raise ToolError(
        f"{escape_path(path)} did not define {symbol!r} when the session began. It defined: "
        f"{names or 'nothing that can be made out'}."
    )


def _map_to_base(workspace: Workspace, path: str, first: int, last: int) -> tuple[int, int]:
    """Map lines of the current file to those at the base, shifted by this session's changes."""
    base, current = _base(workspace, path).split("\n"), read_text_or_empty(workspace.root, path).split("\n")
    if base == current:
        return first, last
    common_length = min(len(base), len(current))
    above = next((index for index in range(common_length) if base[index] != current[index]), common_length)
    below = next(
        (index for index in range(common_length - above) if base[-1 - index] != current[-1 - index]),
        common_length - above,
    )
    shift = len(base) - len(current)
    start = first if first <= above else first + shift if first > len(current) - below else above + 1
    end = last if last <= above else last + shift if last > len(current) - below else len(base) - below
    return start, max(start, end)
