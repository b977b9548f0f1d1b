"""What a search without a model finds."""

from coder.core.values.base import Value


class Suspect(Value):
    """A function that may hold the fault."""

    place: str
    """`path::Qualified.name`, or `path:line` outside of any function."""
    line: int
    """The most suspicious line, from 1."""
    score: float
    """Ochiai, 0 to 1; 0 where only the issue's words point here."""


class Suspected(Value):
    """Where failing tests say that the fault lies."""

    suspects: tuple[Suspect, ...] = ()
    """Most suspicious first."""
    tests: tuple[str, ...] = ()
    """Ids of the failing tests that this was told from."""
    problem: str = ""
    """Why nothing can be told; one line."""


class Proposal(Value):
    """A change that made the failing tests pass when it was tried; unproven."""

    diff: str
    """git-style unified diff against the tree it was made for."""
    summary: str
    """What it does, fit for a commit subject."""
    place: str
    """`path::Qualified.name` of the changed function."""
    apart: str = ""
    """A call that it answers otherwise than another proposal does."""


class Proposals(Value):
    """What a search without a model found."""

    proposals: tuple[Proposal, ...] = ()
    """Most credible first."""
    alternatives: tuple[Proposal, ...] = ()
    """What turned the tests green as well, or what nothing decides between; for the person to judge, at most three."""
    suspects: tuple[Suspect, ...] = ()
    """Most suspicious first."""
    tried: int = 0
    """Candidates that were run."""
    seconds: float = 0.0
    note: str = ""
    """What was searched, or why nothing was; one line."""
