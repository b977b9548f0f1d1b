"""Commands from a front end to a session."""

from typing import Literal

from coder.core.notes import Plan
from coder.core.values.base import Value
from coder.core.values.hunk import HunkDecisions


class Say(Value):
    """A remark for the model, delivered with the next message."""

    type: Literal["say"] = "say"
    text: str


class Withdraw(Value):
    """Take back the newest remark with this text; too late once a request has taken it."""

    type: Literal["withdraw"] = "withdraw"
    text: str


class Answer(Value):
    """The choice of one option of a question."""

    type: Literal["answer"] = "answer"
    question: str
    option: str
    instruction: str = ""
    """What the model should do instead of what is refused; empty if the user says nothing."""


class Decide(HunkDecisions):
    """The answer to a review: which hunks of the diff to deliver."""

    type: Literal["decide"] = "decide"
    question: str


class Amend(Value):
    """The answer to a plan: the plan to run, unchanged or edited."""

    type: Literal["amend"] = "amend"
    question: str
    plan: Plan | None
    """None: the plan is rejected, and nothing runs."""


class DeliverNow(Value):
    """Judge the change by what has run so far; ignored unless impacted tests or the suite are running."""

    type: Literal["deliver_now"] = "deliver_now"


class Stop(Value):
    """End the session now and report its state."""

    type: Literal["stop"] = "stop"


SessionCommand = Say | Withdraw | Answer | Decide | Amend | DeliverNow | Stop
