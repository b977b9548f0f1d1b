"""`coder undo`: take a fix back."""

from pathlib import Path
from typing import Annotated

import typer

from coder.cli.options import RepositoryOption, SessionArgument


def undo(
    id: SessionArgument,
    repo: RepositoryOption = Path(),
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Take a fix back: its branch, commit and note; by a revert once it was merged."""
    from coder.wiring import undo_session, undoing

    print(undoing(repo, id))
    if not yes:
        typer.confirm("Go on?", abort=True)
    print(undo_session(repo, id))
