"""The vocabulary of the event log: everything that happens in a session, in the past tense."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from coder.core.messages import AssistantMessage, Spent, ToolCall, ToolMessage, Usage, UserMessage
from coder.core.notes import Note, Plan
from coder.core.phases import PhaseName
from coder.core.values.base import EventValue, Value
from coder.core.values.candidate import Delivery
from coder.core.values.task import Task
from coder.core.values.verdict import Cause, Counts, Verdict, VerdictKind


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


class SessionStarted(EventValue):
    """The workspace stands and the work begins."""

    type: Literal["session_started"] = "session_started"
    session: str
    task: Task
    repository: str
    """The root of the person's checkout."""
    head: str
    base: str
    """The commit the candidates start from."""
    dirty: bool
    """Does the base hold uncommitted work?"""
    model: str
    version: str


class PhaseEntered(EventValue):
    type: Literal["phase_entered"] = "phase_entered"
    candidate: str
    phase: PhaseName
    attempt: int


class NoteMade(EventValue):
    type: Literal["note_made"] = "note_made"
    candidate: str
    phase: PhaseName
    note: Note
    implied: bool = False
    """True where the harness wrote it, because what the model did says it."""


class MessageFinished(EventValue):
    """A message of the conversation that is not the answer to a call."""

    type: Literal["message_finished"] = "message_finished"
    candidate: str
    message: Annotated[UserMessage | AssistantMessage, Field(discriminator="role")]


class ToolStarted(EventValue):
    type: Literal["tool_started"] = "tool_started"
    candidate: str
    call: ToolCall


class ToolFinished(EventValue):
    type: Literal["tool_finished"] = "tool_finished"
    candidate: str
    message: ToolMessage
    seconds: float
    blob: str = ""
    """SHA-256 of the whole output, where the message holds a cut one."""


class FilesChanged(EventValue):
    """The candidate's whole change so far, after something was written."""

    type: Literal["files_changed"] = "files_changed"
    candidate: str
    paths: tuple[str, ...]
    diff: str
    fingerprint: str = ""
    """Equal for changes that mean the same to the parser; empty where nobody compared."""


class CandidateForked(EventValue):
    type: Literal["candidate_forked"] = "candidate_forked"
    candidate: str
    parent: str = ""
    position: int = 0
    """The number of the last record that the conversation shares with its parent."""
    role: str = "executor"
    """Who works on it: only an executor's change is ever delivered."""
    approach: str = ""
    """What sets it apart from its siblings, in a line."""


class BaselineMeasured(EventValue):
    """The untouched base was tested."""

    type: Literal["baseline_measured"] = "baseline_measured"
    command: str
    counts: Counts
    failing: tuple[str, ...]
    """Ids of tests that are red before anything was changed."""
    seconds: float
    problem: str = ""


class Verified(EventValue):
    type: Literal["verified"] = "verified"
    candidate: str
    attempt: int
    verdict: Verdict


class QuestionAsked(EventValue):
    type: Literal["question_asked"] = "question_asked"
    question: str
    """An id for the answer to name."""
    text: str
    options: tuple[str, ...]
    default: str
    """What holds when nobody answers."""


class QuestionAnswered(EventValue):
    type: Literal["question_answered"] = "question_answered"
    question: str
    option: str
    by: Literal["person", "default"]


class ReviewAsked(EventValue):
    """The fix is ready; the person may take hunks out of it before it is delivered."""

    type: Literal["review_asked"] = "review_asked"
    question: str
    """An id for the answer to name."""
    diff: str
    droppable: tuple[int, ...] = ()
    """Numbers of the hunks that change no verdict."""


class ReviewAnswered(EventValue):
    """What will be delivered: `coder.patching.git_hunks.rebuilt(diff, accepted)`.

    With all hunks that is the diff as it was verified. Fewer are another change, that nothing is known of until it is verified itself;
    none are a refusal: nothing is delivered.
    """

    type: Literal["review_answered"] = "review_answered"
    question: str
    accepted: tuple[int, ...]
    """Numbers in `coder.patching.git_hunks.hunks(diff)`, from 0, ascending."""
    by: Literal["person", "default"]


class PlanAsked(EventValue):
    """A plan is made; the person may change it before it is run."""

    type: Literal["plan_asked"] = "plan_asked"
    question: str
    """An id for the answer to name."""
    plan: Plan


class PlanAnswered(EventValue):
    """The plan that will be run; another one than was asked about is the person's amendment."""

    type: Literal["plan_answered"] = "plan_answered"
    question: str
    plan: Plan | None
    """None: it was refused."""
    by: Literal["person", "default"]


class ContextCompacted(EventValue):
    """Long answers of tools up to a record are from now on sent as stubs, because the conversation outgrew the model."""

    type: Literal["context_compacted"] = "context_compacted"
    candidate: str
    before: int


class BudgetSpent(EventValue):
    type: Literal["budget_spent"] = "budget_spent"
    candidate: str
    usage: Usage
    total: Spent
    role: str = "executor"


class Warned(EventValue):
    type: Literal["warned"] = "warned"
    text: str


class Failed(EventValue):
    """A bug of ours, or of the machine, ended the session."""

    type: Literal["failed"] = "failed"
    error: str


class SessionFinished(EventValue):
    """The last event."""

    type: Literal["session_finished"] = "session_finished"
    kind: VerdictKind | None
    """None: interrupted, or failed."""
    summary: str
    """One sentence that says why it ended so."""
    report: str = ""
    """Without a fix: what was tried, what failed and why, suspected places; Markdown."""
    verdict: Verdict | None = None
    delivery: Delivery | None = None
    attempts: int = 0
    spent: Spent = Spent()
    roles: Mapping[str, Spent] = Field(default_factory=dict)
    """The same by role, in the order in which they first spoke."""
    seconds: float = 0.0
    exit_code: int


class TextStreamed(EventValue):
    """Fleeting: shown, never stored."""

    type: Literal["text_streamed"] = "text_streamed"
    candidate: str
    text: str


class ReasoningStreamed(EventValue):
    """Fleeting: shown, never stored."""

    type: Literal["reasoning_streamed"] = "reasoning_streamed"
    candidate: str
    text: str


class ToolStreamed(EventValue):
    """Fleeting: progress of a tool or of a test run."""

    type: Literal["tool_streamed"] = "tool_streamed"
    candidate: str
    text: str


Lasting = (
    SessionStarted
    | StrategyChosen
    | PhaseEntered
    | NoteMade
    | MessageFinished
    | ToolStarted
    | ToolFinished
    | FilesChanged
    | CandidateForked
    | CandidateScored
    | CandidateDropped
    | BaselineMeasured
    | Verified
    | Diagnosed
    | QuestionAsked
    | QuestionAnswered
    | ReviewAsked
    | ReviewAnswered
    | PlanAsked
    | PlanAnswered
    | ContextCompacted
    | BudgetSpent
    | Warned
    | Failed
    | SessionFinished
)
Fleeting = TextStreamed | ReasoningStreamed | ToolStreamed
Event = Lasting | Fleeting


class Record(Value):
    """An event with its place in the log."""

    model_config = ConfigDict(extra="ignore")
    number: int
    """From 1, without gaps; a fleeting event carries the number of the record before it."""
    at: datetime
    """Aware, UTC."""
    event: Annotated[Event, Field(discriminator="type")]
