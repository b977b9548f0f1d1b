"""Proposed changes and suspected places from a search without a model."""

from coder.core.values.base import Value


class Suspect(Value):
    """A function that may hold the fault."""

    place: str
    """`path::Qualified.name`, or `path:line` outside of any function."""
    line: int
    """The most suspicious line, from 1."""
    score: float
    """Ochiai, 0 to 1; 0 where only the wording of the issue points here."""


class SuspectRanking(Value):
    """Places that failing tests suggest as the fault."""

    suspects: tuple[Suspect, ...] = ()
    """Most suspicious first."""
    tests: tuple[str, ...] = ()
    """Ids of the failing tests that the ranking is based on."""
    problem: str = ""
    """Why there is no ranking; one line."""


class Proposal(Value):
    """A change that made the failing tests pass when it was tried; not verified."""

    diff: str
    """git-style unified diff against the tree it was generated for."""
    summary: str
    """Summary of the change, fit for a commit subject."""
    place: str
    """`path::Qualified.name` of the changed function."""
    apart: str = ""
    """A call that returns something else than under another proposal."""


class Proposals(Value):
    """Result of a search without a model."""

    proposals: tuple[Proposal, ...] = ()
    """Most credible first."""
    alternatives: tuple[Proposal, ...] = ()
    """Other changes that turned the tests green, or that evidence cannot rank; for the user to judge, at most
    three."""
    suspects: tuple[Suspect, ...] = ()
    """Most suspicious first."""
    tried: int = 0
    """Candidates that were run."""
    seconds: float = 0.0
    note: str = ""
    """What was searched, or why nothing was; one line."""
