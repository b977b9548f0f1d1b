"""`coder apply`: bring a session's fix onto the current branch."""

from pathlib import Path
from typing import TYPE_CHECKING

from coder.cli.options import RepositoryOption, SessionArgument

if TYPE_CHECKING:
    from coder.core.candidate import Delivery


def apply(id: SessionArgument, repo: RepositoryOption = Path()) -> None:
    """Bring a session's fix onto the current branch; a fix that is only a diff goes into the working tree."""
    from coder.repo.delivery import apply_commit, apply_diff

    delivery = delivered(repo, id)
    print(apply_commit(repo, delivery.commit) if delivery.commit else apply_diff(repo, delivery.diff))


def delivered(repo: Path, id: str) -> "Delivery":
    """What a session of this repository delivered.

    Raises:
        UserError: it is not known, or it delivered nothing.
    """
    from coder.core.errors import UserError
    from coder.store.jsonl import ends, find
    from coder.wiring import repository_root, sessions_directory

    directory = find(sessions_directory(), id, repository=repository_root(repo), delivered=True)
    finished = ends(directory)[1]
    if finished is None or finished.delivery is None:
        raise UserError(f"Session {directory.name} delivered no fix. What it tried: coder log show {directory.name}")
    return finished.delivery
