"""Creation of a repository for code that has none yet."""

from pathlib import Path

from coder.repo.delivery.commits import FALLBACK_IDENTITY
from coder.repo.git import Git, find_git
from coder.repo.worktrees.snapshot import stage_work_tree, write_tree


def init_repository(directory: Path, *, message: str) -> str:
    """Create a repository with a directory's files as the first commit of `main`; return that commit."""
    git = Git(directory=directory, git_dir=directory / ".git", work_tree=directory)
    git.call("init", "--quiet", "--initial-branch=main", str(directory))
    git = find_git(directory)  # from here on, the repository's configuration is ignored, as everywhere
    stage_work_tree(git)
    commit = git.text("commit-tree", write_tree(git), "-m", message, environment=FALLBACK_IDENTITY)
    git.call("update-ref", "HEAD", commit)
    return commit
