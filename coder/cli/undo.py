"""`coder undo`: undo a fix."""

from pathlib import Path
from typing import Annotated

import typer

from coder.cli.apply import find_delivery
from coder.cli.options import RepositoryOption, SessionArgument


def undo(
    id: SessionArgument,
    repo: RepositoryOption = Path(),
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Take a fix back: its branch, commit and note; by a revert where the current branch holds it."""
    from coder.repo.delivery.checkout import apply_diff
    from coder.repo.delivery.checkout import undo_delivery as take_back

    delivery = find_delivery(repo, id)
    description = (
        f"the branch {delivery.branch} with {delivery.commit[:10]}"
        if delivery.branch
        else "the diff, out of the working tree"
    )
    if not yes:
        is_confirmed = typer.confirm(
            f"Take back {description}? Where the current branch holds the fix, it is reverted."
        )
        if not is_confirmed:
            print("Nothing was changed.")
            return
    if delivery.branch:
        print(take_back(repo, branch=delivery.branch, commit=delivery.commit, applied=None))
    else:
        print(apply_diff(repo, delivery.diff, reverse=True))
