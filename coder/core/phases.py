"""Phases: their purposes, limits and permissions."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, RLock
from typing import Literal

from coder.core.values import Value

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
DIAGNOSE = Phase(name="diagnose", note="diagnosis", writes=False, yields=True, max_turns=12)
REPAIR = Phase(name="repair", note="done", writes=True, max_turns=24)
REVIEW = Phase(name="review", note="findings", writes=False, max_turns=8)
ANSWER = Phase(name="answer", note="answer", writes=False, answers=True, max_turns=24)
PLAN_RESEARCH = Phase(name="plan", note="research_plan", writes=False, max_turns=6)
RESEARCH = Phase(name="research", note="research", writes=False, max_turns=10)
EVALUATE = Phase(name="evaluate", note="evaluation", writes=False, max_turns=4)
SYNTHESIZE = Phase(name="synthesize", note="report", writes=False, max_turns=6)
EXPLAIN = Phase(name="explain", note="give_up", writes=False, max_turns=2)


class Policy(Value):
    """Access granted to one command; the default is workspace-write without network."""

    writes: bool = True
    """Whether it may write in its working directory, which is then a worktree; elsewhere only in a private
    temporary directory."""
    network: bool = False
    """False: no host is reachable, not even this one; a private loopback interface exists where the sandbox
    can provide one."""


READ_ONLY = Policy(writes=False)


class Cutoff:
    """The large test runs in progress that the user may cut short; used from several threads."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._cuts: list[Event] = []
        self._is_requested = False
        self.on_change: Callable[[bool], None] = lambda _is_possible: None
        """Called from any thread when it becomes possible, or impossible, to cut a run short."""

    @contextmanager
    def offer(self, cut: Event) -> Iterator[None]:
        """Let the user cut short what the block runs, which ends when `cut` is set."""
        with self._lock:
            self._cuts.append(cut)
            if self._is_requested:
                cut.set()
            self._is_requested = False
        self.on_change(True)
        try:
            yield
        finally:
            with self._lock:
                self._cuts = [other for other in self._cuts if other is not cut]
                is_possible = bool(self._cuts)
            self.on_change(is_possible)

    def request(self, *, ahead: bool = False) -> bool:
        """Cut short all runs in progress; return False if there are none.

        With `ahead`, one is known to begin at once: without any in progress, it is cut as soon as it does.
        """
        with self._lock:
            cuts, self._cuts = self._cuts, []
            self._is_requested = ahead and not cuts
        for cut in cuts:
            cut.set()
        if cuts:
            self.on_change(False)
        return bool(cuts) or ahead
