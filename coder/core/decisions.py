"""Events of deciding: how to go on, which candidate is ahead, what a failure is taken for."""

from typing import Literal

from coder.core.values.base import EventValue
from coder.core.values.verdict import Cause


class StrategyChosen(EventValue):
    """How the work goes on from here, and why."""

    type: Literal["strategy_chosen"] = "strategy_chosen"
    strategy: str
    reason: str


class CandidateScored(EventValue):
    """A candidate's place among its siblings, by evidence."""

    type: Literal["candidate_scored"] = "candidate_scored"
    candidate: str
    score: tuple[int, ...]
    """Compared from left to right, greater is better."""
    reason: str


class CandidateDropped(EventValue):
    """Nobody works on this candidate any more."""

    type: Literal["candidate_dropped"] = "candidate_dropped"
    candidate: str
    reason: str


class Diagnosed(EventValue):
    """One way in which tests fail after a change, counted over the attempts."""

    type: Literal["diagnosed"] = "diagnosed"
    candidate: str
    signature: str
    tests: tuple[str, ...]
    cause: Cause
    attempts: int
    """Verifications in which it was seen so far."""
    was: Cause | None = None
    """What it was taken for, until mending that side had failed too often."""
