"""Who reads a change, by what it is."""

from coder.core.values.candidate import Patch
from coder.core.values.paths import is_test_path
from coder.patching.git_hunks import hunks
from coder.permissions.risk import high_risk

LARGE_LINES = 20
"""Added and removed lines of source beyond which somebody asks whether it could be less."""


def for_risk(patch: Patch) -> tuple[str, ...]:
    """Files that ask for another look get one, green or not."""
    return ("security",) if high_risk(patch.paths) else ()


def committee(patch: Patch) -> tuple[str, ...]:
    """Two who read everything, one more for what is large, one more for what is risky."""
    return (
        "correctness",
        "tests",
        *(("simplicity",) if _size(patch) > LARGE_LINES else ()),
        *for_risk(patch),
    )


def _size(patch: Patch) -> int:
    changed = (
        line for hunk in hunks(patch.diff) if not is_test_path(hunk.path) for line in hunk.body.splitlines()
    )
    return sum(line[:1] in ("+", "-") for line in changed)
