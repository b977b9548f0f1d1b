"""Choice of the reviewers of a change."""

from coder.core.values.candidate import Patch
from coder.core.values.paths import is_test_path
from coder.patching.git_hunks import hunks
from coder.permissions.risk import high_risk

LARGE_LINES = 20
"""Added and removed lines of source above which a reviewer for simplicity is asked."""


def for_risk(patch: Patch) -> tuple[str, ...]:
    """Return a security reviewer if the change touches high-risk files."""
    return ("security",) if high_risk(patch.paths) else ()


def committee(patch: Patch) -> tuple[str, ...]:
    """Return two reviewers of every change, one more for large changes, one more for risky ones."""
    return (
        "correctness",
        "tests",
        *(("simplicity",) if _changed_line_count(patch) > LARGE_LINES else ()),
        *for_risk(patch),
    )


def _changed_line_count(patch: Patch) -> int:
    changed_lines = (
        line for hunk in hunks(patch.diff) if not is_test_path(hunk.path) for line in hunk.body.splitlines()
    )
    return sum(line[:1] in ("+", "-") for line in changed_lines)
