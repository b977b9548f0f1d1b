"""A task, the events of its session and the commands of a front end; a log is a list of events."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import ConfigDict, Field

from coder.core.notes import Note, Plan
from coder.core.values import (
    AssistantMessage,
    Delivery,
    DialogueMessage,
    Environment,
    EventValue,
    HunkComment,
    HunkDecisions,
    Image,
    Message,
    PhaseName,
    StageState,
    ToolCall,
    ToolMessage,
    Usage,
    UsageTotals,
    Value,
)
from coder.core.verdict import Cause, Counts, DeniedResource, Requirement, TestRun, Verdict, VerdictKind

Mode = Literal["fix", "change", "ask", "build"]
"""A bug to fix and prove; any other change, which need not be proven; a question to answer; components of new
code."""
Restore = Literal["both", "conversation", "code"]
"""Parts of a session that return to an earlier point; the other stays as it is."""


class Budget(EventValue):
    """Limits of one session; None is no limit."""

    usd: Decimal | None = None
    usd_phrase: str = ""
    """The limit of money for the user, with the setting it comes from; empty: the amount says it all."""
    unpriced: bool = False
    """True if a money limit does not exclude models without a known price."""
    tokens: int | None = None
    seconds: float | None = None
    requests: int | None = None
    attempts: int = 3
    """Failed verifications before giving up."""
    attempts_per_side: int = 2
    """Attempts at the code, or at the test, after which the other side is blamed for the same failure."""


class Attachment(Value):
    """A file or definition that the user named in a request with `@`."""

    name: str
    """Name and place, for the user and the model."""
    text: str
    """Numbered lines; empty for an image."""
    image: Image | None = None


class Source(EventValue):
    """A text beside the repository that may be read for a question."""

    path: str
    """Where the worktree has it, and citations name it."""
    origin: str
    """The file or address that it comes from, for the user."""
    text: str = ""


class Task(EventValue):
    """One request of the user in one repository, as the first event of its session holds it."""

    issue: str
    """The request: an issue, the description of a change, or a question."""
    mode: Mode = "fix"
    origin: str = ""
    """Address that the issue was fetched from: others wrote it, so models are shown it as data."""
    attachments: tuple[Attachment, ...] = ()
    """Shown to the model with the request; they are no part of the issue that tests are tied to."""
    deep: bool = False
    """A question that is researched in parts, evaluated, and answered by a report."""
    iterations: int = 3
    """Rounds of a research, each for the gaps that the one before left."""
    sources: tuple[Source, ...] = ()
    """Texts beside the repository that the user allows for a question."""
    continues: str = ""
    """Id of the session whose conversation, and whose delivered change, this one continues."""
    conversation: str = ""
    """Id that an editor knows the conversation by; empty where it has none of its own."""
    forks: bool = False
    """Sessions that continue this one are delivered to a branch of their own."""
    directory: Path
    """Working directory of the command; the repository is found from here."""
    base: str | None = None
    """A revision to start from without the uncommitted work; None is HEAD plus that work."""
    test_command: str | None = None
    only: tuple[str, ...] = ()
    """Paths or globs, relative to the repository's root, that patches may write to; empty is all."""
    dry_run: bool = False
    merge: bool = False
    keep_steps: bool = False
    """The branch has a commit for each change that led to the fix, not just the fix."""
    trusted: bool = False
    plan_only: bool = False
    """Make and show a plan, and change nothing."""
    plan: Plan | None = None
    """The user's own plan, where no planner is to make one."""
    single_file: bool = False
    """Merge the components that are built into one file."""
    given: bool = False
    """The change exists already and is only judged: nothing is delivered."""
    needs_ties: bool = True
    """An existing test that turns green proves the fix only if evidence ties it to the issue; a commit
    message is no such issue."""
    accept_test_edits: bool = False
    """The user has looked at how the change edits existing tests, and accepts it."""
    in_turn: bool = False
    """Whether an agent waits for the verdict at the end of its turn: it gets half a minute."""
    require: Requirement = "fixed"
    """The least verdict that ends with exit code 0."""
    unrelated_tests: tuple[str, ...] = ()
    """Ids of tests that the user says are not about the issue: they are never its targets."""
    budget: Budget = Budget()

    def without_images(self) -> "Task":
        """Return the task with the names of its images alone: the conversation holds them."""
        names = tuple(attachment.model_copy(update={"image": None}) for attachment in self.attachments)
        return self.model_copy(update={"attachments": names})

    @property
    def images(self) -> tuple[Image, ...]:
        """Images among the attachments."""
        return tuple(attachment.image for attachment in self.attachments if attachment.image is not None)


class StrategyChosen(EventValue):
    """The strategy used from here on, and why."""

    type: Literal["strategy_chosen"] = "strategy_chosen"
    strategy: str
    reason: str


class ConversationContinued(EventValue):
    """The candidate goes on with the conversation of an earlier session."""

    type: Literal["conversation_continued"] = "conversation_continued"
    candidate: str
    session: str
    messages: tuple[Message, ...]
    """All messages of that conversation, as they were sent."""


class CandidateScored(EventValue):
    """A candidate's rank among its siblings, by evidence."""

    type: Literal["candidate_scored"] = "candidate_scored"
    candidate: str
    score: tuple[int, ...]
    """Compared from left to right, greater is better."""
    reason: str


class CandidateDropped(EventValue):
    """Work on this candidate has ended."""

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
    """Verifications in which it has occurred so far."""
    was: Cause | None = None
    """Earlier classification, dropped after repairs of that side failed too often."""


NOBODY = "no model"
"""Name of the model where none is asked."""


class SessionStarted(EventValue):
    """The workspace is ready and the work begins."""

    type: Literal["session_started"] = "session_started"
    session: str
    task: Task
    repository: str
    """The root of the user's checkout."""
    head: str
    base: str
    """The commit the candidates start from."""
    dirty: bool
    """Whether the base holds uncommitted work."""
    judged_since: str = ""
    """The commit before the first change of the conversation, where verdicts are about all of them."""
    model: str
    base_url: str | None = None
    """The server that the user gave; empty for the provider's own; None without a model, or if unknown."""
    version: str


class PhaseEntered(EventValue):
    """A candidate entered a phase."""

    type: Literal["phase_entered"] = "phase_entered"
    candidate: str
    phase: PhaseName
    attempt: int


class NoteMade(EventValue):
    """A phase ended with a note."""

    type: Literal["note_made"] = "note_made"
    candidate: str
    phase: PhaseName
    note: Note
    implied: bool = False
    """True where the harness wrote it because the model's action implies it."""


class MessageFinished(EventValue):
    """A message of the conversation that is not the result of a tool call."""

    type: Literal["message_finished"] = "message_finished"
    candidate: str
    message: DialogueMessage


class ToolStarted(EventValue):
    """A tool call began."""

    type: Literal["tool_started"] = "tool_started"
    candidate: str
    call: ToolCall


class ToolFinished(EventValue):
    """A tool call ended."""

    type: Literal["tool_finished"] = "tool_finished"
    candidate: str
    message: ToolMessage
    seconds: float
    blob: str = ""
    """SHA-256 of the whole output, where the message holds a truncated one."""
    refused: bool = False
    """Whether it was not allowed: nothing was done."""


class FilesChanged(EventValue):
    """The candidate's whole change so far, after a write."""

    type: Literal["files_changed"] = "files_changed"
    candidate: str
    paths: tuple[str, ...]
    diff: str


class CandidateForked(EventValue):
    """A candidate was created, from the base or from a parent."""

    type: Literal["candidate_forked"] = "candidate_forked"
    candidate: str
    parent: str = ""
    position: int = 0
    """The number of the last record whose conversation it shares with its parent."""
    role: str = "executor"
    """Role that works on it: only an executor's change is ever delivered."""
    approach: str = ""
    """The difference from its siblings, in a line."""


class BaselineMeasured(EventValue):
    """The untouched base was tested."""

    type: Literal["baseline_measured"] = "baseline_measured"
    command: str
    counts: Counts
    failing: tuple[str, ...]
    """Ids of tests that fail before anything is changed, without those that cannot pass in the sandbox."""
    denied: tuple[DeniedResource, ...] = ()
    """Resources for want of which the denied tests cannot pass."""
    seconds: float
    problem: str = ""


class EnvironmentRecorded(EventValue):
    """The environment in which the session's tests ran, once at its end."""

    type: Literal["environment_recorded"] = "environment_recorded"
    environment: Environment


class TestsStarted(EventValue):
    """A test run for a verdict began."""

    __test__ = False
    type: Literal["tests_started"] = "tests_started"
    candidate: str = ""
    label: str
    """Purpose of the run, such as `suite`."""
    tests: int
    """Number of tests and test files that were asked for; 0 is the whole suite."""


class TestsEnded(EventValue):
    """A test run for a verdict ended."""

    __test__ = False
    type: Literal["tests_ended"] = "tests_ended"
    candidate: str = ""
    stage: str
    """Stage of the verdict that its time counts for."""
    run: TestRun


class TargetsGreen(EventValue):
    """Tests that fail without the change pass with it; what else the change does is not known yet."""

    type: Literal["targets_green"] = "targets_green"
    candidate: str = ""
    targets: tuple[str, ...]
    seconds: float
    """Since the verification began."""


class Verified(EventValue):
    """A change was verified."""

    type: Literal["verified"] = "verified"
    candidate: str
    attempt: int
    verdict: Verdict


ALLOW, ALWAYS, REFUSE = "allow", "always", "refuse"
"""Options of a question for permission."""


class QuestionAsked(EventValue):
    """The user was asked to choose an option."""

    type: Literal["question_asked"] = "question_asked"
    question: str
    """An id for the answer to refer to."""
    text: str
    options: tuple[str, ...]
    default: str
    """The option used when nobody answers."""
    takes_instruction: bool = False
    """True for an approval: the default option refuses, and may say what to do instead."""


class QuestionAnswered(EventValue):
    """An option was chosen."""

    type: Literal["question_answered"] = "question_answered"
    question: str
    option: str
    by: Literal["person", "default"] = "person"
    instruction: str = ""
    """Instruction for the model in place of the refused action; empty if the user gives none."""


class ReviewAsked(EventValue):
    """The fix is ready; the user may reject hunks of it before delivery."""

    type: Literal["review_asked"] = "review_asked"
    question: str
    diff: str
    droppable: tuple[int, ...] = ()
    """Numbers of the hunks that the verdict does not depend on."""
    verdict: Verdict | None = None
    """The verdict on the whole diff."""
    accepted: tuple[int, ...] | None = None
    """Numbers of the hunks accepted so far, where the review goes on; None: all."""
    comments: tuple[HunkComment, ...] = ()


class ReviewAnswered(HunkDecisions):
    """The user has decided which change to deliver."""

    type: Literal["review_answered"] = "review_answered"
    question: str
    by: Literal["person", "default"] = "person"


class PlanAsked(EventValue):
    """A plan is ready; the user may edit it before it runs."""

    type: Literal["plan_asked"] = "plan_asked"
    question: str
    plan: Plan


class PlanAnswered(EventValue):
    """The plan that will run; it differs from the proposed one where the user amended it."""

    type: Literal["plan_answered"] = "plan_answered"
    question: str
    plan: Plan | None
    """None: it was rejected."""
    by: Literal["person", "default"] = "person"


class StageChanged(EventValue):
    """A stage of a build, or the work on one component in it, began or ended."""

    type: Literal["stage_changed"] = "stage_changed"
    stage: str
    """Such as PLAN, GENERATE, REVIEW 1, FIX 1, INTEGRATE."""
    component: str = ""
    state: StageState
    remark: str = ""


class ContextCompacted(EventValue):
    """Parts of the conversation are sent in short from now on: it fills the model's context window."""

    type: Literal["context_compacted"] = "context_compacted"
    candidate: str
    before: int = 0
    """Long tool results up to this record are sent as one line; older versions of coder used this alone."""
    results: tuple[int, ...] = ()
    """Further records whose long tool results are sent as one line."""
    summarized: int = 0
    """Instead of the messages up to this record, `note` is sent; 0 for none."""
    pinned: tuple[int, ...] = ()
    """Records up to `summarized` whose messages are sent in full, before the note."""
    note: str = ""


class BudgetSpent(EventValue):
    """A request was paid for."""

    type: Literal["budget_spent"] = "budget_spent"
    candidate: str
    usage: Usage
    total: UsageTotals
    role: str = "executor"


class Warned(EventValue):
    """A warning was shown to the user."""

    type: Literal["warned"] = "warned"
    text: str


class Failed(EventValue):
    """A bug in coder, or a failure of the machine, ended the session."""

    type: Literal["failed"] = "failed"
    error: str


class SessionFinished(EventValue):
    """The last event."""

    type: Literal["session_finished"] = "session_finished"
    kind: VerdictKind | None
    """None: interrupted, or failed."""
    summary: str
    """One sentence that explains the outcome."""
    report: str = ""
    """Without a fix: attempts, failures and their causes, suspected places; Markdown."""
    verdict: Verdict | None = None
    delivery: Delivery | None = None
    attempts: int = 0
    spent: UsageTotals = UsageTotals()
    roles: Mapping[str, UsageTotals] = Field(default_factory=dict)
    """The same by role, in order of first request."""
    seconds: float = 0.0
    has_changes: bool = False  # of a candidate, whether they are delivered or not
    stages: Mapping[str, float] = Field(default_factory=dict)
    """The seconds by stage, such as model, base, targets."""
    exit_code: int


class TextStreamed(EventValue):
    """Transient: a piece of a reply, shown but never stored."""

    type: Literal["text_streamed"] = "text_streamed"
    candidate: str
    text: str


class ReasoningStreamed(EventValue):
    """Transient: a piece of the model's reasoning, shown but never stored."""

    type: Literal["reasoning_streamed"] = "reasoning_streamed"
    candidate: str
    text: str


class ToolStreamed(EventValue):
    """Transient: progress of a tool or of a test run."""

    type: Literal["tool_streamed"] = "tool_streamed"
    candidate: str
    text: str


class DeliverNowOffered(EventValue):
    """Transient: whether tests are running that the user may cut short, to have the change delivered."""

    type: Literal["deliver_now_offered"] = "deliver_now_offered"
    offered: bool


StoredEvent = (
    SessionStarted
    | StrategyChosen
    | PhaseEntered
    | NoteMade
    | MessageFinished
    | ToolStarted
    | ToolFinished
    | FilesChanged
    | CandidateForked
    | ConversationContinued
    | CandidateScored
    | CandidateDropped
    | BaselineMeasured
    | EnvironmentRecorded
    | TestsStarted
    | TestsEnded
    | TargetsGreen
    | Verified
    | Diagnosed
    | QuestionAsked
    | QuestionAnswered
    | ReviewAsked
    | ReviewAnswered
    | PlanAsked
    | PlanAnswered
    | StageChanged
    | ContextCompacted
    | BudgetSpent
    | Warned
    | Failed
    | SessionFinished
)
RunEvent = TestsStarted | TestsEnded | TargetsGreen
TransientEvent = TextStreamed | ReasoningStreamed | ToolStreamed | DeliverNowOffered
Event = StoredEvent | TransientEvent
AnyQuestion = QuestionAsked | ReviewAsked | PlanAsked


class Record(Value):
    """An event with its position in the log."""

    model_config = ConfigDict(extra="ignore")
    number: int
    """From 1, without gaps; a transient event carries the number of the record before it."""
    at: datetime
    """Aware, UTC."""
    event: Annotated[Event, Field(discriminator="type")]


AnyEvent = TypeVar("AnyEvent", bound=EventValue)


def events_of(records: Iterable[Record], kind: type[AnyEvent]) -> list[AnyEvent]:
    """Return the events of a kind, in order."""
    return [record.event for record in records if isinstance(record.event, kind)]


def newest_event(records: Sequence[Record], kind: type[AnyEvent]) -> AnyEvent | None:
    return next((record.event for record in reversed(records) if isinstance(record.event, kind)), None)


class Say(Value):
    """A remark for the model, delivered with the next message."""

    text: str


class Withdraw(Value):
    """Take back the newest remark with this text; too late once a request has taken it."""

    text: str


class DeliverNow(Value):
    """Judge the change by what has run so far; ignored unless impacted tests or the suite are running."""


class Stop(Value):
    """End the session now and report its state."""


UserAnswer = QuestionAnswered | ReviewAnswered | PlanAnswered
"""Answers to questions: recorded as they are sent."""
SessionCommand = Say | Withdraw | UserAnswer | DeliverNow | Stop


def stage_seconds(records: Sequence[Record], *, total: float) -> Mapping[str, float]:
    """Return seconds by stage; they add up to `total`, the seconds of the whole session.

    Stages are `model`, `tools`, `search` (of a place, or a repair), `your answers`, those of the verdicts,
    `checks` (of a verdict beside test runs) and `other`.
    Time between two records belongs to the later one, so that branches in parallel count once.
    """
    seconds: defaultdict[str, float] = defaultdict(float)
    for earlier, later in pairwise(records):
        gap = (later.at - earlier.at).total_seconds()
        if isinstance(earlier.event, PhaseEntered) and isinstance(later.event, PhaseEntered):
            seconds["search"] += gap
        elif stage := _stage_before(later.event):
            seconds[stage] += gap
    shown = {stage: spent for stage, spent in seconds.items() if spent > 0}
    return {**shown, "other": max(0.0, total - sum(shown.values()))}


def _stage_before(event: Event) -> str:
    """Return the stage that ends with an event; empty where none does."""
    match event:
        case MessageFinished(message=AssistantMessage()):
            return "model"
        case ToolFinished():
            return "tools"
        case BaselineMeasured() | PhaseEntered(phase="locate"):  # which waits for the base
            return "base"
        case NoteMade(phase="locate"):
            return "search"
        case TestsEnded(stage=stage):
            return stage
        case TestsStarted() | TargetsGreen() | Verified():
            return "checks"
        case QuestionAnswered() | ReviewAnswered() | PlanAnswered():
            return "your answers"
    return ""
