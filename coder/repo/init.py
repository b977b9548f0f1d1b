"""Creation of a repository for code that has none yet."""

from pathlib import Path

from coder.core.values.candidate import NewCommit
from coder.repo.delivery.commits import FALLBACK_IDENTITY, make_commit, sign_if_configured
from coder.repo.git import Git, find_git
from coder.repo.worktrees.snapshot import stage_work_tree, write_tree


def init_repository(directory: Path, *, message: str) -> str:
    """Create a repository with a directory's files as the first commit of `main`; return that commit.

    It is coder's: for a repository of the user's own see `init_user_repository`.
    """
    git = _init(directory)
    commit = git.text("commit-tree", write_tree(git), "-m", message, environment=FALLBACK_IDENTITY)
    git.call("update-ref", "HEAD", commit)
    return commit


def init_user_repository(directory: Path, *, message: str) -> NewCommit:
    """Create a repository as `init_repository` does; the commit is the user's, signed if git is set so."""
    git = _init(directory)
    tree = write_tree(git)
    commit = sign_if_configured(
        git, lambda signed: make_commit(git, tree=tree, parent="", message=message, signed=signed)
    )
    git.call("update-ref", "HEAD", commit.id)
    return commit


def _init(directory: Path) -> Git:
    git = Git(directory=directory, git_dir=directory / ".git", work_tree=directory)
    git.call("init", "--quiet", "--initial-branch=main", str(directory))
    git = find_git(directory)  # from here on, the repository's configuration is ignored, as everywhere
    stage_work_tree(git)
    return git
