"""A commit of a repository's history."""

from coder.core.values.base import Value


class Change(Value):
    """Which paths one commit changed."""

    commit: str
    date: str
    """Such as 2020-01-31."""
    subject: str
    """The first line of its message, as somebody wrote it."""
    paths: tuple[str, ...]
