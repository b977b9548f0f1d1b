"""Dependencies of a session, handed to every strategy and phase."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Protocol

from coder.core.events import Record
from coder.core.messages import Effort
from coder.core.notes import Note, ReviewFinding
from coder.core.ports import (
    DependencyInstaller,
    Model,
    Proposer,
    Repository,
    Sandbox,
    Store,
    Verifier,
)
from coder.core.task import Task
from coder.core.values import Candidate, Cutoff, Patch, Proposals
from coder.permissions.secrets import Secrets
from coder.session.approval import Approval, Permissions
from coder.session.budget import BudgetTracker, RateLimiter
from coder.session.continuation import Continuation
from coder.session.log import EventLog
from coder.tools.tool import Tool
from coder.workspace.workspace import Workspace


class RemarkQueue:
    """Remarks in the order in which they arrived; the user can withdraw them until a request takes them."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def add(self, text: str) -> None:
        self._texts.append(text)

    @property
    def is_empty(self) -> bool:
        return not self._texts

    def withdraw(self, text: str) -> None:
        """Remove the newest remark with this text, if it still waits."""
        for place in reversed(range(len(self._texts))):
            if self._texts[place] == text:
                del self._texts[place]
                return

    def take(self) -> tuple[str, ...]:
        texts = tuple(self._texts)
        self._texts.clear()
        return texts


class FindingQueue(RemarkQueue):
    """Findings that are made beside the model's replies, for the next request after each is known."""

    def __init__(self) -> None:
        super().__init__()
        self._tasks: set[asyncio.Task[None]] = set()

    def add_later(self, finding: Coroutine[None, None, str]) -> None:
        """Add a text once it is known, unless it is empty."""

        async def add() -> None:
            if text := await finding:
                self.add(text)

        task = asyncio.create_task(add())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


@dataclass(frozen=True, kw_only=True)
class ModelAccess:
    """The models of a session, and what has been learnt about them."""

    model: Model
    """Model of the executor, and of every role without a model of its own."""
    by_role: Mapping[str, Model] = field(default_factory=dict)
    base_url: str | None = None
    """The model's server, to be recorded as in SessionStarted."""
    context_tokens: int | None = None
    """Size of every model's context window by the user's settings; None: the model's own."""
    seed: int | None = None
    effort: Effort | None = None
    rate_limiter: RateLimiter = field(default_factory=RateLimiter)
    context_limits: dict[str, int] = field(default_factory=dict)
    """Input tokens that models have refused in this session, by name."""


@dataclass(frozen=True, kw_only=True)
class Judging:
    """The verifiers of a session, each made when it is first asked: a session may run no test at all."""

    make_verifier: Callable[[Repository], Verifier]
    """Returns the verifier with a repository's base, always the same one."""
    alone: Repository
    """The repository from which a change alone is judged."""
    whole: Repository
    """The one from which it is judged together with those that it continues, if any."""
    since: str = ""
    """The commit before all of these; empty where it continues none."""
    cutoff: Cutoff = field(default_factory=Cutoff)
    """Large test runs in progress."""
    asked: set[str] = field(default_factory=set)
    """Bases of the verifiers that were made."""

    def prepare(self) -> None:
        """Make both verifiers, which may try the test command first."""
        self.verifier_of(self.alone)
        self.verifier_of(self.whole)

    def verifier_of(self, repository: Repository) -> Verifier:
        self.asked.add(repository.base)
        return self.make_verifier(repository)


@dataclass(frozen=True, kw_only=True)
class SessionContext:
    """Immutable container of everything a session was wired with."""

    task: Task
    models: ModelAccess
    tools: tuple[Tool, ...]
    """The same tools in the same order for the whole session, because prompt caches key on them."""
    repository: Repository
    judging: Judging
    make_proposer: Callable[[], Proposer]
    """Loads the engine that repairs without a model."""
    sandbox: Sandbox
    store: Store
    log: EventLog
    budget: BudgetTracker
    approval: Approval
    workspace: Callable[[Candidate], Workspace]
    continued: Continuation | None = None
    installer: DependencyInstaller | None = None
    """Installs packages that tests lack; None if that is not possible."""
    installs_packages: bool = False
    """Whether it does so without asking."""
    hints: Proposals | None = None
    """Unproven findings of a search without a model."""
    permissions: Permissions = Permissions()  # noqa: RUF009 (a frozen value)
    """Permissions for what may be done without asking."""
    secrets: Secrets = Secrets()  # noqa: RUF009 (a frozen value)
    """Values that neither a model nor a record may see."""
    remarks: RemarkQueue = field(default_factory=RemarkQueue)
    """The user's remarks for the next request."""
    findings: FindingQueue = field(default_factory=FindingQueue)
    role: str = "executor"
    """Role that the model speaks in; for another role, make a changed copy of this object."""
    system: str = "system"
    """Name of the system prompt of every request."""
    revise: "Revise | None" = None
    """Works on what the user flags in a review; None if there is no model to do so."""
    run_elsewhere: "RunElsewhere | None" = None
    """Runs a part of a parallel stage on the user's executor; None: parts run in this process."""
    needs_review: bool = False
    """Whether the user reviews each plan before it runs and each fix, hunk by hunk, before delivery."""
    instructions: str = ""
    """The user's instructions and skills, and the project's if the directory is trusted."""

    def on(self, candidate: Candidate) -> "CandidateRun":
        """Return the context for work on a candidate."""
        values = {name.name: getattr(self, name.name) for name in fields(SessionContext)}
        return CandidateRun(**values, candidate=candidate)

    @property
    def has_conversation(self) -> bool:
        """Whether the conversation with the model began in an earlier session."""
        return self.continued is not None and bool(self.continued.messages)

    @property
    def verifier(self) -> Verifier:
        """The verifier of the change alone."""
        return self.judging.verifier_of(self.judging.alone)

    @property
    def whole_verifier(self) -> Verifier:
        return self.judging.verifier_of(self.judging.whole)

    @property
    def model(self) -> Model:
        """The model of this role."""
        return self.models.by_role.get(self.role, self.models.model)


@dataclass(frozen=True, kw_only=True)
class CandidateRun(SessionContext):
    """The context of a session, for work on one of its candidates."""

    candidate: Candidate

    async def read_patch(self) -> Patch:
        """Return the candidate's whole change so far."""
        return await asyncio.to_thread(self.repository.candidate_patch, self.candidate)

    @property
    def own(self) -> tuple[list[Record], str]:
        """All records and the candidate's id, as the folds of `core.state` take them."""
        return self.log.records, self.candidate.id


class StagePart(Protocol):
    """Independent part of a parallel stage: a value that another process can be sent."""

    async def perform(self, run: CandidateRun) -> Note | None:
        """Do the work on the candidate, and return the note that it ends with."""
        ...


RunElsewhere = Callable[[CandidateRun, StagePart], Awaitable[Note | None]]


async def run_part(run: CandidateRun, part: StagePart) -> Note | None:
    """Run a part where the session's executor decides; without one, here.

    Raises:
        LimitReached, ModelError: as in this process, or its worker was lost.
    """
    return await (run.run_elsewhere(run, part) if run.run_elsewhere else part.perform(run))


Strategy = Callable[[CandidateRun], Awaitable[Candidate]]
Revise = Callable[[Sequence[ReviewFinding], Patch], Strategy]
"""Makes the strategy that works on findings in a change."""
