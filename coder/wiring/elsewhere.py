"""Sessions and parts of them on an executor: sent with what they need, back with all that they leave."""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import Field

from coder.core.attestation import build_attestation
from coder.core.errors import CoderError, GitError, LimitReached, ModelError
from coder.core.events import (
    BudgetSpent,
    CandidateForked,
    ContextCompacted,
    Event,
    MessageFinished,
    PhaseEntered,
    Record,
    SessionFinished,
    ToolStarted,
    ToolStreamed,
    Warned,
)
from coder.core.messages import AssistantMessage, UsageTotals
from coder.core.notes import Note
from coder.core.state import outcome_label
from coder.core.task import Mode, Task
from coder.core.values import Candidate, Patch, Value
from coder.core.verdict import VerdictKind
from coder.core.verdict_summary import markdown_report
from coder.directories import sessions_directory, state_directory
from coder.executors.calls import (
    CallEvent,
    CallFailed,
    CallFinished,
    CallOutput,
    CallRestarted,
    CallStarted,
    Emit,
    Executor,
    SharedData,
)
from coder.files.regular_files import discard_tree
from coder.repo.bundles import make_bundle, unpack_bundle
from coder.repo.git import Checkout
from coder.repo.repository import SessionRepository
from coder.sandbox.choice import require_backend
from coder.session.context import RunElsewhere, SessionContext, StagePart
from coder.session.log import EventLog
from coder.settings import Config
from coder.wiring.preparation import ensure_trust
from coder.wiring.session import SessionHandle, SessionSetup, choose_approach

LOG, CLONES = "events.jsonl", "clones"
"""File of a session's log; directory of coder's state that holds a clone for each bundle."""


class SessionFailed(CoderError):
    """A session ended without an outcome; nothing is stored, so that it can be tried again."""


@dataclass(frozen=True, kw_only=True)
class ClonedRepository:
    """A repository as calls on other machines get it: as a bundle, of which each machine makes one clone."""

    root: Path
    """Its place on the machine that shares it."""
    bundle: SharedData
    virtual_env: str
    """The user's active environment."""

    @classmethod
    def share(cls, checkout: Checkout, commits: Collection[str], executor: Executor) -> "ClonedRepository":
        bundle = executor.share(make_bundle(checkout, commits))
        return cls(root=checkout.root, bundle=bundle, virtual_env=os.environ.get("VIRTUAL_ENV", ""))

    def unpack(self, commit: str) -> Path:
        """Return this machine's clone, whose state of coder is its own."""
        if self.virtual_env and Path(self.virtual_env).is_dir():
            os.environ["VIRTUAL_ENV"] = self.virtual_env
        else:
            os.environ.pop("VIRTUAL_ENV", None)
        directory = state_directory() / CLONES / self.bundle.digest[:24]
        return unpack_bundle(self.bundle.read, directory, commit=commit, origin=self.root)


@dataclass(frozen=True, kw_only=True)
class SessionCall:
    """A session with all that a worker needs to run it."""

    root: Path
    base: str
    """Commit that it starts from."""
    config: Config
    """The user's settings in this repository, with the model and the limits of this session."""
    mode: Mode = "fix"
    trusted: bool = False
    unsafe: bool = False
    unpriced: bool = False
    """True if a money limit does not exclude models without a known price."""
    clone: ClonedRepository | None = None
    """The repository for a worker on another machine; None: the worker sees this one's files."""

    def prepare(self) -> SessionSetup:
        return SessionSetup(
            root=self.clone.unpack(self.base) if self.clone else self.root,
            config=self.config,
            backend=require_backend(unsafe=self.unsafe, image=self.config.image, plugin=self.config.sandbox),
            trusted=self.trusted,
            approach=choose_approach(self.config, model_name=self.config.model, mode=self.mode),
            unpriced=self.unpriced,
        )


@dataclass(frozen=True, kw_only=True)
class IssueCall(SessionCall):
    """One issue of a batch."""

    id: str
    digest: str
    issue: str


@dataclass(frozen=True, kw_only=True)
class PartCall(SessionCall):
    """A part of a stage, which goes on with the session's log in a session of its own."""

    part: StagePart
    task: Task
    candidate: str
    change: Patch
    """The candidate's change so far."""
    records: tuple[str, ...]
    """The session's log so far."""
    fields: Mapping[str, Any]
    """Fields of the context that differ from those of a new session."""


class IssueResult(Value):
    """Result of one issue, as its folder holds it."""

    id: str
    digest: str
    """Digest of the issue's line."""
    label: str
    """PROVEN, PASSING, GAVE UP and so on."""
    kind: VerdictKind
    summary: str
    base: str
    """Commit that the fix applies to."""
    session: str
    model: str
    spent: UsageTotals
    seconds: float
    began_at: datetime | None = None
    """Time of its first record."""
    stages: Mapping[str, float] = Field(default_factory=dict)
    worker: str = ""
    """Process or node that ran it."""
    files: Mapping[str, str] = Field(default_factory=dict)
    """SHA-256 of each other file of the folder, by name."""


@dataclass(frozen=True, kw_only=True)
class PartResult:
    note: Note | None
    change: Patch
    """The candidate's change, whose tree is checked."""
    files: Mapping[str, str]
    """SHA-256 of the log, whose records are numbered on from those that were sent, and of its outputs."""
    limit: str = ""
    """Limit that ended it."""
    problem: str = ""
    """Message of the error that ended it."""


R = TypeVar("R", bound=IssueResult | PartResult)


@dataclass(frozen=True)
class Package(Generic[R]):
    """A result with the contents of its files, whose digests it holds."""

    result: R
    contents: dict[str, bytes] = field(repr=False)

    def damaged_files(self) -> list[str]:
        """Return the names of files whose content does not have the digest that the worker computed."""
        found, expected = compute_digests(self.contents), self.result.files
        return sorted(name for name in {*found, *expected} if found.get(name) != expected.get(name))


def compute_digests(contents: Mapping[str, bytes]) -> dict[str, str]:
    return {name: sha256(content).hexdigest() for name, content in contents.items()}


def run_issue(call: IssueCall, emit: Emit) -> Package[IssueResult]:
    """Run the session of an issue in a worker, send each record of its log, and return all that it leaves.

    Raises:
        CoderError: the session could not be run, or came to no outcome.
    """
    setup = call.prepare()
    if not setup.trusted:
        setup = replace(setup, trusted=ensure_trust(call.root, backend=setup.backend))
    request = Task(issue=call.issue, directory=setup.root, base=call.base, dry_run=True)
    with setup.open(setup.complete(request)) as handle:
        asyncio.run(_run_session(handle, emit))
    directory = sessions_directory() / handle.id
    try:
        return _pack_issue(call, handle, directory, model=setup.approach.model.name)
    finally:
        if call.clone is not None:
            discard_tree(directory)


async def _run_session(handle: SessionHandle, emit: Emit) -> None:
    async with _send_records(handle.log, emit):
        await handle.session.run()


@asynccontextmanager
async def _send_records(log: EventLog, emit: Emit) -> AsyncIterator[None]:
    """Send each new record as it is made; on exit the log is closed."""
    start = len(log.records) + 1

    async def send() -> None:
        async for record in log.follow(start):
            if log.records and record is log.records[record.number - 1]:  # not a fleeting one
                emit(record.model_dump_json())

    follower = asyncio.ensure_future(send())
    yield
    log.close()
    await follower


def _pack_issue(
    call: IssueCall, handle: SessionHandle, directory: Path, *, model: str
) -> Package[IssueResult]:
    """Return the result of a session with the files that it left.

    Raises:
        SessionFailed: it came to no outcome.
    """
    finish, records = handle.finish_event, handle.log.records
    if finish.kind is None:
        raise SessionFailed(finish.summary)
    contents = {**_read_log(directory), **_describe(finish, records)}
    result = IssueResult(
        id=call.id,
        digest=call.digest,
        label=outcome_label(finish),
        kind=finish.kind,
        summary=finish.summary,
        base=call.base,
        session=handle.id,
        model=model,
        spent=finish.spent,
        seconds=finish.seconds,
        began_at=records[0].at,
        stages=dict(finish.stages),
        files=compute_digests(contents),
    )
    return Package(result, contents)


def _read_log(directory: Path) -> dict[str, bytes]:
    """Return the log of a session and its large outputs as files."""
    files = [directory / LOG, *sorted((directory / "blobs").glob("*"))]
    return {str(file.relative_to(directory)): file.read_bytes() for file in files}


def _describe(finish: SessionFinished, records: list[Record]) -> dict[str, bytes]:
    """Return the evidence, the report and the fix of a session as files."""
    attestation = build_attestation(records)
    report = finish.report or (markdown_report(finish.verdict) if finish.verdict else finish.summary)
    files = {"report.md": f"{report.rstrip()}\n"}
    if attestation is not None:
        files["evidence.json"] = f"{attestation.model_dump_json(indent=2)}\n"
    if finish.delivery is not None:
        files["fix.diff"] = finish.delivery.diff
    return {name: text.encode("utf-8", "surrogateescape") for name, text in files.items()}


def perform_part(call: PartCall, emit: Emit) -> Package[PartResult]:
    """Run a part in a worker, and send each record as it is made."""
    setup = call.prepare()
    records = tuple(map(Record.model_validate_json, call.records))
    task = call.task.model_copy(update={"directory": setup.root})
    with setup.open(task, records=records) as handle:
        directory = sessions_directory() / handle.id
        try:
            return asyncio.run(_perform(call, handle.context, directory, emit))
        finally:
            handle.context.sandbox.stop()
            discard_tree(directory)


async def _perform(
    call: PartCall, session: SessionContext, directory: Path, emit: Emit
) -> Package[PartResult]:
    context, repository = replace(session, **call.fields), session.repository
    assert isinstance(repository, SessionRepository)
    note: Note | None = None
    error: CoderError | None = None
    async with _send_records(session.log, emit):
        candidate = repository.create_candidate(call.candidate.partition("/")[0])
        repository.adopt_change(candidate, call.change)
        try:
            work = call.part.perform(context, candidate.model_copy(update={"id": call.candidate}))
            note = await asyncio.wait_for(work, context.budget.seconds_left)
        except (LimitReached, ModelError) as caught:
            error = caught
        except TimeoutError:
            error = LimitReached("seconds", "The time limit is reached.")
    contents = _read_log(directory)
    result = PartResult(
        note=note,
        change=repository.candidate_patch(candidate),
        files=compute_digests(contents),
        limit=error.limit if isinstance(error, LimitReached) else "",
        problem=str(error) if error else "",
    )
    return Package(result, contents)


@dataclass
class _PendingPart:
    context: SessionContext
    candidate: Candidate
    call: PartCall
    package: "asyncio.Future[Package[PartResult]]"
    is_taken: bool = False
    """Whether a worker has it."""
    counted: dict[int, int] = field(default_factory=dict)
    """Numbers in this log of requests that were counted as they were paid for, by their own numbers."""

    def fail(self, error: CoderError) -> None:
        if not self.package.done():
            self.package.set_exception(error)


@dataclass
class _Waiting(Iterator[tuple[str, PartCall]]):
    """Parts that no worker has taken; iteration stops where there is none, and goes on with later ones."""

    parts: dict[str, _PendingPart]

    def __next__(self) -> tuple[str, PartCall]:
        for key, part in [*self.parts.items()]:
            if not part.is_taken:
                part.is_taken = True
                return key, part.call
        raise StopIteration


class StageRunner:
    """Runs parts of a session's stages on an executor; used from the session's event loop."""

    _setup: SessionSetup
    _repository: SessionRepository

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._clone: ClonedRepository | None = None
        self._pending: dict[str, _PendingPart] = {}
        self._events: Iterator[CallEvent[Package[PartResult]]] = iter(())
        self._service: asyncio.Task[None] | None = None

    def __enter__(self) -> "StageRunner":
        return self

    def __exit__(self, *_: object) -> None:
        """Wait until all calls have ended."""
        self._pending.clear()
        for _event in self._events:
            pass

    def connect(self, setup: SessionSetup, repository: SessionRepository) -> RunElsewhere:
        self._setup, self._repository = setup, repository
        return self._run

    async def _run(self, context: SessionContext, candidate: Candidate, part: StagePart) -> Note | None:
        """Run a part on a worker, and give the candidate its change and its records.

        Raises:
            LimitReached, ModelError: the part ended so, or its worker was lost too often.
        """
        call = await asyncio.to_thread(self._make_call, context, candidate, part)
        key, loop = secrets.token_hex(4), asyncio.get_running_loop()
        pending = self._pending[key] = _PendingPart(context, candidate, call, loop.create_future())
        if self._service is None or self._service.done():
            self._service = asyncio.create_task(self._serve())
        try:
            package = await pending.package
        finally:
            self._pending.pop(key, None)
        await self._take_over(pending, package)
        result = package.result
        if result.limit:
            raise LimitReached(result.limit, result.problem)  # type: ignore[arg-type]
        if result.problem:
            raise ModelError(result.problem)
        return result.note

    def _make_call(self, context: SessionContext, candidate: Candidate, part: StagePart) -> PartCall:
        repository, remaining = self._repository, context.budget.limits_left
        if not self._executor.is_local and self._clone is None:
            checkout = repository.user_checkout
            self._clone = ClonedRepository.share(checkout, {repository.base}, self._executor)
        limits = {name: getattr(remaining, name) for name in ("usd", "tokens", "seconds", "requests")}
        task, config = context.task, self._setup.config
        budget = task.budget.model_copy(update=limits)
        owner = candidate.model_copy(update={"id": candidate.id.partition("/")[0]})
        return PartCall(
            root=task.directory,
            base=repository.base,
            config=config.model_copy(update={"max_usd": remaining.usd, "model": context.model.name}),
            mode=task.mode,
            trusted=task.trusted,
            unsafe=self._setup.backend is None,
            unpriced=budget.unpriced,
            clone=self._clone,
            part=part,
            task=task.model_copy(
                update={"base": repository.base, "budget": budget, "continues": "", "dry_run": True}
            ),
            candidate=candidate.id,
            change=repository.candidate_patch(owner),
            records=tuple(record.model_dump_json() for record in context.log.records),
            fields={name: getattr(context, name) for name in ("role", "temperature", "continued", "hints")},
        )

    async def _serve(self) -> None:
        """Run calls until none is left."""
        waiting = _Waiting(self._pending)
        try:
            while not all(part.is_taken for part in self._pending.values()):
                self._events = self._executor.run(perform_part, waiting, is_wanted=self._pending.__contains__)
                while (event := await asyncio.to_thread(next, self._events, None)) is not None:
                    self._receive(event)
        except Exception as error:  # noqa: BLE001 - the session fails with it, instead of waiting
            for part in self._pending.values():
                part.fail(CoderError(f"the executor failed: {error!r}"))

    def _receive(self, event: CallEvent[Package[PartResult]]) -> None:
        part = self._pending.get(event.key)
        if part is None:
            return
        log, name = part.context.log, part.candidate.id
        match event:
            case CallStarted(worker=worker):
                log.append(ToolStreamed(candidate=name, text=f"runs on {worker}"))
            case CallOutput(text=line):
                record = Record.model_validate_json(line)
                if isinstance(record.event, BudgetSpent):
                    part.counted[record.number] = _count_spending(part.context, record.event)
                elif text := _describe_progress(record.event):
                    log.append(ToolStreamed(candidate=name, text=text))
            case CallRestarted(reason=reason):
                part.counted.clear()
                log.append(Warned(text=f"The worker of {name} was lost ({reason}): it begins anew."))
            case CallFinished(result=package):
                if not part.package.done():
                    part.package.set_result(package)
            case CallFailed(reason=reason):
                part.fail(ModelError(f"{name} did not come to an end: {reason}."))

    async def _take_over(self, part: _PendingPart, package: Package[PartResult]) -> None:
        """Append a part's records to the log, renumbered, and give its candidate its change.

        Raises:
            GitError: they are not what the worker has sent.
        """
        context, candidate, change = part.context, part.candidate, package.result.change
        if package.damaged_files():
            raise GitError(f"The records of {candidate.id} arrived damaged.")
        log, *outputs = package.contents.values()
        for output in outputs:
            context.store.store_blob(output.decode("utf-8", "surrogateescape"))
        is_changed = change.tree != part.call.change.tree
        if is_changed:
            await asyncio.to_thread(self._repository.adopt_change, candidate, change)
        numbers = dict(part.counted)
        for record in map(Record.model_validate_json, log.splitlines()[1:]):
            if record.number in numbers:
                continue
            if isinstance(record.event, BudgetSpent):  # its line was lost on the way
                numbers[record.number] = _count_spending(context, record.event)
                continue
            event = _renumber(record.event, numbers, known=len(part.call.records))
            numbers[record.number] = context.log.append(event).number
        if is_changed:
            await asyncio.to_thread(self._repository.checkpoint, candidate, f"Change {candidate.id}")


def _count_spending(context: SessionContext, event: BudgetSpent) -> int:
    total = context.budget.record_elsewhere(event.usage, role=event.role)
    return context.log.append(event.model_copy(update={"total": total})).number


def _describe_progress(event: Event) -> str:
    match event:
        case PhaseEntered(phase=phase):
            return phase
        case ToolStarted(call=call):
            return call.name
        case MessageFinished(message=AssistantMessage(text=text)):
            return text.strip().partition("\n")[0]
    return ""


def _renumber(event: Event, numbers: Mapping[int, int], *, known: int) -> Event:
    """Return an event whose references to records of its part are those of the whole log."""

    def last_until(number: int) -> int:
        if number <= known:
            return number
        return max((new for old, new in numbers.items() if old <= number), default=known)

    match event:
        case ContextCompacted():
            return event.model_copy(
                update={
                    "before": last_until(event.before),
                    "summarized": last_until(event.summarized),
                    "results": tuple(numbers.get(number, number) for number in event.results),
                    "pinned": tuple(numbers.get(number, number) for number in event.pinned),
                }
            )
        case CandidateForked(position=position) if position:
            return event.model_copy(update={"position": last_until(position)})
    return event
