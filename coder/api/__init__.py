"""The public library: judge changes, fix issues, locate code and apply diffs from Python.

What `__all__` names is stable: see docs/api.md. Every function is synchronous and may be called from any
thread, but not from inside a running event loop.
"""

import asyncio
import difflib
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import WithJsonSchema

from coder.core.attestation import Attestation, build_attestation
from coder.core.errors import CoderError, UserError
from coder.core.events import PhaseEntered, Stop, ToolStreamed
from coder.core.values import Suspect, SuspectRanking, Value
from coder.core.verdict import Verdict, VerdictKind

if TYPE_CHECKING:
    from coder.core.events import Task
    from coder.patching import FileChange, PlannedPatch
    from coder.retrieval.ranking import RankedPlace
    from coder.session.session import Session
    from coder.wiring.session import SessionSetup

__all__ = [
    "AppliedDiff",
    "Attestation",
    "ChangedFile",
    "CoderError",
    "Location",
    "Locations",
    "Result",
    "Suspect",
    "SuspectRanking",
    "UserError",
    "Verdict",
    "VerdictKind",
    "apply",
    "fix",
    "locate",
    "locate_fault",
    "verify",
]

Strategy = Literal["linear", "plan", "tree", "committee", "auto", "offline"]
Progress = Callable[[str], None]
STOP_SECONDS = 0.1
"""Interval in which a request to stop is noticed."""
ERRORS: dict[int, type[CoderError]] = {1: CoderError, 2: UserError}
"""Exceptions by the exit codes of sessions that failed."""


class Result(Value):
    """The outcome of `fix` or `verify`."""

    session: str
    """Id of the session, as `coder log show` takes it."""
    label: str
    """PROVEN, FIXED, PASSING, NOT FIXED, BROKEN, NOT TESTED, GAVE UP or LIMIT; `stopped` if it was
    interrupted."""
    exit_code: int
    """Exit code that the command line ends with."""
    summary: str
    """One sentence that explains the outcome."""
    report: str
    """The evidence for a verdict; without one, what was tried and is suspected. Markdown."""
    verdict: Verdict | None = None
    """None if nothing was judged."""
    evidence: Attestation | None = None
    """The verdict with everything needed to check it again; None if nothing was judged."""
    diff: str = ""
    """The delivered fix, or the change that was judged."""
    branch: str = ""
    """Branch of a delivered fix; empty if nothing was written to the repository."""
    commit: str = ""
    """Commit of a delivered fix."""
    model: str = ""
    """The model that worked; `no model` is the built-in engine, or no change was to be made."""

    @property
    def is_proven(self) -> bool:
        """True if the verdict is PROVEN: FIXED, examined to the end, with nothing left to look at."""
        return self.verdict is not None and self.verdict.kind is VerdictKind.PROVEN


class Location(Value):
    """A file, or a definition in it, that an issue may be about."""

    path: str
    """Relative to the tree."""
    name: str = ""
    """Qualified name of the definition, such as `Box.size`; empty for a file."""
    line: int = 0
    """Line of the definition, from 1; 0 for a file."""
    reasons: tuple[str, ...] = ()
    """Only for the likeliest few."""


class Locations(Value):
    """Places that an issue may be about, likeliest first."""

    files: tuple[Location, ...] = ()
    definitions: tuple[Location, ...] = ()


class ChangedFile(Value):
    """A file that a diff changes."""

    path: str
    """Relative to the root; the new name of a renamed file."""
    kind: Literal["changed", "new", "deleted", "renamed"]
    renamed_from: str = ""
    added: int = 0
    """Number of added lines."""
    removed: int = 0
    """Number of removed lines."""


class AppliedDiff(Value):
    """The changes that a diff makes to files."""

    root: Annotated[Path, WithJsonSchema({"type": "string"})]  # clients warn of pydantic's format `path`
    """Directory that the paths are relative to."""
    files: tuple[ChangedFile, ...]
    done: tuple[str, ...] = ()
    """`path: hunk N` for each hunk that its file had already."""
    syntax_errors: tuple[str, ...] = ()
    """`path:line: message` for each Python file that no longer parses."""


def verify(
    revision: str | None = None,
    *,
    repository: str | Path = ".",
    diff: str | None = None,
    against: str | None = None,
    issue: str = "",
    test_command: str | None = None,
    accept_test_edits: bool = False,
    unrelated_tests: tuple[str, ...] = (),
    trust: bool = False,
    unsafe_no_sandbox: bool = False,
    in_turn: bool = False,
    on_progress: Progress | None = None,
    stop: Event | None = None,
) -> Result:
    """Judge an existing change, as `coder verify` does, in clean worktrees; the checkout stays as it is.

    Args:
        revision: a commit, branch or range `A..B`; None is the uncommitted work.
        repository: a directory inside of the repository.
        diff: a diff to judge instead of a revision.
        against: the revision to compare with; None is HEAD, for a branch its merge base, for a commit its
            parent.
        issue: purpose of the change; empty is the commits' messages.
        test_command: the project's test command; None: detected.
        accept_test_edits: tests whose assertions the change replaces have been looked at.
        unrelated_tests: ids of failing tests that are not about the issue.
        trust: run the repository's code without a full sandbox.
        unsafe_no_sandbox: run it without any sandbox.
        in_turn: an agent waits: tests beside the targets get 20 s, the examination 10 s.
        on_progress: is called with a line of text from time to time.
        stop: setting it from another thread stops the work; the result is `stopped`.

    Raises:
        UserError: there is no such change, or the repository cannot be worked on.
    """
    from coder.core.events import Task
    from coder.wiring.session import judging_approach, prepare_session

    request = Task(
        issue=issue,
        directory=Path(repository),
        needs_ties=bool(issue),
        accept_test_edits=accept_test_edits,
        unrelated_tests=unrelated_tests,
        in_turn=in_turn,
    )
    approach, request = judging_approach(request, revision=revision, diff=diff, against=against)
    setup = prepare_session(
        request.directory,
        flags={"test": test_command},
        trusted=trust,
        unsafe=unsafe_no_sandbox,
        approach=approach,
    )
    return _run_session(setup, setup.complete(request), on_progress, stop)


def fix(
    issue: str,
    *,
    repository: str | Path = ".",
    model: str | None = None,
    base_url: str | None = None,
    strategy: Strategy | None = None,
    base: str | None = None,
    only: tuple[str, ...] = (),
    dry_run: bool = False,
    attempts: int | None = None,
    max_usd: Decimal | None = None,
    max_tokens: int | None = None,
    max_seconds: float | None = None,
    test_command: str | None = None,
    accept_test_edits: bool = False,
    unrelated_tests: tuple[str, ...] = (),
    trust: bool = False,
    unsafe_no_sandbox: bool = False,
    on_progress: Progress | None = None,
    stop: Event | None = None,
) -> Result:
    """Fix an issue, as `coder fix` does; the fix is a commit on a branch of its own.

    Nobody is asked anything: what the user's settings do not allow is denied.

    Args:
        issue: text of the issue.
        repository: a directory inside of the repository.
        model: `provider:name`; None: chosen from settings, keys and local servers.
        base_url: an OpenAI-compatible server to use.
        strategy: the strategy; None is linear, or offline if there is no model.
        base: revision to start from; None is HEAD with the uncommitted work.
        only: paths or globs that may be changed; empty is all.
        dry_run: leave nothing in the repository.
        attempts: failed verifications before giving up.
        max_usd: money limit.
        max_tokens: token limit.
        max_seconds: time limit.
        test_command: the project's test command; None: detected.
        accept_test_edits: tests whose assertions the change replaces have been looked at.
        unrelated_tests: ids of failing tests that are not about the issue.
        trust: run the repository's code without a full sandbox.
        unsafe_no_sandbox: run it without any sandbox.
        on_progress: is called with a line of text from time to time.
        stop: setting it from another thread stops the work; the result is `stopped`.

    Raises:
        UserError: the model or the repository cannot be used.
    """
    from coder.core.events import Task
    from coder.wiring.session import prepare_session

    flags: dict[str, Any] = {
        "model": model,
        "base_url": base_url,
        "strategy": strategy,
        "attempts": attempts,
        "max_usd": max_usd,
        "max_tokens": max_tokens,
        "max_seconds": max_seconds,
        "test": test_command,
    }
    setup = prepare_session(Path(repository), flags=flags, trusted=trust, unsafe=unsafe_no_sandbox)
    request = Task(
        issue=issue,
        directory=setup.root,
        base=base,
        only=only,
        dry_run=dry_run,
        accept_test_edits=accept_test_edits,
        unrelated_tests=unrelated_tests,
    )
    return _run_session(setup, setup.complete(request), on_progress, stop)


def locate(issue: str, *, repository: str | Path = ".") -> Locations:
    """Rank the files and definitions of a tree that an issue is about, without a model; nothing is run.

    The tree need not be a git repository.

    Raises:
        UserError: its files cannot be listed.
    """
    from coder.wiring.project_runtime import rank_tree

    matches = rank_tree(Path(repository), issue)
    return Locations(
        files=tuple(map(_make_location, matches.files)),
        definitions=tuple(map(_make_location, matches.symbols)),
    )


def locate_fault(
    tests: tuple[str, ...] = (),
    *,
    repository: str | Path = ".",
    trust: bool = False,
    unsafe_no_sandbox: bool = False,
    on_progress: Progress | None = None,
) -> SuspectRanking:
    """Rank functions by how much more failing tests execute them than passing ones do (Ochiai).

    Args:
        tests: ids of failing tests; empty: the suite is run, and all that fail count.
        repository: a directory inside of the repository.
        trust: run the repository's code without a full sandbox.
        unsafe_no_sandbox: run it without any sandbox.
        on_progress: is called with a line of text from time to time.

    Raises:
        UserError: the repository cannot be worked on.
    """
    from coder.wiring.session import locate_faults

    return locate_faults(
        Path(repository), tests, trusted=trust, unsafe=unsafe_no_sandbox, progress=on_progress
    )


def apply(
    diff: str, *, directory: str | Path = ".", check: bool = False, reverse: bool = False
) -> AppliedDiff:
    """Apply a diff as a model or a person wrote it, all of it or nothing; nothing is staged or committed.

    The diff may be fenced, in prose, or damaged. Paths are relative to the top of the repository, or to the
    directory where they do not fit there.

    Args:
        diff: the text.
        directory: the files to change, in a git repository or not.
        check: write nothing.
        reverse: take the change back.

    Raises:
        UserError: it does not fit, is ambiguous, or leads outside of the directory; no file was changed.
    """
    from coder.core.text import sanitize_text
    from coder.patching import PatchError
    from coder.patching.plan import ConfinedTree, write_patch

    place = Path(directory)
    if not place.is_dir():
        raise UserError(f"{place} is not a directory; name the one to work in.")
    try:
        root, plan = _plan_diff(place.resolve(), diff, reverse=reverse)
        if not check:
            write_patch(plan, ConfinedTree(root))
    except PatchError as error:
        raise UserError(sanitize_text(str(error))) from None
    return AppliedDiff(
        root=root,
        files=tuple(map(_describe_file, plan.changes)),
        done=plan.done,
        syntax_errors=plan.syntax_errors,
    )


def _run_session(
    setup: "SessionSetup", task: "Task", on_progress: Progress | None, stop: Event | None
) -> Result:
    """Run a session to its end.

    Raises:
        UserError: what it is about does not exist or fit, or the caller is in an event loop.
        CoderError: it failed.
    """
    from coder.core.state import outcome_label
    from coder.core.verdict_summary import markdown_report

    if _is_in_event_loop():
        raise UserError("This would block the running event loop. Call it with asyncio.to_thread.")
    with setup.open(task) as handle:
        asyncio.run(_follow_session(handle, on_progress, stop or Event()))
    finish = handle.finish_event
    if finish.kind is None and finish.exit_code in ERRORS:
        raise ERRORS[finish.exit_code](finish.summary)
    evidence = build_attestation(handle.log.records)
    delivery = finish.delivery
    judged = evidence.diff if evidence and task.given else ""
    return Result(
        session=handle.id,
        label=outcome_label(finish),
        exit_code=finish.exit_code,
        summary=finish.summary,
        report=finish.report or (markdown_report(finish.verdict) if finish.verdict else ""),
        verdict=finish.verdict,
        evidence=evidence,
        diff=delivery.diff if delivery else judged,
        branch=delivery.branch if delivery else "",
        commit=delivery.commit if delivery else "",
        model=setup.approach.model.name,
    )


def _is_in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def _follow_session(handle: "Session", on_progress: Progress | None, stop: Event) -> None:
    run = asyncio.ensure_future(handle.run())
    watcher = asyncio.ensure_future(_send_stop(handle, stop))
    try:
        async for record in handle.log.follow():
            match record.event:
                case PhaseEntered(phase=text) | ToolStreamed(text=text) if on_progress is not None:
                    on_progress(text)
    finally:
        await run
        watcher.cancel()


async def _send_stop(handle: "Session", stop: Event) -> None:
    while not stop.is_set():  # noqa: ASYNC110 - it is set by another thread, not by this loop
        await asyncio.sleep(STOP_SECONDS)
    handle.send(Stop())


def _make_location(ranked: "RankedPlace") -> Location:
    item = ranked.item
    return Location(
        path=ranked.path,
        name=item.name if item else "",
        line=item.line if item else 0,
        reasons=ranked.reasons,
    )


def _plan_diff(directory: Path, text: str, *, reverse: bool) -> "tuple[Path, PlannedPatch]":
    """Plan a diff at the top of the repository; if it does not fit there, in the directory itself."""
    from coder.patching import PatchError, plan_patch

    top = next((above for above in (directory, *directory.parents) if (above / ".git").exists()), directory)
    faults = []
    for root in dict.fromkeys((top, directory)):
        try:
            return root, plan_patch(text, root, reverse=reverse)
        except PatchError as error:
            faults.append(error)
    raise faults[0]


def _describe_file(change: "FileChange") -> ChangedFile:
    before, after = (source.lines if source else () for source in (change.before, change.after))
    signs = [line[0] for line in list(difflib.unified_diff(before, after, n=0, lineterm=""))[2:]]
    return ChangedFile(
        path=change.path,
        kind="new"
        if change.before is None
        else "deleted"
        if change.after is None
        else "renamed"
        if change.renamed_from
        else "changed",
        renamed_from=change.renamed_from,
        added=signs.count("+"),
        removed=signs.count("-"),
    )
