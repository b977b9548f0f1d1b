"""Phases of a session: one purpose each, ended by one typed note."""

from typing import Literal

from coder.core.values.base import Value

PhaseName = Literal[
    "locate",
    "reproduce",
    "plan",
    "generate",
    "edit",
    "verify",
    "diagnose",
    "repair",
    "review",
    "explain",
    "answer",
    "research",
    "evaluate",
    "synthesize",
]
NoteKind = Literal[
    "sites",
    "reproduction",
    "plan",
    "done",
    "diagnosis",
    "findings",
    "give_up",
    "answer",
    "research_plan",
    "research",
    "evaluation",
    "report",
]

StageState = Literal["running", "done", "failed"]
"""State of a stage of a build."""


class Phase(Value):
    """One purpose and the note that ends it."""

    name: PhaseName
    note: NoteKind
    writes: bool
    """Whether tools may change files."""
    yields: bool = False
    """A read-only phase that the first change ends, implying its note; elsewhere a change is refused."""
    answers: bool = False
    """A reply without calls ends the phase and is its note; elsewhere the model is reminded to go on."""
    max_turns: int
    """Replies after which the phase counts as failed."""

    @property
    def end_marker(self) -> str:
        """The way in which a reply ends the phase, for the model."""
        return "a reply without calls" if self.answers else f"hand_over(kind='{self.note}')"


LOCATE = Phase(name="locate", note="sites", writes=False, yields=True, max_turns=24)
REPRODUCE = Phase(name="reproduce", note="reproduction", writes=True, max_turns=12)
PLAN = Phase(name="plan", note="plan", writes=False, max_turns=12)
GENERATE = Phase(name="generate", note="done", writes=True, max_turns=24)
EDIT = Phase(name="edit", note="done", writes=True, max_turns=24)
VERIFY = Phase(name="verify", note="done", writes=False, max_turns=0)
DIAGNOSE = Phase(name="diagnose", note="diagnosis", writes=False, yields=True, max_turns=12)
REPAIR = Phase(name="repair", note="done", writes=True, max_turns=24)
REVIEW = Phase(name="review", note="findings", writes=False, max_turns=8)
ANSWER = Phase(name="answer", note="answer", writes=False, answers=True, max_turns=24)
PLAN_RESEARCH = Phase(name="plan", note="research_plan", writes=False, max_turns=6)
RESEARCH = Phase(name="research", note="research", writes=False, max_turns=10)
EVALUATE = Phase(name="evaluate", note="evaluation", writes=False, max_turns=4)
SYNTHESIZE = Phase(name="synthesize", note="report", writes=False, max_turns=6)
EXPLAIN = Phase(name="explain", note="give_up", writes=False, max_turns=2)
