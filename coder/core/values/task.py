"""What the person asked for."""

from decimal import Decimal
from pathlib import Path

from coder.core.notes import Plan
from coder.core.values.base import Value


class Budget(Value):
    """Limits of one session; None is no limit."""

    usd: Decimal | None = None
    tokens: int | None = None
    seconds: float | None = None
    requests: int | None = None
    candidates: int | None = None
    """Edits that a search without a model may try."""
    attempts: int = 3
    """Red verifications before giving up."""
    attempts_per_side: int = 2
    """Attempts at the code, or at the test, after which the same failure is taken for a fault of the other."""


class Task(Value):
    """One issue to fix in one repository."""

    issue: str
    directory: Path
    """Where the command was started; the repository is found from here."""
    base: str | None = None
    """A revision to start from without the uncommitted work; None is HEAD plus that work."""
    test_command: str | None = None
    only: tuple[str, ...] = ()
    """Paths or globs, relative to the repository's root, that patches may write to; empty is all."""
    dry_run: bool = False
    merge: bool = False
    minimise: bool = False
    """Only what the verdict needs is delivered."""
    keep_comments: bool = False
    """Comments and documentation stay all the same."""
    keep_steps: bool = False
    """The branch shows the changes that led to the fix, a commit each, not the fix alone."""
    trusted: bool = False
    plan_only: bool = False
    """A plan is made and shown, and nothing is changed."""
    plan: Plan | None = None
    """The person's own, where no planner is to make one."""
    given: bool = False
    """The change is there already and only to be judged: nothing is delivered."""
    needs_ties: bool = True
    """An existing test that turns green proves the fix only where something ties it to the issue; a commit's message is no such issue."""
    budget: Budget = Budget()
