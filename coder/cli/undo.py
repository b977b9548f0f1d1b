"""`coder undo`: undo a fix."""

from pathlib import Path
from typing import Annotated

import typer

from coder.cli.apply import find_delivery, find_earlier_deliveries, take_out_diff
from coder.cli.options import RepositoryOption, SessionArgument


def undo(
    id: SessionArgument,
    repo: RepositoryOption = Path(),
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Take a fix back: its branch, commit and note; by a revert where the current branch holds it."""
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
    print(undo_session(repo, id))


def undo_session(repo: Path, id: str) -> str:
    """Take back what a session delivered; return a sentence.

    Raises:
        UserError: it cannot be taken back; nothing was changed.
    """
    from coder.repo.delivery.checkout import undo_delivery

    delivery = find_delivery(repo, id)
    if not delivery.branch:
        return take_out_diff(repo, id)
    on_same_branch = (
        earlier.commit
        for earlier in reversed(find_earlier_deliveries(repo, id))
        if earlier.branch == delivery.branch
    )
    return undo_delivery(
        repo,
        branch=delivery.branch,
        commit=delivery.commit,
        applied=None,
        earlier=next(on_same_branch, ""),
    )
