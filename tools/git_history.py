"""The tool `git_history`."""

import re

from coder.core.errors import CoderError, ToolError
from coder.tools.tool import tool
from coder.workspace.workspace import (
    Workspace,
    check_readable,
    replace_control_characters,
)

MOST_LINES = 60
LONGEST_WORD = 200


@tool()
def git_history(
    workspace: Workspace,
    path: str = "",
    line: int | None = None,
    last_line: int | None = None,
    word: str = "",
    commit: str = "",
) -> str:
    """Show the newest ten commits: of all, of a path, of lines, or with a word; or one commit.

    What takes git over 20 seconds is answered with what there was.

    Args:
        path: Only commits that touch this file or directory.
        line: First line of a range of `path`, as it was when the session began.
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
        elif line is None:
            text = workspace.history.log(path=relative, word=word or None)
        elif relative is None:
            raise ToolError("A line needs the path of its file, which search tells.")
        else:
            first = max(1, line)
            last = min(max(first, last_line or 0), first + MOST_LINES - 1)
            text = workspace.history.log(path=relative, lines=(first, last))
    except CoderError as error:
        raise ToolError(f"git cannot answer that: {error} Check the path, line and commit.") from None
    return "\n".join(map(replace_control_characters, text.split("\n"))) or "No commit fits."
