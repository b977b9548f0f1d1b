"""Run of a batch: issues to calls, events to stored results, limits over all of them."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from coder.batch.folder import BatchFolder, IssueResult, describe_session
from coder.batch.issues import BatchIssue, resolve_repository
from coder.core.errors import CoderError, UserError
from coder.core.events import Task
from coder.executors.calls import (
    CallFailed,
    CallFinished,
    CallOutput,
    CallRestarted,
    CallStarted,
    Executor,
)
from coder.repo.git import Checkout, find_checkout
from coder.settings import load_config
from coder.wiring.conversations import find_money_limit
from coder.wiring.elsewhere import ClonedRepository, Files, SessionCall, run_session
from coder.wiring.session import allows_unpriced

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
        checkout = find_checkout(resolve_repository(issue, options.beside))
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
                checkout = find_checkout(resolve_repository(entry.issue, self._options.beside))
                if checkout.root == root:
                    _resolve_base(checkout, entry.issue)
                    yield entry.issue

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
