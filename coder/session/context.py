"""Dependencies of a session, handed to every strategy and phase, and the budget that limits them.

Money, tokens, seconds and requests are reserved before and settled after each call.
"""

import asyncio
import os
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Protocol, TypeVar

from coder.core.errors import LimitReached
from coder.core.events import Budget, Record, Task
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
from coder.core.values import (
    Candidate,
    Cutoff,
    Effort,
    Patch,
    Proposals,
    Request,
    Usage,
    UsageTotals,
    UserMessage,
)
from coder.permissions.secrets import Secrets
from coder.session.approval import Approval, Permissions
from coder.session.continuation import Continuation
from coder.session.log import EventLog
from coder.tools.tool import Tool
from coder.workspace.workspace import Workspace

TOKENS_PER_BYTE = 0.4
"""High estimate for source code; raised after the first reply of a model that counts more."""
IMAGE_TOKENS = 5_000
"""High estimate for one image: providers scale larger ones down to 1,500 to 4,800 tokens."""
MIN_OUTPUT_TOKENS = 256
"""Shortest output limit, in tokens, that is worth a request."""
Price = Callable[[int, int], Decimal | None]
"""Returns the most that (input tokens, output tokens) can cost; None if the price is unknown."""


class Reservation:
    """Upper bound of the cost of one call, held until the call is settled or was never billed."""

    def __init__(
        self, trackers: tuple["BudgetTracker", ...], request: Request, *, role: str, usd: Decimal
    ) -> None:
        self.request = request
        """The request with its output limited to what is left."""
        self.role = role
        self.tokens = trackers[0].estimate_input_tokens(request) + request.max_output_tokens
        self.usd = usd
        self._trackers = trackers
        for tracker in trackers:
            tracker.reservations.append(self)

    def release(self) -> None:
        """Release the reservation of a call that was not billed."""
        for tracker in self._trackers:
            tracker.reservations.remove(self)

    def settle(self, usage: Usage) -> UsageTotals:
        """Record the cost of the call and return the totals of the session."""
        self.release()
        for tracker in self._trackers:
            tracker.record_usage(self, usage)
        return self._trackers[-1].spent


class BudgetTracker:
    """Tracks what was spent and reserved, and refuses a call that could exceed the limits.

    A share is a nested tracker: its spending counts in the whole, and the limits of both hold.
    """

    def __init__(
        self, budget: Budget, clock: Callable[[], float], *, whole: "BudgetTracker | None" = None
    ) -> None:
        self._budget = budget
        self._clock = clock
        self._started = clock()
        self._parent = whole
        self._tokens_per_byte = TOKENS_PER_BYTE
        self._released: asyncio.Event = whole._released if whole else asyncio.Event()
        self._in_progress: list[Reservation] = whole._in_progress if whole else []
        self.reservations: list[Reservation] = []
        """Reservations without a settlement: in progress, or ended with an unknown cost."""
        self.spent = UsageTotals()
        self._known_usd = Decimal(0)
        self.roles: dict[str, UsageTotals] = {}

    @property
    def seconds(self) -> float:
        return self._clock() - self._started

    @property
    def seconds_left(self) -> float | None:
        return None if self._budget.seconds is None else max(0.0, self._budget.seconds - self.seconds)

    @property
    def limits_left(self) -> Budget:
        trackers = [*self._chain()]
        return Budget(
            tokens=_least(tracker._tokens_left() for tracker in trackers),
            usd=_least(tracker._usd_left() for tracker in trackers),
            requests=_least(tracker._requests_left() for tracker in trackers),
            seconds=trackers[-1].seconds_left,
            unpriced=self._budget.unpriced,
        )

    def record_elsewhere(self, usage: Usage, *, role: str) -> UsageTotals:
        """Count a call that a worker elsewhere has paid for, and return the totals of the session."""
        for tracker in self._chain():
            tracker._count(usage, role)
            total = tracker.spent
        return total

    def share(self, parts: int) -> "BudgetTracker":
        """Return a tracker for one of `parts` equal shares of the remaining tokens, money and requests."""
        budget = Budget(
            tokens=None if (tokens := self._tokens_left()) is None else tokens // parts,
            usd=None if (usd := self._usd_left()) is None else usd / parts,
            unpriced=self._budget.unpriced,
            requests=None if (requests := self._requests_left()) is None else -(-requests // parts),
        )
        return BudgetTracker(budget, self._clock, whole=self)

    @asynccontextmanager
    async def reserve(self, request: Request, *, price: Price, role: str) -> AsyncIterator[Reservation]:
        """Reserve the worst case of a request while it is in progress.

        Wait if only the reservations of other calls stand in the way. A reservation that is neither settled
        nor released is kept for good.

        Raises:
            LimitReached: the request could exceed a limit.
        """
        while (output := self._output_limit(request, price)) is None:
            self._released.clear()
            await self._released.wait()
        admitted_request = request.model_copy(update={"max_output_tokens": output})
        usd = price(self.estimate_input_tokens(request), output) or Decimal(0)
        reservation = Reservation(tuple(self._chain()), admitted_request, role=role, usd=usd)
        self._in_progress.append(reservation)
        try:
            yield reservation
        finally:
            self._in_progress.remove(reservation)
            self._released.set()

    def estimate_input_tokens(self, request: Request) -> int:
        parts = (*request.messages, *request.tools)
        texts = [request.system, *(part.model_dump_json(exclude={"images"}) for part in parts)]
        images = sum(len(message.images) for message in request.messages if isinstance(message, UserMessage))
        return images * IMAGE_TOKENS + int(
            sum(len(text.encode("utf-8", "replace")) for text in texts)
            * max(tracker._tokens_per_byte for tracker in self._chain())
        )

    def record_usage(self, reservation: Reservation, usage: Usage) -> None:
        """Add one call to the totals, and adjust the estimate to the model's token count."""
        self._count(usage, reservation.role)
        estimate = self.estimate_input_tokens(reservation.request)
        if usage.input_tokens > estimate > 0:
            self._tokens_per_byte *= usage.input_tokens / estimate

    def _count(self, usage: Usage, role: str) -> None:
        self.spent = self.spent.plus(usage)
        self._known_usd += usage.cost_usd or Decimal(0)
        self.roles[role] = self.roles.get(role, UsageTotals()).plus(usage)

    def _chain(self) -> Iterator["BudgetTracker"]:
        tracker: BudgetTracker | None = self
        while tracker is not None:
            yield tracker
            tracker = tracker._parent

    def _output_limit(self, request: Request, price: Price) -> int | None:
        """Return the output limit of the request; None to wait, since calls in progress may leave more."""
        whole_first = reversed(tuple(self._chain()))  # its error is the one that the user has set
        limits = [limit for tracker in whole_first for limit in tracker._limits(request, price)]
        output, error = min(limits, key=lambda limit: limit[0], default=(request.max_output_tokens, None))
        if output >= request.max_output_tokens or error is None:
            return request.max_output_tokens
        if self._in_progress and not error.is_final:
            return None
        if output < MIN_OUTPUT_TOKENS:
            raise error
        return output

    def _limits(self, request: Request, price: Price) -> Iterator[tuple[int, LimitReached]]:
        """Yield the most output tokens that each limit of this tracker leaves, with its error."""
        size, budget = self.estimate_input_tokens(request), self._budget
        if budget.seconds is not None and self.seconds >= budget.seconds:
            yield -1, LimitReached("seconds", f"The time limit of {budget.seconds:g} s is reached.")
        if (requests := self._requests_left()) is not None and requests < 1:
            yield 0, LimitReached("requests", f"The limit of {budget.requests} requests is reached.")
        if (tokens := self._tokens_left()) is not None:
            text = f"The next request would go over the limit of {budget.tokens:,} tokens."
            yield tokens - size, LimitReached("tokens", text)
        is_exempt = budget.unpriced and price(size, 0) is None
        if (usd := self._usd_left()) is not None and not is_exempt:
            phrase = budget.usd_phrase or f"the limit of ${budget.usd}"
            yield _affordable_output(size, request.max_output_tokens, usd, price, phrase)

    def _tokens_left(self) -> int | None:
        if self._budget.tokens is None:
            return None
        return (
            self._budget.tokens
            - self.spent.input_tokens
            - self.spent.output_tokens
            - sum(reservation.tokens for reservation in self.reservations)
        )

    def _requests_left(self) -> int | None:
        return (
            None
            if self._budget.requests is None
            else self._budget.requests - self.spent.requests - len(self.reservations)
        )

    def _usd_left(self) -> Decimal | None:
        if self._budget.usd is None:
            return None
        reserved_usd = sum((reservation.usd for reservation in self.reservations), Decimal(0))
        is_known = self.spent.cost_usd is not None or self._budget.unpriced
        return self._budget.usd - reserved_usd - self._known_usd if is_known else Decimal(-1)


def _affordable_output(
    size: int, requested_tokens: int, usd: Decimal, price: Price, phrase: str
) -> tuple[int, LimitReached]:
    """Return the longest output that the money pays for; the price grows linearly with the output.

    `phrase` is the limit as the error names it.
    """
    input_price, full_price = price(size, 0), price(size, requested_tokens)
    if input_price is None or full_price is None:
        return -1, LimitReached(
            "usd",
            f"This model's price is not known, so {phrase} cannot be kept. Add --max-tokens or "
            "--max-requests, which then holds instead, or remove the limit.",
            is_final=True,
        )
    message = f"The next request could go over {phrase}."
    if full_price <= usd:
        return requested_tokens, LimitReached("usd", message)
    return int(
        requested_tokens * (usd - input_price) / (full_price - input_price)
    ) if input_price < usd and full_price > input_price else 0, LimitReached("usd", message)


N = TypeVar("N", int, Decimal)


def _least(limits: Iterable[N | None]) -> N | None:
    return min((limit for limit in limits if limit is not None), default=None)


class RateLimiter:
    """Limits the number of concurrent requests and verifications."""

    def __init__(self) -> None:
        self.requests = asyncio.Semaphore(4)
        self.verifications = asyncio.Semaphore(max(1, (os.cpu_count() or 1) // 2))
        """Half of the cores, since a suite may use several itself."""
        self._attempts = asyncio.Condition()
        self._in_progress = 0

    @asynccontextmanager
    async def attempt_slot(self, count_left: Callable[[], int]) -> AsyncIterator[bool]:
        """Hold a slot for a verification that may fail: yield False if no attempt is left for it.

        `count_left` counts attempts not yet spent; wait while verifications in progress may spend all of
        them.
        """
        async with self._attempts:
            await self._attempts.wait_for(lambda: count_left() < 1 or self._in_progress < count_left())
            is_granted = count_left() >= 1
            self._in_progress += is_granted
        try:
            yield is_granted
        finally:
            async with self._attempts:
                self._in_progress -= is_granted
                self._attempts.notify_all()


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
