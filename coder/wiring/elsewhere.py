"""Sessions and parts of them on an executor: sent with what they need, back with all that they leave."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import Any

from coder.core import events
from coder.core.errors import CoderError, LimitReached, ModelError
from coder.core.events import Task
from coder.core.notes import Note
from coder.core.values import AssistantMessage, Patch
from coder.executors.executor import (
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
from coder.files.regular_files import discard_tree, sessions_directory, state_directory
from coder.repo.bundles import make_bundle, unpack_bundle
from coder.repo.git import Checkout
from coder.repo.repository import SessionRepository
from coder.sandbox.choice import require_backend
from coder.session.context import CandidateRun, RunElsewhere, SessionContext, StagePart
from coder.session.log import EventLog
from coder.session.session import Session
from coder.settings import Config
from coder.wiring.project_runtime import ensure_trust
from coder.wiring.session import SessionSetup, choose_approach

LOG, CLONES = "events.jsonl", "clones"
"""File of a session's log; directory of coder's state that holds a clone for each bundle."""


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

    task: Task
    """Its directory is the repository's root here, and its base a commit."""
    config: Config
    """The user's settings in this repository, with the model and the limits of this session."""
    unsafe: bool = False
    unpriced: bool = False
    """True if a money limit does not exclude models without a known price."""
    clone: ClonedRepository | None = None
    """The repository for a worker on another machine; None: the worker sees this one's files."""

    def prepare(self) -> SessionSetup:
        task, config = self.task, self.config
        return SessionSetup(
            root=self.clone.unpack(str(task.base)) if self.clone else task.directory,
            config=config,
            backend=require_backend(unsafe=self.unsafe, image=config.image, plugin=config.sandbox),
            trusted=task.trusted,
            approach=choose_approach(config, model_name=config.model, mode=task.mode),
            unpriced=self.unpriced,
        )


@dataclass(frozen=True, kw_only=True)
class PartCall(SessionCall):
    """A part of a stage, which goes on with the session's log in a session of its own."""

    part: StagePart
    candidate: str
    change: Patch
    """The candidate's change so far."""
    records: tuple[str, ...]
    """The session's log so far."""
    fields: Mapping[str, Any]
    """Fields of the context that differ from those of a new session."""


Files = Mapping[str, bytes]
"""The log of a session and its large outputs, by their paths in its directory."""


@dataclass(frozen=True, kw_only=True)
class PartResult:
    note: Note | None
    change: Patch
    """The candidate's change, whose tree is checked."""
    files: Files
    """Its records are numbered on from those that were sent."""
    limit: str = ""
    problem: str = ""
    """Message of the error that ended it."""


def run_session(call: SessionCall, emit: Emit) -> Files:
    """Run a session in a worker, send each record of its log, and return its files.

    Raises:
        CoderError: the session could not be run.
    """
    setup = call.prepare()
    trusted = setup.trusted or ensure_trust(call.task.directory, backend=setup.backend)
    setup = replace(setup, trusted=trusted)
    task = call.task.model_copy(update={"directory": setup.root, "trusted": trusted})

    async def run(handle: Session) -> None:
        async with _send_records(handle.log, emit):
            await handle.run()

    with setup.open(setup.complete(task)) as handle:
        asyncio.run(run(handle))
    directory = sessions_directory() / handle.id
    try:
        return _read_files(directory)
    finally:
        if call.clone is not None:
            discard_tree(directory)


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


def _read_files(directory: Path) -> Files:
    files = [directory / LOG, *sorted((directory / "blobs").glob("*"))]
    return {str(file.relative_to(directory)): file.read_bytes() for file in files}


def parse_log(files: Files) -> list[events.Record]:
    """Return the records of a session's log, which begins with a line on its format."""
    return [events.Record.model_validate_json(line) for line in files[LOG].splitlines()[1:]]


def perform_part(call: PartCall, emit: Emit) -> PartResult:
    """Run a part in a worker, and send each record as it is made."""
    setup = call.prepare()
    records = tuple(map(events.Record.model_validate_json, call.records))
    task = call.task.model_copy(update={"directory": setup.root})
    with setup.open(task, records=records) as handle:
        directory = sessions_directory() / handle.id
        try:
            return asyncio.run(_perform(call, handle.context, directory, emit))
        finally:
            handle.context.sandbox.stop()
            discard_tree(directory)


async def _perform(call: PartCall, session: SessionContext, directory: Path, emit: Emit) -> PartResult:
    context, repository = replace(session, **call.fields), session.repository
    assert isinstance(repository, SessionRepository)
    note: Note | None = None
    error: CoderError | None = None
    async with _send_records(session.log, emit):
        candidate = repository.create_candidate(call.candidate.partition("/")[0])
        repository.adopt_change(candidate, call.change)
        try:
            work = call.part.perform(context.on(candidate.model_copy(update={"id": call.candidate})))
            note = await asyncio.wait_for(work, context.budget.seconds_left)
        except (LimitReached, ModelError) as caught:
            error = caught
        except TimeoutError:
            error = LimitReached("seconds", "The time limit is reached.")
    return PartResult(
        note=note,
        change=repository.candidate_patch(candidate),
        files=_read_files(directory),
        limit=error.limit if isinstance(error, LimitReached) else "",
        problem=str(error) if error else "",
    )


class StageRunner:
    """Runs parts of a session's stages on an executor, each in a thread that waits for it."""

    _setup: SessionSetup
    _repository: SessionRepository

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._threads = ThreadPoolExecutor(executor.slots)
        self._clone: ClonedRepository | None = None

    def __enter__(self) -> "StageRunner":
        return self

    def __exit__(self, *_: object) -> None:
        """Wait until all calls have ended."""
        self._threads.shutdown()

    def connect(self, setup: SessionSetup, repository: SessionRepository) -> RunElsewhere:
        self._setup, self._repository = setup, repository
        return self._run

    async def _run(self, run: CandidateRun, part: StagePart) -> Note | None:
        """Run a part on a worker, and give the candidate its change and its records.

        Raises:
            LimitReached, ModelError: the part ended so, or its worker was lost too often.
        """
        call = await asyncio.to_thread(self._make_call, run, part)
        loop, stop = asyncio.get_running_loop(), Event()
        counted: dict[int, int] = {}

        def show(event: CallEvent[PartResult]) -> None:
            if not stop.is_set():  # else the session may have ended
                _report(run, counted, event)

        def report(event: CallEvent[PartResult]) -> None:
            loop.call_soon_threadsafe(show, event)

        try:
            result = await loop.run_in_executor(self._threads, self._perform, call, report, stop)
        finally:
            stop.set()
        await self._take_over(run, call, result, counted)
        if result.limit:
            raise LimitReached(result.limit, result.problem)  # type: ignore[arg-type]
        if result.problem:
            raise ModelError(result.problem)
        return result.note

    def _perform(
        self, call: PartCall, report: Callable[[CallEvent[PartResult]], object], stop: Event
    ) -> PartResult:
        for event in self._executor.run(perform_part, [(call.candidate, call)], stop=stop):
            match event:
                case CallFinished(result=result):
                    return result
                case CallFailed(key=name, reason=reason):
                    raise ModelError(f"{name} did not come to an end: {reason}.")
            report(event)
        raise ModelError(f"{call.candidate} was stopped.")

    def _make_call(self, run: CandidateRun, part: StagePart) -> PartCall:
        repository, remaining = self._repository, run.budget.limits_left
        if not self._executor.is_local and self._clone is None:
            checkout = repository.user_checkout
            self._clone = ClonedRepository.share(checkout, {repository.base}, self._executor)
        limits = {name: getattr(remaining, name) for name in ("usd", "tokens", "seconds", "requests")}
        task, config = run.task, self._setup.config
        budget = task.budget.model_copy(update=limits)
        owner = run.candidate.model_copy(update={"id": run.candidate.id.partition("/")[0]})
        return PartCall(
            config=config.model_copy(update={"max_usd": remaining.usd, "model": run.models.model.name}),
            unsafe=self._setup.backend is None,
            unpriced=budget.unpriced,
            clone=self._clone,
            part=part,
            task=task.model_copy(
                update={"base": repository.base, "budget": budget, "continues": "", "dry_run": True}
            ),
            candidate=run.candidate.id,
            change=repository.candidate_patch(owner),
            records=tuple(record.model_dump_json() for record in run.log.records),
            fields={name: getattr(run, name) for name in ("role", "continued", "hints")},
        )

    async def _take_over(
        self,
        run: CandidateRun,
        call: PartCall,
        result: PartResult,
        counted: Mapping[int, int],
    ) -> None:
        """Append a part's records to the log, renumbered, and give its candidate its change.

        Raises:
            GitError: the change is not what the worker has sent.
        """
        for name, output in result.files.items():
            if name != LOG:
                run.store.store_blob(output.decode("utf-8", "surrogateescape"))
        is_changed = result.change.tree != call.change.tree
        if is_changed:
            await asyncio.to_thread(self._repository.adopt_change, run.candidate, result.change)
        numbers = dict(counted)
        for record in parse_log(result.files):
            if record.number in numbers:
                continue
            if isinstance(record.event, events.BudgetSpent):  # its line was lost on the way
                numbers[record.number] = _count_spending(run, record.event)
                continue
            event = _renumber(record.event, numbers, known=len(call.records))
            numbers[record.number] = run.log.append(event).number
        if is_changed:
            await asyncio.to_thread(self._repository.checkpoint, run.candidate, f"Change {run.candidate.id}")


def _report(run: CandidateRun, counted: dict[int, int], event: CallEvent[PartResult]) -> None:
    """Show what a part does, and count what it pays for: `counted` has the numbers of such records here."""
    match event:
        case CallStarted(worker=worker):
            run.log.append(events.ToolStreamed(candidate=run.candidate.id, text=f"runs on {worker}"))
        case CallOutput(text=line):
            record = events.Record.model_validate_json(line)
            if isinstance(record.event, events.BudgetSpent):
                counted[record.number] = _count_spending(run, record.event)
            elif text := _describe_progress(record.event):
                run.log.append(events.ToolStreamed(candidate=run.candidate.id, text=text))
        case CallRestarted(reason=reason):
            counted.clear()
            run.log.warn(f"The worker of {run.candidate.id} was lost ({reason}): it begins anew.")


def _count_spending(context: SessionContext, event: events.BudgetSpent) -> int:
    total = context.budget.record_elsewhere(event.usage, role=event.role)
    return context.log.append(event.model_copy(update={"total": total})).number


def _describe_progress(event: events.Event) -> str:
    match event:
        case events.PhaseEntered(phase=phase):
            return phase
        case events.ToolStarted(call=call):
            return call.name
        case events.MessageFinished(message=AssistantMessage(text=text)):
            return text.strip().partition("\n")[0]
    return ""


def _renumber(event: events.Event, numbers: Mapping[int, int], *, known: int) -> events.Event:
    """Return an event whose references to records of its part are those of the whole log."""

    def last_until(number: int) -> int:
        if number <= known:
            return number
        return max((new for old, new in numbers.items() if old <= number), default=known)

    match event:
        case events.ContextCompacted():
            return event.model_copy(
                update={
                    "before": last_until(event.before),
                    "summarized": last_until(event.summarized),
                    "results": tuple(numbers.get(number, number) for number in event.results),
                    "pinned": tuple(numbers.get(number, number) for number in event.pinned),
                }
            )
        case events.CandidateForked(position=position) if position:
            return event.model_copy(update={"position": last_until(position)})
    return event
