"""Commits of a repository's history."""

from coder.core.values.base import Value


class CommitInfo(Value):
    """A commit and the paths it changed."""

    commit: str
    date: str
    """Such as 2020-01-31."""
    subject: str
    """The first line of its message, untrusted."""
    paths: tuple[str, ...]
