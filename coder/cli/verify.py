"""`coder verify`: judge any change, a person's too."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coder.cli.options import RepositoryOption, UnsafeOption, issue_text

if TYPE_CHECKING:
    from coder.core.task import Task
    from coder.settings import Config

UNSAID = "(nobody said what the change is for)"


def verify(
    change: Annotated[
        str | None,
        typer.Argument(
            metavar="REV|DIFF",
            help="A commit, branch, range A..B, file with a diff, or - for a diff on standard input.",
            show_default="the uncommitted work",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="REV", help="What to compare with.", show_default="HEAD; of a branch, where it began; of a commit, its parent"
        ),
    ] = None,
    issue: Annotated[
        str, typer.Option(metavar="ISSUE", help="What the change is for, as for fix.", show_default="the commit's message")
    ] = "",
    repo: RepositoryOption = Path(),
    test: Annotated[str | None, typer.Option(metavar="CMD", help="The project's test command.", show_default="found out")] = None,
    trust: Annotated[bool, typer.Option("--trust", help="Run this repository's code without asking, this once.")] = False,
    unsafe_no_sandbox: UnsafeOption = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line instead of text.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show more on the way.")] = False,
) -> int:
    """Judge a change, whoever made it: red before, green after, nothing broken, in clean worktrees.

    Exit codes: 0 PROVEN, 3 PASSING, 6 BROKEN, 7 INCONCLUSIVE, 2 wrong use, 130 interrupted.
    """
    from coder.cli.fix import task_for
    from coder.cli.running import run_task
    from coder.wiring import judging

    try:
        how, given = judging(repo, diff=_diff(change, repo), revision=change, against=against)

        def task(root: Path, config: "Config") -> "Task":
            text = issue_text(issue) if issue else given.issue or UNSAID
            return task_for(text, config, directory=root, base=given.base, given=True)

        flags: dict[str, Any] = {"test": test}
        return run_task(repo, task, flags=flags, trusted=trust, unsafe=unsafe_no_sandbox, json=json, output=None, verbose=verbose, how=how)
    except KeyboardInterrupt:
        print("Interrupted before the work began; your files are as they were.", file=sys.stderr)
        return 130


def _diff(change: str | None, repo: Path) -> str | None:
    """The text of a diff, where the change is one: a revision of the same name comes first."""
    from coder.core.errors import UserError
    from coder.wiring import is_revision

    if change == "-":
        return sys.stdin.read()
    if change is None or is_revision(repo, change) or not Path(change).is_file():
        return None
    try:
        return Path(change).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UserError(f"The diff {change!r} cannot be read: {error.strerror}.") from None
