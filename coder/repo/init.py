"""A new repository, for code that has none yet."""

from pathlib import Path

from coder.repo.delivery.commits import FALLBACK
from coder.repo.git import Git, checkout
from coder.repo.worktrees.snapshot import stage, write_tree


def begin_repository(directory: Path, *, message: str) -> str:
    """Put a directory's files under git, as the first commit of the branch `main`, and return that commit."""
    git = Git(directory=directory, git_dir=directory / ".git", work_tree=directory)
    git.call("init", "--quiet", "--initial-branch=main", str(directory))
    git = checkout(directory)  # from here on what the files say counts as little as anybody's
    stage(git)
    commit = git.text("commit-tree", write_tree(git), "-m", message, environment=FALLBACK)
    git.call("update-ref", "HEAD", commit)
    return commit
