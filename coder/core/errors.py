"""Exceptions that coder raises on purpose.

CoderError
 |- UserError        the user can fix it: one line, exit 2
 |- GitError         git refused or failed unexpectedly
 |   |- IdentityError no author is known for a commit; the user's to mend, too
 |   `- SigningError git could not sign a commit
 |- ModelError       the model or the connection to it failed; retryable or not
 |- SandboxError     a command could not be started safely
 |- LimitReached     a budget (money, tokens, seconds) is used up

ToolError is outside the tree: it is text for the model, and only the session catches it.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from coder.core.values import Usage


class CoderError(Exception):
    """The root of the tree: str(error) is one line fit for the screen."""


class UserError(CoderError):
    """Wrong use or configuration; the message states what happened, what is true, and what to do."""


class NothingToJudgeError(UserError):
    """There is no uncommitted work, and no change was named."""


class SameTreesError(UserError):
    """Two states that are to be compared have the same files."""


class GitError(CoderError):
    """A git command failed unexpectedly."""


class RepositoryFault(GitError, UserError):
    """The repository or the machine keeps git from its work; the message says what the user can do."""


class IdentityError(GitError, UserError):
    """Git knows no author for a commit, and its configuration forbids to make one up."""


class SigningError(GitError):
    """Git could not sign a commit; the message is the reason alone."""


class ModelError(CoderError):
    """No usable reply was received."""

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        retry_after_seconds: float | None = None,
        context_overflow: bool = False,
        usage: "Usage | None" = None,
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after_seconds = retry_after_seconds
        self.context_overflow = context_overflow
        self.usage = usage
        """Cost of the failed attempts, as far as the provider reported it."""


class SandboxError(CoderError):
    """Nothing was executed: the sandbox could not be set up, or was stopped."""


class LimitReached(CoderError):
    """A limit was reached before the next call; nothing was overspent."""

    def __init__(
        self, limit: Literal["usd", "tokens", "seconds", "requests"], message: str, *, is_final: bool = False
    ) -> None:
        """Say which limit it is; where it `is_final`, to wait for what others leave cannot help."""
        super().__init__(message)
        self.limit = limit
        self.is_final = is_final or limit == "seconds"


class ToolError(Exception):
    """An error message for the model: what is wrong, what is true instead, what to do next."""


class ToolRefusedError(ToolError):
    """A tool call that is not allowed, so that nothing was done."""


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
