"""Choice of the reviewers of a change."""

from coder.core.values.candidate import Patch
from coder.core.values.paths import is_test_path
from coder.patching.git_hunks import split_git_diff
from coder.permissions.risk import high_risk_paths

LARGE_LINES = 20
"""Added and removed lines of source above which a reviewer for simplicity is asked."""


def risk_reviewers(patch: Patch) -> tuple[str, ...]:
    """Return a security reviewer if the change touches high-risk files."""
    return ("security",) if high_risk_paths(patch.paths) else ()


def committee_reviewers(patch: Patch) -> tuple[str, ...]:
    """Return two reviewers of every change, one more for large changes, one more for risky ones."""
    return (
        "correctness",
        "tests",
        *(("simplicity",) if _changed_line_count(patch) > LARGE_LINES else ()),
        *risk_reviewers(patch),
    )


def _changed_line_count(patch: Patch) -> int:
    changed_lines = (
        line
        for hunk in split_git_diff(patch.diff)
        if not is_test_path(hunk.path)
        for line in hunk.body.splitlines()
    )
    return sum(line[:1] in ("+", "-") for line in changed_lines)
