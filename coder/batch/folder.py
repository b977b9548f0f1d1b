"""Folder of a batch: a folder for each finished issue, and a list of what has been paid."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from decimal import Decimal
from hashlib import sha256
from pathlib import Path

from pydantic import Field, ValidationError

from coder.batch.issues import BatchIssue
from coder.core.attestation import build_attestation
from coder.core.errors import UserError
from coder.core.events import SessionFinished, SessionStarted
from coder.core.state import outcome_label
from coder.core.values import UsageTotals, Value
from coder.core.verdict import VerdictKind
from coder.core.verdict_summary import markdown_report
from coder.files.regular_files import lock_file
from coder.wiring.elsewhere import Files, parse_log

RUNNING, RESULT, COSTS = "running", "result.json", "costs.txt"
DRAFT_SUFFIX = ".draft"
LOCK = ".lock"


class IssueResult(Value):
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
    began_at: datetime | None = None
    """Time of its first record."""
    stages: Mapping[str, float] = Field(default_factory=dict)
    worker: str = ""
    """Process or node that ran it."""
    files: Mapping[str, str] = Field(default_factory=dict)
    """SHA-256 of each other file of the folder, by name."""


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
        began_at=records[0].at,
        stages=finish.stages,
        worker=worker,
        files={name: sha256(content).hexdigest() for name, content in files.items()},
    )
    return result, files


class BatchFolder:
    """Results of a batch on disk; an issue is done once its folder is there, which appears as a whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._running = path / RUNNING

    @contextmanager
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
        with suppress(OSError), (self.path / COSTS).open("a", encoding="utf-8") as file:
            file.write(f"{identity} {usd}\n")

    def read_costs(self) -> dict[str, Decimal]:
        """Return what was paid for each issue so far, also in attempts that came to no result."""
        costs: dict[str, Decimal] = {}
        file = self.path / COSTS
        for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
            identity, _, usd = line.partition(" ")
            with suppress(ArithmeticError):  # the last line may be incomplete
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
