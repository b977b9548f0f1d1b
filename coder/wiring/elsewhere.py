"""Parts of stages on an executor: sent with the log so far, back with their records and their change."""

import asyncio
import os
import secrets
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from coder.core.errors import CoderError, GitError, LimitReached, ModelError
from coder.core.events import (
    BudgetSpent,
    CandidateForked,
    ContextCompacted,
    Event,
    MessageFinished,
    PhaseEntered,
    Record,
    ToolStarted,
    ToolStreamed,
    Warned,
)
from coder.core.messages import AssistantMessage
from coder.core.notes import Note
from coder.core.task import Task
from coder.core.values import Candidate, Patch
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
    Needs,
    SharedData,
)
from coder.files.discard import discard_tree
from coder.repo.bundles import make_bundle, unpack_bundle
from coder.repo.git import Checkout
from coder.repo.repository import SessionRepository
from coder.sandbox.choice import require_backend
from coder.session.context import RunElsewhere, SessionContext, StagePart
from coder.settings import Config
from coder.wiring.session import SessionSetup, choose_approach

NEEDS = Needs(cpus=1.0, memory_mb=1024)
"""Resources that a session or a part of it asks for: an estimate, one test process beside its driver."""
CLONES = "clones"
"""Directory of coder's state on other machines that holds a clone for each bundle."""


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
class PartCall:
    """A part with all that a worker needs to run it."""

    part: StagePart
    task: Task
    config: Config
    model: str
    unsafe: bool
    clone: ClonedRepository | None
    """None: the worker sees the session's repository."""
    candidate: str
    change: Patch
    """The candidate's change so far."""
    records: tuple[str, ...]
    """The session's log so far."""
    fields: Mapping[str, Any]
    """Fields of the context that differ from those of a new session."""


@dataclass(frozen=True, kw_only=True)
class PartPackage:
    note: Note | None
    change: Patch
    records: tuple[str, ...]
    """New records, numbered from the end of the log that the part was sent with."""
    blobs: tuple[bytes, ...]
    """Large outputs that the records name."""
    digest: str
    """SHA-256 of the records and the outputs; the change has its tree."""
    limit: str = ""
    """Limit that ended it."""
    problem: str = ""
    """Message of the error that ended it."""


def perform_part(call: PartCall, emit: Emit) -> PartPackage:
    """Run a part in a worker, in a session of its own, and send each record as it is made."""
    base = call.task.base or ""
    root = call.clone.unpack(base) if call.clone else call.task.directory
    setup = SessionSetup(
        root=root,
        config=call.config,
        backend=require_backend(unsafe=call.unsafe, image=call.config.image),
        trusted=call.task.trusted,
        approach=choose_approach(call.config, model_name=call.model, mode=call.task.mode),
        unpriced=call.task.budget.unpriced,
    )
    records = tuple(map(Record.model_validate_json, call.records))
    task = call.task.model_copy(update={"directory": root})
    with setup.open(task, records=records) as handle:
        directory = sessions_directory() / handle.id
        try:
            return asyncio.run(_perform(call, handle.context, directory / "blobs", emit))
        finally:
            handle.context.sandbox.stop()
            discard_tree(directory)


async def _perform(call: PartCall, session: SessionContext, outputs: Path, emit: Emit) -> PartPackage:
    context, log = replace(session, **call.fields), session.log
    repository = context.repository
    assert isinstance(repository, SessionRepository)

    async def send_records() -> None:
        async for record in log.follow(len(call.records) + 1):
            if log.records and record is log.records[record.number - 1]:  # not a fleeting one
                emit(record.model_dump_json())

    follower = asyncio.ensure_future(send_records())
    candidate = repository.create_candidate(call.candidate.partition("/")[0])
    repository.adopt_change(candidate, call.change)
    note: Note | None = None
    error: CoderError | None = None
    try:
        work = call.part.perform(context, candidate.model_copy(update={"id": call.candidate}))
        note = await asyncio.wait_for(work, context.budget.seconds_left)
    except (LimitReached, ModelError) as caught:
        error = caught
    except TimeoutError:
        error = LimitReached("seconds", "The time limit is reached.")
    log.close()
    await follower
    new_records = tuple(record.model_dump_json() for record in log.records[len(call.records) :])
    blobs = tuple(path.read_bytes() for path in sorted(outputs.glob("*")))  # noqa: ASYNC240
    return PartPackage(
        note=note,
        change=repository.candidate_patch(candidate),
        records=new_records,
        blobs=blobs,
        digest=_digest(new_records, blobs),
        limit=error.limit if isinstance(error, LimitReached) else "",
        problem=str(error) if error else "",
    )


@dataclass
class _PendingPart:
    context: SessionContext
    candidate: Candidate
    call: PartCall
    package: "asyncio.Future[PartPackage]"
    counted: dict[int, int] = field(default_factory=dict)
    """Numbers in this log of requests that were counted as they were paid for, by their own numbers."""


class StageRunner:
    """Runs parts of a session's stages on an executor; used from the session's event loop."""

    _setup: SessionSetup
    _repository: SessionRepository

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._clone: ClonedRepository | None = None
        self._pending: dict[str, _PendingPart] = {}
        self._waiting: deque[str] = deque()
        self._lock = Lock()
        self._thread: Thread | None = None

    def __enter__(self) -> "StageRunner":
        return self

    def __exit__(self, *_: object) -> None:
        """Wait until all calls have ended."""
        self._pending.clear()
        if (thread := self._thread) is not None:
            thread.join()

    def connect(self, setup: SessionSetup, repository: SessionRepository) -> RunElsewhere:
        self._setup, self._repository = setup, repository
        return self._run

    async def _run(self, context: SessionContext, candidate: Candidate, part: StagePart) -> Note | None:
        """Run a part on a worker, and give the candidate its change and its records.

        Raises:
            LimitReached, ModelError: the part ended so, or its worker was lost too often.
        """
        call = await asyncio.to_thread(self._make_call, context, candidate, part)
        loop = asyncio.get_running_loop()
        key = secrets.token_hex(4)
        pending = _PendingPart(context, candidate, call, loop.create_future())
        with self._lock:
            self._pending[key] = pending
            self._waiting.append(key)
            if self._thread is None:
                self._thread = Thread(target=self._serve, args=(loop,), daemon=True)
                self._thread.start()
        try:
            package = await pending.package
        finally:
            self._pending.pop(key, None)
        await self._take_over(pending, package)
        if package.limit:
            raise LimitReached(package.limit, package.problem)  # type: ignore[arg-type]
        if package.problem:
            raise ModelError(package.problem)
        return package.note

    def _make_call(self, context: SessionContext, candidate: Candidate, part: StagePart) -> PartCall:
        repository, remaining = self._repository, context.budget.limits_left
        if not self._executor.is_local and self._clone is None:
            checkout = repository.user_checkout
            self._clone = ClonedRepository.share(checkout, {repository.base}, self._executor)
        limits = {name: getattr(remaining, name) for name in ("usd", "tokens", "seconds", "requests")}
        budget = context.task.budget.model_copy(update=limits)
        owner = candidate.model_copy(update={"id": candidate.id.partition("/")[0]})
        return PartCall(
            part=part,
            task=context.task.model_copy(
                update={"base": repository.base, "budget": budget, "continues": "", "dry_run": True}
            ),
            config=self._setup.config.model_copy(update={"max_usd": remaining.usd}),
            model=context.model.name,
            unsafe=self._setup.backend is None,
            clone=self._clone,
            candidate=candidate.id,
            change=repository.candidate_patch(owner),
            records=tuple(record.model_dump_json() for record in context.log.records),
            fields={
                "role": context.role,
                "temperature": context.temperature,
                "continued": context.continued,
                "hints": context.hints,
            },
        )

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run calls until none is left."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
            try:
                events: Iterator[CallEvent[PartPackage]] = self._executor.run(
                    perform_part,
                    _Waiting(self._take_waiting),
                    needs=NEEDS,
                    is_wanted=self._pending.__contains__,
                )
                for event in events:
                    loop.call_soon_threadsafe(self._receive, event)
            except Exception as error:  # noqa: BLE001 - the session fails with it, instead of waiting
                for pending in [*self._pending.values()]:
                    loop.call_soon_threadsafe(_fail, pending, CoderError(f"the executor failed: {error!r}"))

    def _take_waiting(self) -> tuple[str, PartCall] | None:
        while True:
            try:
                key = self._waiting.popleft()
            except IndexError:
                return None
            if (pending := self._pending.get(key)) is not None:
                return key, pending.call

    def _receive(self, event: CallEvent[PartPackage]) -> None:
        pending = self._pending.get(event.key)
        if pending is None:
            return
        log, name = pending.context.log, pending.candidate.id
        match event:
            case CallStarted(worker=worker):
                log.append(ToolStreamed(candidate=name, text=f"runs on {worker}"))
            case CallOutput(text=line):
                record = Record.model_validate_json(line)
                if isinstance(record.event, BudgetSpent):
                    pending.counted[record.number] = _count_spending(pending.context, record.event)
                elif text := _describe_progress(record.event):
                    log.append(ToolStreamed(candidate=name, text=text))
            case CallRestarted(reason=reason):
                pending.counted.clear()
                log.append(Warned(text=f"The worker of {name} was lost ({reason}): it begins anew."))
            case CallFinished(result=package):
                if not pending.package.done():
                    pending.package.set_result(package)
            case CallFailed(reason=reason):
                _fail(pending, ModelError(f"{name} did not come to an end: {reason}."))

    async def _take_over(self, pending: _PendingPart, package: PartPackage) -> None:
        """Append a part's records to the log, renumbered, and give its candidate its change.

        Raises:
            GitError: they are not what the worker has sent.
        """
        context, candidate = pending.context, pending.candidate
        if _digest(package.records, package.blobs) != package.digest:
            raise GitError(f"The records of {candidate.id} arrived damaged.")
        for blob in package.blobs:
            context.store.store_blob(blob.decode("utf-8", "surrogateescape"))
        if package.change.tree != pending.call.change.tree:
            await asyncio.to_thread(self._repository.adopt_change, candidate, package.change)
        numbers = dict(pending.counted)
        for record in map(Record.model_validate_json, package.records):
            if record.number in numbers:
                continue
            if isinstance(record.event, BudgetSpent):  # its line was lost on the way
                numbers[record.number] = _count_spending(context, record.event)
                continue
            event = _renumber(record.event, numbers, known=len(pending.call.records))
            numbers[record.number] = context.log.append(event).number
        if package.change.tree != pending.call.change.tree:
            await asyncio.to_thread(self._repository.checkpoint, candidate, f"Change {candidate.id}")


class _Waiting(Iterator[tuple[str, PartCall]]):
    """Iterator that has no entry now and then, and goes on later."""

    def __init__(self, take: Callable[[], tuple[str, PartCall] | None]) -> None:
        self._take = take

    def __next__(self) -> tuple[str, PartCall]:
        entry = self._take()
        if entry is None:
            raise StopIteration
        return entry


def _digest(records: Iterable[str], blobs: Iterable[bytes]) -> str:
    parts = (*(record.encode() for record in records), *blobs)
    return sha256(b"".join(sha256(part).digest() for part in parts)).hexdigest()


def _fail(pending: _PendingPart, error: CoderError) -> None:
    if not pending.package.done():
        pending.package.set_exception(error)


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
