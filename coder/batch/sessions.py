"""One issue of a batch as a session, run by an executor's worker."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from pydantic import Field

from coder.batch.issues import BatchIssue
from coder.core.attestation import build_attestation
from coder.core.errors import CoderError
from coder.core.events import Record, SessionFinished
from coder.core.messages import UsageTotals
from coder.core.state import outcome_label
from coder.core.values import Value
from coder.core.verdict import VerdictKind
from coder.directories import sessions_directory
from coder.executors.calls import Emit
from coder.files.discard import discard_tree
from coder.sandbox.choice import require_backend
from coder.settings import Config
from coder.verify.verdict import markdown_report
from coder.wiring.elsewhere import ClonedRepository
from coder.wiring.preparation import ensure_trust
from coder.wiring.session import SessionHandle, SessionSetup, choose_approach

RESULT = "result.json"


class SessionFailed(CoderError):
    """A session ended without an outcome; nothing is stored, so that it can be tried again."""


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
class IssueCall:
    """An issue with all that a worker needs to run it."""

    issue: BatchIssue
    config: Config
    """The user's settings in this repository, with the limits of this session."""
    root: Path
    base: str
    """Commit."""
    trusted: bool = False
    unsafe: bool = False
    unpriced: bool = False
    """True if a money limit does not exclude models without a known price."""
    clone: ClonedRepository | None = None
    """The repository for a worker on another machine; None: the worker sees this one's files."""


@dataclass(frozen=True)
class IssuePackage:
    """A result with the contents of its files, whose digests it holds."""

    result: IssueResult
    contents: dict[str, bytes] = field(repr=False)

    def damaged_files(self) -> list[str]:
        """Return the names of files whose content does not have the digest that the worker computed."""
        digests = {name: sha256(content).hexdigest() for name, content in self.contents.items()}
        return sorted(
            name
            for name in {*digests, *self.result.files}
            if digests.get(name) != self.result.files.get(name)
        )


def run_issue(call: IssueCall, emit: Emit) -> IssuePackage:
    """Run the session of an issue, send each record of its log, and return all that it leaves.

    Raises:
        CoderError: the session could not be run, or came to no outcome.
    """
    root = call.root if call.clone is None else call.clone.unpack(call.base)
    backend = require_backend(unsafe=call.unsafe, image=call.config.image)
    setup = SessionSetup(
        root=root,
        config=call.config,
        backend=backend,
        trusted=call.trusted or ensure_trust(call.root, backend=backend),
        approach=choose_approach(call.config, model_name=call.config.model),
        unpriced=call.unpriced,
    )
    task = setup.make_task(call.issue.issue, base=call.base, dry_run=True)
    with setup.open(task) as handle:
        asyncio.run(_run_session(handle, emit))
    directory = sessions_directory() / handle.id
    try:
        return _pack(call, handle, directory, model=setup.approach.model.name)
    finally:
        if call.clone is not None:
            discard_tree(directory)


async def _run_session(handle: SessionHandle, emit: Emit) -> None:
    async def send_records() -> None:
        async for record in handle.log.follow():
            if handle.log.records and record is handle.log.records[record.number - 1]:  # not a fleeting one
                emit(record.model_dump_json())

    follower = asyncio.ensure_future(send_records())
    await handle.session.run()
    await follower


def _pack(call: IssueCall, handle: SessionHandle, directory: Path, *, model: str) -> IssuePackage:
    """Return the result of a session with the files that it left.

    Raises:
        SessionFailed: it came to no outcome.
    """
    finish, records = handle.finish_event, handle.log.records
    if finish.kind is None:
        raise SessionFailed(finish.summary)
    contents = {
        "events.jsonl": (directory / "events.jsonl").read_bytes(),
        **{f"blobs/{path.name}": path.read_bytes() for path in sorted((directory / "blobs").glob("*"))},
        **_describe(finish, records),
    }
    result = IssueResult(
        id=call.issue.id,
        digest=call.issue.digest,
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
        files={name: sha256(content).hexdigest() for name, content in contents.items()},
    )
    return IssuePackage(result, contents)


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
