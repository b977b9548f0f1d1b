"""Localization of an issue in a tree, with its stored index and its recent commits."""

from pathlib import Path

from coder.core.errors import CoderError, ToolError, UserError
from coder.core.values.history import CommitInfo
from coder.directories import index_database
from coder.index.index import SymbolIndex
from coder.repo.git import find_checkout
from coder.repo.history.history import GitHistory
from coder.retrieval.locating.commit_history import MOST_COMMITS
from coder.retrieval.locating.issue_terms import extract_issue_terms
from coder.retrieval.locating.ranking import Localization, locate_issue

HISTORY_SECONDS = 5.0
"""Time limit for reading the history."""


def rank_tree(root: Path, text: str) -> Localization:
    """Rank with the stored index of a tree.

    Raises:
        UserError: its files cannot be listed.
    """
    database = index_database(root)
    database.parent.mkdir(parents=True, exist_ok=True)
    try:
        snapshot = SymbolIndex(root.resolve(), database).refresh()
    except ToolError as error:
        raise UserError(str(error)) from None
    return locate_issue(snapshot, extract_issue_terms(text), _recent_commits(root))


def _recent_commits(root: Path) -> tuple[CommitInfo, ...]:
    """Return the newest commits; none if the directory is not the top of a checkout."""
    if not (root / ".git").exists():
        return ()
    try:
        checkout = find_checkout(root)
        history = GitHistory(git=checkout.git, revision=checkout.head, seconds=HISTORY_SECONDS)
        return history.recent_commits(count=MOST_COMMITS)
    except CoderError:
        return ()
