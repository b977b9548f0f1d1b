"""The whole suite after a verdict on impacted tests: a session of its own, in the background."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from coder.core.errors import CoderError, GitError
from coder.core.events import SessionFinished, SessionStarted
from coder.core.values import Value
from coder.core.verdict import Verdict, VerdictKind
from coder.directories import sessions_directory
from coder.files.regular_files import replace_text
from coder.repo.delivery import add_note, make_commit
from coder.repo.git import find_checkout
from coder.session.delivery import INTERRUPTED
from coder.store.jsonl import boundary_events
from coder.wiring.suite_process import start_suite_process

LINK_FILE = "whole_suite.json"
"""File in the directory of the first session, which names the second."""
SUITE_SECONDS = 4 * 3600.0
"""Time limit of a run of the whole suite in the background."""


class WholeSuiteRun(Value):
    """The session that runs the whole suite on a change that another one has judged."""

    judged: str
    """Id of the session that gave the first verdict."""
    session: str
    finished: SessionFinished | None = None
    """None while it runs, and where it was killed."""

    @property
    def broke(self) -> Verdict | None:
        """The verdict, where the suite shows that the change breaks a test."""
        verdict = self.finished.verdict if self.finished else None
        return verdict if verdict is not None and verdict.kind is VerdictKind.BROKEN else None

    @property
    def sentence(self) -> str:
        """The result, for the user."""
        if self.finished is None:
            return f"The whole suite has not ended yet; it runs as session {self.session}, or was stopped."
        if self.finished.exit_code == INTERRUPTED:
            return "The whole suite was stopped before its end."
        if self.broke:
            return f"The whole suite shows that the change is BROKEN: {self.broke.reason}"
        kind = self.finished.kind or "no verdict"
        return f"The whole suite was run afterwards: {kind}. {self.finished.summary}"


def start_whole_suite(
    started: SessionStarted, finished: SessionFinished, *, suite: str, is_sandboxed: bool
) -> bool:
    """Start a process that judges a change by the whole suite, if its verdict rests on impacted tests.

    It outlives this one. Nothing is started in CI, or where `suite` says so. Return whether it was started.
    """
    verdict = finished.verdict
    is_wanted = suite in ("auto", "background") and not os.environ.get("CI") and not started.task.after
    if not is_wanted or verdict is None or not verdict.is_deliverable:
        return False
    if verdict.scope == "whole" and not verdict.cut_short:
        return False
    git = find_checkout(Path(started.repository)).git
    commit = finished.delivery.commit if finished.delivery else None
    base = started.judged_since or (started.head if commit else started.base)
    try:
        commit = commit or make_commit(git, tree=verdict.tree, parent=base, message=started.task.issue)
        words = [sys.executable, "-m", "coder", "verify", commit, "--against", base]
        words += ["--after", started.session, "--repo", started.repository, "--suite", "whole"]
        words += ["--test", started.task.test_command] if started.task.test_command else []
        words += [] if is_sandboxed else ["--unsafe-no-sandbox"]
        start_suite_process(words, Path(started.repository))
    except (OSError, GitError):
        return False
    return True


def link_whole_suite(judged: str, session: str) -> None:
    """Record that a session runs the whole suite for another one."""
    replace_text(sessions_directory() / judged / LINK_FILE, json.dumps({"session": session}))


def read_whole_suite(directory: Path) -> WholeSuiteRun | None:
    """Return what became of the whole suite for a session; None if it was not started."""
    link = _read_link(directory)
    try:
        finished = boundary_events(directory.parent / link["session"])[1] if link else None
    except CoderError:
        return None
    return WholeSuiteRun(judged=directory.name, session=link["session"], finished=finished) if link else None


def unreported_failures(directory: Path) -> Iterator[WholeSuiteRun]:
    """Yield failures of whole suites in the repository around `directory` that were not reported yet.

    Each is yielded once, in all processes. The log of a suite is read only until it has ended.
    """
    for link in sorted(sessions_directory().glob(f"*/{LINK_FILE}")):
        judged = link.parent
        if _read_link(judged).get("settled") or not (run := read_whole_suite(judged)) or not run.finished:
            continue
        started = boundary_events(judged)[0]
        is_here = started is not None and started.repository == str(find_checkout(directory).root)
        if run.broke and not is_here:
            continue
        replace_text(link, json.dumps({"session": run.session, "settled": True}))
        if run.broke:
            yield run


def _read_link(directory: Path) -> dict[str, Any]:
    """Return the content of a session's link; empty if there is none."""
    try:
        link = json.loads((directory / LINK_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return link if isinstance(link, dict) and isinstance(link.get("session"), str) else {}


def supersede_note(judged: str, finished: SessionFinished, root: Path) -> None:
    """Replace the evidence beside a delivered commit if the whole suite shows that it broke a test."""
    broke = finished.verdict is not None and finished.verdict.kind is VerdictKind.BROKEN
    delivered = boundary_events(sessions_directory() / judged)[1]
    delivery = delivered.delivery if delivered else None
    git = find_checkout(root).git
    if broke and delivery is not None and delivery.commit and git.resolve_commit(delivery.commit):
        add_note(git, delivery.commit, finished.report)
