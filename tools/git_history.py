"""The tool `git_history`."""

import re

from coder.core.errors import CoderError
from coder.tools.places import name_places
from coder.tools.tool import ToolError, tool
from coder.tools.workspace import Workspace

MOST_CHARACTERS = 10_000
MOST_LINES = 60


@tool
def git_history(
    workspace: Workspace, path: str = "", line: int | None = None, last_line: int | None = None, word: str = "", commit: str = ""
) -> str:
    """Show the newest ten commits: of all, of a path, of a range of lines (with blame), or with a word; or one commit.

    Args:
        path: Only commits that touch this file or directory.
        line: First line of a range of `path`.
        last_line: Its last line, at most 60 on.
        word: Only commits with this word in message or change.
        commit: Show this one, with its diff (of `path` alone, if given).
    """
    relative = workspace.resolve(path)[1] if path else None
    if commit and not re.fullmatch(r"[A-Za-z0-9][\w./^~@{}-]*", commit):
        raise ToolError(f"{commit!r} is no commit. Give a hash from this tool's other answers, or a tag.")
    try:
        text = _asked(workspace, relative, line=line, last_line=last_line, word=word, commit=commit)
    except CoderError as error:
        raise ToolError(f"git cannot answer that: {error} Check the path, line and commit.") from None
    name_places(workspace, text)
    if len(text) > MOST_CHARACTERS:
        text = f"{text[:MOST_CHARACTERS]}\n[... {len(text) - MOST_CHARACTERS:,} characters left out; give a path ...]"
    return text or "No commit fits."


def _asked(workspace: Workspace, path: str | None, *, line: int | None, last_line: int | None, word: str, commit: str) -> str:
    history = workspace.history
    if commit:
        return history.show(commit, path)
    if line is None:
        return history.log(path=path, word=word or None)
    if path is None:
        raise ToolError("A line needs the path of its file.")
    first, last = line, min(max(line, last_line or line), line + MOST_LINES - 1)
    return f"{history.blame(path, first, last)}\n{history.log(path=path, lines=(first, last))}"
