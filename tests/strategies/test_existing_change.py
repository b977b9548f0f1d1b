"""Existing changes: verified, and not delivered."""

import asyncio
from dataclasses import replace
from pathlib import Path

from coder.core.events import FilesChanged, PhaseEntered, SessionFinished, Verified
from coder.core.values import Patch
from coder.core.verdict import VerdictKind
from coder.session.session import Session
from coder.strategies.follow import judge_existing_change
from tests.session.fakes import PROVEN, FakeRepository, FakeVerifier, kit

DIFF = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-VALUE = 1\n+VALUE = 2\n"


def verify_diff(
    root: Path, diff: str, exclusions: tuple[str, ...] = ()
) -> tuple[SessionFinished, list[str], FakeRepository]:
    context = kit(root, verifier=FakeVerifier(verdicts=[PROVEN]), issue="nobody said")
    context = replace(context, task=context.task.model_copy(update={"given": True}))
    session_end = asyncio.run(
        Session(
            context, judge_existing_change(Patch(diff=diff), exclusions=exclusions), id="s", version="1"
        ).run()
    )
    event_types: list[str] = [
        record.event.type
        for record in context.log.records
        if isinstance(record.event, FilesChanged | PhaseEntered | Verified)
    ]
    assert isinstance(context.repository, FakeRepository)
    return session_end, event_types, context.repository


def test_ends_with_verdict_and_delivers_nothing(tmp_path: Path) -> None:
    session_end, event_types, repository = verify_diff(tmp_path, DIFF)
    assert (session_end.kind, session_end.exit_code, session_end.delivery) == (VerdictKind.PROVEN, 0, None)
    assert session_end.report.startswith(f"# {session_end.kind}")
    assert event_types == ["files_changed", "phase_entered", "verified"]
    assert (repository.deliveries, repository.closed) == ([], True)


def test_unfitting_diff_is_usage_error(tmp_path: Path) -> None:
    session_end, event_types, _ = verify_diff(tmp_path, DIFF.replace("-VALUE = 1", "-VALUE = 7"))
    assert (session_end.kind, session_end.exit_code, event_types) == (None, 2, [])
    assert session_end.summary.startswith("The diff does not fit base: a.py")


def test_what_lies_beside_a_change_is_one_note(tmp_path: Path) -> None:
    beside = ("dump.bin (untracked, 3072 MB)", "nested/ (untracked, a git repository of its own)")
    session_end, _, _ = verify_diff(tmp_path, DIFF, beside)
    assert session_end.verdict is not None
    assert session_end.verdict.kind is VerdictKind.PROVEN and session_end.verdict.with_effect("open") == ()
    assert f"not looked at: {', '.join(beside)}" in session_end.verdict.notes


def test_left_out_work_keeps_a_change_from_being_proven(tmp_path: Path) -> None:
    left_out = "data.bin (the git filter lfs is not run)"
    session_end, _, _ = verify_diff(tmp_path, DIFF, (left_out,))
    assert (session_end.kind, session_end.exit_code) == (VerdictKind.FIXED, 0)
    assert session_end.verdict is not None
    assert [left.text for left in session_end.verdict.with_effect("open")] == [f"not judged: {left_out}"]
