"""Hunks of a git diff."""

from coder.core.values.base import Value


class Hunk(Value):
    """The smallest part of a diff that can be accepted or rejected."""

    path: str
    """The file's new name; its old one where it is deleted."""
    header: str
    """The file's lines before its first `@@`, the same for all hunks of the file."""
    body: str
    """From `@@` to the last line; empty where the file changes without a hunk (a rename, a mode, an empty or
    a binary file)."""
