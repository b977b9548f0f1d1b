"""`coder apply`: bring a session's fix onto the current branch."""

from pathlib import Path

from coder.cli.options import RepositoryOption, SessionArgument


def apply(id: SessionArgument, repo: RepositoryOption = Path()) -> None:
    """Bring a session's fix onto the current branch."""
    from coder.wiring import apply_session

    print(apply_session(repo, id))
