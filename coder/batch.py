"""Batches: many issues, each fixed in a session of its own by an executor, with one folder of results."""

import contextlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field, ValidationError, field_validator

from coder.core.attestation import build_attestation
from coder.core.errors import CoderError, UserError
from coder.core.events import SessionFinished, SessionStarted, Task
from coder.core.state import outcome_label
from coder.core.text import explain_invalid_value, parse_json
from coder.core.values import UsageTotals, Value
from coder.core.verdict import VerdictKind
from coder.core.verdict_summary import markdown_report
from coder.executors.executor import (
    CallFailed,
    CallFinished,
    CallOutput,
    CallRestarted,
    CallStarted,
    Executor,
)
from coder.files.regular_files import lock_file
from coder.repo.git import Checkout, find_checkout
from coder.settings import load_config
from coder.wiring.conversations import find_money_limit
from coder.wiring.elsewhere import ClonedRepository, Files, SessionCall, parse_log, run_session
from coder.wiring.session import allows_unpriced

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
RESERVED_IDS = ("running", "table.md", "costs.txt")
"""Names of a batch's folder that no issue may take."""
SLUG_CHARACTERS = 32


class BatchIssue(Value):
    """One line of a batch: an issue with its repository, and limits of its session."""

    id: str = ""
    """Name of the folder of its result; derived from the line where it is not given."""
    issue: str
    repo: str = ""
    """Path of the repository, relative to the file; empty: the current directory's."""
    base: str = "HEAD"
    """Revision to start from."""
    strategy: Literal["linear", "plan", "tree", "committee", "auto", "offline"] | None = None
    model: str | None = None
    test: str | None = None
    """The project's test command."""
    attempts: int | None = Field(default=None, ge=1)
    max_usd: Decimal | None = Field(default=None, gt=0)
    max_tokens: int | None = Field(default=None, gt=0)
    max_seconds: float | None = Field(default=None, gt=0)
    max_requests: int | None = Field(default=None, gt=0)

    @field_validator("issue")
    @classmethod
    def _require_text(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("the issue is empty")
        return text.replace("\0", "")

    @field_validator("id")
    @classmethod
    def _require_name(cls, name: str) -> str:
        if name and (not ID.fullmatch(name) or name in RESERVED_IDS):
            raise ValueError("an id has letters, digits and . _ - alone, as it names a folder")
        return name

    @property
    def digest(self) -> str:
        """Digest of all fields, which tells whether a stored result is of the same line."""
        return sha256(self.model_dump_json().encode()).hexdigest()


class RejectedLine(Value):
    line: int
    reason: str


def parse_issues(lines: Iterable[str]) -> tuple[tuple[BatchIssue, ...], tuple[RejectedLine, ...]]:
    """Return the issues of a file, each with an id of its own, and the lines that are none."""
    issues: dict[str, BatchIssue] = {}
    numbers: dict[str, int] = {}
    rejected = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            issue = _parse_line(line)
        except ValueError as error:
            rejected.append(RejectedLine(line=number, reason=str(error)))
            continue
        if (first := numbers.setdefault(issue.id.casefold(), number)) != number:
            reason = f"its id {issue.id!r} is that of line {first}"
            rejected.append(RejectedLine(line=number, reason=reason))
        else:
            issues[issue.id] = issue
    return tuple(issues.values()), tuple(rejected)


def _parse_line(line: str) -> BatchIssue:
    """Parse one line."""
    try:
        content = parse_json(line)
        json.dumps(content, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("it holds half of a surrogate pair: write that character whole") from None
    except (ValueError, RecursionError):
        raise ValueError("it is no JSON") from None
    if not isinstance(content, dict):
        raise ValueError("it is no JSON object")
    try:
        issue = BatchIssue.model_validate(content)
    except ValidationError as error:
        raise ValueError(_describe_errors(error)) from None
    return issue if issue.id else issue.model_copy(update={"id": _derive_id(issue)})


def _describe_errors(error: ValidationError) -> str:
    reasons = []
    for detail in error.errors():
        name = ".".join(map(str, detail["loc"]))
        match detail["type"]:
            case "extra_forbidden":
                reasons.append(f"unknown field {name!r} (there are {', '.join(BatchIssue.model_fields)})")
            case "missing":
                reasons.append(f"the field {name!r} is missing")
            case _:
                reasons.append(f"{name}: {explain_invalid_value(detail['msg'])}")
    return "; ".join(reasons)


def _derive_id(issue: BatchIssue) -> str:
    """Return an id that begins with the issue's first words and depends on the whole line."""
    words = re.sub(r"[^a-z0-9]+", "-", issue.issue.casefold()[: 2 * SLUG_CHARACTERS]).strip("-")
    return f"{words[:SLUG_CHARACTERS].rstrip('-') or 'issue'}-{issue.digest[:8]}"


RUNNING, RESULT, COSTS = "running", "result.json", "costs.txt"
DRAFT_SUFFIX = ".draft"
LOCK = ".lock"


class IssueResult(Value):
    model_config = ConfigDict(frozen=True, extra="ignore")
    id: str
    digest: str
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
    worker: str = ""
    """Process or node that ran it."""


def describe_session(issue: BatchIssue, log: Files, *, worker: str) -> tuple[IssueResult, Files]:
    """Return the result of an issue by the log of its session, and all files of its folder but the result's.

    Raises:
        UserError: the session came to no outcome; nothing is stored, so that it can be tried again.
    """
    records = parse_log(log)
    start = next(record.event for record in records if isinstance(record.event, SessionStarted))
    finish = records[-1].event
    assert isinstance(finish, SessionFinished)
    if finish.kind is None:
        raise UserError(finish.summary)
    report = finish.report or (markdown_report(finish.verdict) if finish.verdict else finish.summary)
    texts = {"report.md": f"{report.rstrip()}\n"}
    if (attestation := build_attestation(records)) is not None:
        texts["evidence.json"] = f"{attestation.model_dump_json(indent=2)}\n"
    if finish.delivery is not None:
        texts["fix.diff"] = finish.delivery.diff
    files = {**log, **{name: text.encode("utf-8", "surrogateescape") for name, text in texts.items()}}
    result = IssueResult(
        id=issue.id,
        digest=issue.digest,
        label=outcome_label(finish),
        kind=finish.kind,
        summary=finish.summary,
        base=start.base,
        session=start.session,
        model=start.model,
        spent=finish.spent,
        seconds=finish.seconds,
        worker=worker,
    )
    return result, files


class BatchFolder:
    """Results of a batch on disk; an issue is done once its folder is there, which appears as a whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._running = path / RUNNING

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other processes from working on the same batch.

        Raises:
            UserError: one does already.
        """
        self._running.mkdir(parents=True, exist_ok=True)
        with (self.path / LOCK).open("w") as file:
            if lock_file(file.fileno(), wait=False) is False:
                raise UserError(f"Another coder batch is at work in {self.path}.")
            for draft in self._running.glob(f"*{DRAFT_SUFFIX}"):
                shutil.rmtree(draft, ignore_errors=True)
            yield

    def add_cost(self, identity: str, usd: Decimal) -> None:
        """Note what was paid for an issue; without space, its result tells it."""
        with contextlib.suppress(OSError), (self.path / COSTS).open("a", encoding="utf-8") as file:
            file.write(f"{identity} {usd}\n")

    def read_costs(self) -> dict[str, Decimal]:
        """Return what was paid for each issue so far, also in attempts that came to no result."""
        costs: dict[str, Decimal] = {}
        file = self.path / COSTS
        for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
            identity, _, usd = line.partition(" ")
            with contextlib.suppress(ArithmeticError):  # the last line may be incomplete
                costs[identity] = costs.get(identity, Decimal(0)) + Decimal(usd)
        return costs

    def read_results(self) -> dict[str, IssueResult]:
        """Return the stored results by id; folders without a readable one are ignored."""
        results = {}
        for path in sorted(self.path.glob(f"*/{RESULT}")):
            try:
                result = IssueResult.model_validate_json(path.read_bytes())
            except (OSError, ValidationError):
                continue
            results[path.parent.name] = result
        return results

    def store(self, result: IssueResult, files: Files) -> None:
        """Store a result: its folder appears under its name when all its files are written.

        Raises:
            OSError: they cannot be written; nothing is left of them.
        """
        identity = result.id
        draft = self._running / f"{identity}{DRAFT_SUFFIX}"
        contents = {**files, RESULT: f"{result.model_dump_json(indent=2)}\n".encode()}
        try:
            for name, content in contents.items():
                (draft / name).parent.mkdir(parents=True, exist_ok=True)
                with (draft / name).open("wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
            shutil.rmtree(self.path / identity, ignore_errors=True)  # of an issue that has been changed since
            draft.replace(self.path / identity)
        except OSError:
            shutil.rmtree(draft, ignore_errors=True)
            raise


LEAST_SECONDS = 1.0
"""Time below which no further issue is begun."""
SPENT_MARKER = '"type":"budget_spent"'


@dataclass(frozen=True, kw_only=True)
class BatchOptions:
    beside: Path
    """Directory that paths of repositories are relative to."""
    flags: Mapping[str, Any] = field(default_factory=dict)
    """Settings from the command line, which the fields of an issue override."""
    max_usd: Decimal | None = None
    max_seconds: float | None = None
    """Limits of all issues together."""
    trusted: bool = False
    unsafe: bool = False


@dataclass
class IssueProgress:
    issue: BatchIssue
    state: str = "waiting"
    """`waiting`, `running`, `done` or `not done`."""
    worker: str = ""
    spent_usd: Decimal = Decimal(0)
    reserved_usd: Decimal = Decimal(0)
    result: IssueResult | None = None
    reason: str = ""
    """Reason why it is not done, or begins anew."""


Report = Callable[[IssueProgress], None]


class Batch:
    """Runs the issues of a batch that have no result yet, and stores each result as it arrives."""

    def __init__(
        self,
        issues: Sequence[BatchIssue],
        *,
        options: BatchOptions,
        folder: BatchFolder,
        executor: Executor,
        report: Report,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._options = options
        self._folder = folder
        self._executor = executor
        self._report = report
        self._clock = clock
        self._deadline = None if options.max_seconds is None else clock() + options.max_seconds
        self._clones: dict[Path, ClonedRepository] = {}
        stored, costs = folder.read_results(), folder.read_costs()
        self.progress: dict[str, IssueProgress] = {}
        for issue in issues:
            entry = IssueProgress(issue)
            result = stored.get(issue.id)
            if result is not None and result.digest == issue.digest:
                entry.state, entry.result = "done", result
                entry.spent_usd = result.spent.cost_usd or Decimal(0)
                costs[issue.id] = max(costs.get(issue.id, entry.spent_usd), entry.spent_usd)
            self.progress[issue.id] = entry
        self.spent_usd = sum(costs.values(), Decimal(0))
        """Known cost of everything that was run, lost attempts included."""

    def run(self) -> None:
        """Run all issues that have no result; each change of state is reported."""
        events = self._executor.run(run_session, self._calls())
        with contextlib.closing(events):  # type: ignore[type-var]
            for event in events:
                entry = self.progress[event.key]
                match event:
                    case CallStarted(worker=worker):
                        self._start(entry, worker)
                    case CallOutput(text=text):
                        if SPENT_MARKER in text:
                            self._pay(entry, _cost_of(text))
                    case CallRestarted(reason=reason):
                        entry.state, entry.reason = "waiting", f"its worker died ({reason}): it begins anew"
                    case CallFinished(result=files):
                        self._finish(entry, files)
                    case CallFailed(reason=reason):
                        self._fail(entry, reason)
                self._report(entry)

    def _calls(self) -> Iterator[tuple[str, SessionCall]]:
        """Yield a call for each issue when a worker is free for it; those that cannot begin are reported."""
        waiting = [entry for entry in self.progress.values() if entry.state == "waiting"]
        for number, entry in enumerate(waiting):
            try:
                call = self._prepare(entry, remaining=len(waiting) - number)
            except (CoderError, OSError) as error:
                entry.state, entry.reason = "not done", " ".join(str(error).split())
                self._report(entry)
                continue
            yield entry.issue.id, call

    def _prepare(self, entry: IssueProgress, *, remaining: int) -> SessionCall:
        """Return the call for an issue; its limits are its own, or an equal share of what is left for all."""
        issue, options = entry.issue, self._options
        seconds = None if self._deadline is None else self._deadline - self._clock()
        if seconds is not None and seconds < LEAST_SECONDS:
            raise UserError("the time limit of the batch is reached")
        own_flags = issue.model_dump(
            include={
                *("strategy", "model", "test", "attempts", "max_usd", "max_tokens", "max_seconds"),
                "max_requests",
            }
        )
        flags = {**options.flags, **{name: value for name, value in own_flags.items() if value is not None}}
        checkout = find_checkout(self._directory_of(issue))
        base = _resolve_base(checkout, issue)
        config = load_config(checkout.root, flags)
        limit = find_money_limit(config)
        usd = self._share_of_money(remaining, own=limit.usd if limit else None)
        entry.reserved_usd = usd or Decimal(0)
        limits = [value for value in (config.max_seconds, seconds) if value is not None]
        update = {"max_usd": usd, "max_seconds": min(limits, default=None)}
        return SessionCall(
            task=Task(
                issue=issue.issue,
                directory=checkout.root,
                base=base,
                dry_run=True,
                trusted=options.trusted,
            ),
            config=config.model_copy(update=update),
            unsafe=options.unsafe,
            unpriced=allows_unpriced(flags),
            clone=None if self._executor.is_local else self._clone(checkout),
        )

    def _clone(self, checkout: Checkout) -> ClonedRepository:
        """Return a repository with the bases of all its issues, which is shared once with the executor."""
        if checkout.root not in self._clones:
            bases = {_resolve_base(checkout, issue) for issue in self._issues_of(checkout.root)}
            self._clones[checkout.root] = ClonedRepository.share(checkout, bases, self._executor)
        return self._clones[checkout.root]

    def _issues_of(self, root: Path) -> Iterator[BatchIssue]:
        """Yield the issues of a repository that have no result and whose base is there."""
        for entry in self.progress.values():
            if entry.state == "done":
                continue
            with contextlib.suppress(CoderError):
                checkout = find_checkout(self._directory_of(entry.issue))
                if checkout.root == root:
                    _resolve_base(checkout, entry.issue)
                    yield entry.issue

    def _directory_of(self, issue: BatchIssue) -> Path:
        return self._options.beside / Path(issue.repo).expanduser() if issue.repo else Path()

    def _share_of_money(self, remaining: int, own: Decimal | None) -> Decimal | None:
        """Return the money limit of the next session; what earlier ones did not spend goes to later ones."""
        if self._options.max_usd is None:
            return own
        rests = (max(entry.reserved_usd - entry.spent_usd, Decimal(0)) for entry in self.progress.values())
        share = (self._options.max_usd - self.spent_usd - sum(rests, Decimal(0))) / remaining
        if share <= 0:
            raise UserError("the money limit of the batch is reached")
        return share if own is None else min(own, share)

    def _start(self, entry: IssueProgress, worker: str) -> None:
        entry.state, entry.worker = "running", worker
        entry.spent_usd = Decimal(0)  # of the attempt: it may spend its share again

    def _pay(self, entry: IssueProgress, usd: Decimal) -> None:
        entry.spent_usd += usd
        self.spent_usd += usd
        self._folder.add_cost(entry.issue.id, usd)

    def _finish(self, entry: IssueProgress, log: Files) -> None:
        try:
            result, files = describe_session(entry.issue, log, worker=entry.worker)
        except UserError as error:
            self._fail(entry, " ".join(str(error).split()))
            return
        untold = (result.spent.cost_usd or Decimal(0)) - entry.spent_usd  # lines may be lost on the way
        if untold > 0:
            self._pay(entry, untold)
        entry.reserved_usd = Decimal(0)
        try:
            self._folder.store(result, files)
        except OSError as error:
            entry.state, entry.reason = "not done", f"its result cannot be stored: {error.strerror}"
            return
        entry.state, entry.reason, entry.result = "done", "", result

    def _fail(self, entry: IssueProgress, reason: str) -> None:
        entry.reserved_usd = Decimal(0)
        entry.state, entry.reason = "not done", reason


def _resolve_base(checkout: Checkout, issue: BatchIssue) -> str:
    """Return the commit that an issue starts from."""
    base = checkout.git.resolve_commit(issue.base)
    if base is None:
        raise UserError(f"{checkout.root} has no revision {issue.base!r}")
    return base


def _cost_of(line: str) -> Decimal:
    """Return the price of a request from the record of it; 0 where it is not known."""
    cost = json.loads(line)["event"]["usage"].get("cost_usd")
    return Decimal(0) if cost is None else Decimal(str(cost))
