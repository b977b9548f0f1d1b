"""Errors of patches."""

from collections.abc import Collection

NOTHING_WRITTEN = "Nothing was written."


class PatchError(Exception):
    """The patch was refused and nothing was changed.

    The text says why, what to do next, and that nothing was written.
    """

    def __init__(self, reason: str, *, failed: Collection[str] = ()) -> None:
        super().__init__(f"{reason}\n{NOTHING_WRITTEN}")
        self.reason = reason
        self.failed = frozenset(failed)
        """The hunks that did not fit, by `Hunk.fingerprint`; passed back to `plan`, they get longer
        explanations."""
